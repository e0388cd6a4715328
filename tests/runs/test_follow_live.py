"""A run in one thread, who reads along in another: what is being said is heard before it is said to its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import OperationalError, connection
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.models import Run, RunEvent
from llm_foundation.runs import reader as reading
from llm_foundation.runs.follow import follow
from llm_foundation.runs.reader import Reader
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.loopback import closed_port
from tests.practice import Desk, calls, desk, text
from tests.runs.meeting import Beside, Gate, beside, elsewhere
from tests.runs.spoken import Humming, spoken
from tests.runs.test_follow import waiting
from tests.runs.test_transactional_lost_connection import lose_connection

pytestmark = pytest.mark.django_db(transaction=True)

ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
only_servers = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no connection that could be lost")


@contextmanager
def started(here: Desk, *, is_async: bool) -> Iterator[tuple[Run, Beside]]:
    """A run in a thread of its own, whose pieces are kept as soon as there are any."""
    start: Callable[..., Run] = async_to_sync(llm.arun) if is_async else llm.run
    with (
        override_settings(LLM_FOUNDATION={**settings.LLM_FOUNDATION, "STREAM_INTERVAL": 0.001}),
        beside(lambda: start("support", "Where is order 1138?", user=here.clerk)) as segment,
    ):
        while not Run.objects.exists():
            assert segment.thread.is_alive()
        yield Run.objects.get(), segment


@ways
def test_pieces_are_heard_before_the_answer_is_complete_and_the_rest_by_whoever_comes_back(is_async: bool) -> None:
    model = Humming()
    with desk() as here:
        here.model.says(spoken("It is ", model, "on its way."))
        with started(here, is_async=is_async) as (run, segment):
            first = []
            for update in follow(run):
                first.append(update)
                if said(first).startswith("It is "):
                    break
            assert not RunEvent.objects.filter(kind="model.answered").exists()
            model.end()
            rest = list(follow(run, after=first[-1].sequence))
        assert segment.result.status == "completed"

    assert [update.kind for update in first][:2] == ["run.started", "model.text"]
    assert [update.kind for update in rest if update.kind != "model.text"] == ["model.answered", "run.finished"]
    sequences = [update.sequence for update in [*first, *rest]]
    assert sequences == sorted(set(sequences))
    [answer] = [update.text or "" for update in rest if update.message]
    assert answer.startswith(said(first))
    assert answer.endswith("on its way.")


def said(updates: list[Any]) -> str:
    return "".join(update.text or "" for update in updates if update.kind == "model.text")


@ways
def test_what_a_tool_says_is_heard_while_it_works_and_its_result_after_it(is_async: bool) -> None:
    gate = Gate()
    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def search(context: ToolContext) -> str:
            context.progress("Searching")
            gate.stop_here()
            return "found"

        here.grant(search)
        here.model.says(calls("search"), text("Here it is."))
        with started(here, is_async=is_async) as (run, segment):
            updates = []
            for update in follow(run):
                updates.append(update)
                if update.kind == "tool.progress":
                    gate.open()
        call = segment.result.calls.get()

    [heard] = [update for update in updates if update.kind == "tool.progress"]
    [settled] = [update for update in updates if update.kind == "call.settled"]
    assert (heard.text, heard.call_id) == ("Searching", call.pk)
    assert (settled.text, settled.call_id) == ("found", call.pk)


@ways
def test_a_cancel_stops_the_model_in_the_middle_of_its_answer(is_async: bool) -> None:
    with desk() as here:
        here.model.says(spoken("It is ", Humming()))
        with started(here, is_async=is_async) as (run, segment):
            updates = []
            for update in follow(run):
                updates.append(update)
                if update.kind == "model.text" and not Run.objects.get().cancel_requested_at:
                    elsewhere(lambda: llm.cancel(run, by=here.clerk))
        assert segment.result.status == "cancelled"

    assert updates[-1].payload == {"status": "cancelled", "reason": "cancelled"}
    assert not RunEvent.objects.filter(kind="model.text").exists()


# --- The database goes away -------------------------------------------------------------------------------------------
@only_servers
def test_a_connection_that_breaks_between_two_looks_does_not_end_the_story() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        call = run.pending_calls.get()
        updates = []
        for update in follow(run):
            updates.append(update)
            if update.kind == "run.waiting":
                lose_connection()
                elsewhere(lambda: llm.approve(call, by=here.approver, digest=call.digest))
    assert updates[-1].kind == "run.finished"
    assert [update.sequence for update in updates] == list(range(1, len(updates) + 1))


@contextmanager
def database_away() -> Iterator[None]:
    """For the connection of this thread."""
    connection.close()
    port = connection.settings_dict["PORT"]
    connection.settings_dict["PORT"] = str(closed_port())
    try:
        yield
    finally:
        connection.settings_dict["PORT"] = port


@only_servers
def test_a_database_that_is_away_for_a_while_is_waited_for() -> None:
    with desk("refund_order") as here:
        reader = Reader(waiting(here).pk, after=0, stop_when_paused=True)
        with database_away():
            assert reader.read() == []
            assert reader.read() == []
        page = reader.read()
        assert page
        assert page[-1].kind == "run.waiting"


@only_servers
def test_a_database_that_stays_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0)
    with desk("refund_order") as here:
        reader = Reader(waiting(here).pk, after=0, stop_when_paused=True)
        with database_away(), pytest.raises(OperationalError):
            reader.read()
