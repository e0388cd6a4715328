"""Tools of stored runs speak while they work, and hear of a cancel."""

import asyncio
import json
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.models import Run, RunEvent
from llm_foundation.runs.recovery import recover
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, tool
from tests.practice import Desk, calls, desk, text
from tests.runs.meeting import PATIENCE, elsewhere
from tests.runs.passing_time import lease_runs_out
from tests.runs.test_transactional_lost_connection import lose_connection
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
reads = tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
sends = tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)


def run_with(here: Desk, made: Tool, *, is_async: bool = False) -> Run:
    here.grant(made)
    here.model.says(calls(made.name), text("Done."))
    start: Callable[..., Run] = async_to_sync(llm.arun) if is_async else llm.run
    return start("support", "Please", user=here.clerk)


def lines() -> list[str]:
    return [event.content["text"] for event in RunEvent.objects.filter(kind="tool.progress").order_by("sequence")]


@ways
def test_what_a_sync_tool_says_can_be_read_while_it_works_and_is_gone_when_its_result_is_stored(
    is_async: bool,
) -> None:
    seen: list[Any] = []
    with desk() as here:

        @reads
        def search(context: ToolContext) -> str:
            context.progress("Searching")
            seen.extend(elsewhere(lambda: list(RunEvent.objects.filter(kind="tool.progress"))))
            return "found"

        run = run_with(here, search, is_async=is_async)

    [event] = seen
    call = run.calls.get()
    assert (event.run_id, event.tool_call_id, event.content) == (run.pk, call.pk, {"text": "Searching"})
    assert "Searching" not in str(event.payload) + event.content_sealed
    assert (run.status, call.result, lines()) == ("completed", "found", [])


@ways
def test_what_an_async_tool_says_can_be_read_while_it_works(is_async: bool) -> None:
    seen: list[str] = []
    with desk() as here:

        @reads
        async def search(context: ToolContext) -> str:
            context.progress("Searching")
            ends_at = monotonic() + PATIENCE
            while not seen and monotonic() < ends_at:
                await asyncio.sleep(0.01)
                seen.extend(await sync_to_async(lines)())
            return "found"

        run = run_with(here, search, is_async=is_async)

    assert (seen, run.status, lines()) == (["Searching"], "completed", [])


@ways
@override_settings(LLM_FOUNDATION={**settings.LLM_FOUNDATION, "STREAM_INTERVAL": 1e-9})
def test_a_tool_may_speak_between_the_rows_that_it_reads(is_async: bool) -> None:
    """Each line is a transaction of its own, which ends while the database still has rows to give."""
    Group.objects.bulk_create(Group(name=f"{number}") for number in range(20))
    with desk() as here:

        @reads
        def count(context: ToolContext) -> list[str]:
            names = []
            for group in Group.objects.order_by("pk").iterator(chunk_size=2):
                context.progress(group.name)
                names.append(group.name)
            return [*names, *elsewhere(lines)[-1:]]

        run = run_with(here, count, is_async=is_async)

    assert json.loads(run.calls.get().result) == [f"{number}" for number in [*range(20), 19]]


@ways
def test_a_transactional_tool_says_nothing_and_is_stored_as_ever(is_async: bool) -> None:
    with desk() as here:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def open_account(context: ToolContext) -> str:
            context.progress("Opening")
            Group.objects.create(name=f"account, cancelled: {context.cancelled()}")
            return "opened"

        run = run_with(here, open_account, is_async=is_async)

    assert (run.status, Group.objects.get().name) == ("completed", "account, cancelled: False")


@ways
def test_a_sync_tool_hears_of_a_cancel_and_its_run_ends(is_async: bool) -> None:
    with desk() as here:

        @reads
        def search(context: ToolContext) -> str:
            elsewhere(lambda: llm.cancel(Run.objects.get(), by=here.clerk))
            return "stopped" if context.cancelled() else "found"

        run = run_with(here, search, is_async=is_async)

    assert (run.status, run.calls.get().result) == ("cancelled", "stopped")


@ways
def test_an_async_tool_hears_of_a_cancel_while_it_works_and_its_run_ends(is_async: bool) -> None:
    with desk() as here:

        @reads
        async def search(context: ToolContext) -> str:
            cancel = sync_to_async(elsewhere, thread_sensitive=False)
            await cancel(lambda: llm.cancel(Run.objects.get(), by=here.clerk))
            ends_at = monotonic() + PATIENCE
            while not context.cancelled() and monotonic() < ends_at:  # noqa: ASYNC110  # as tools look
                await asyncio.sleep(0.01)
            return "stopped" if context.cancelled() else "found"

        run = run_with(here, search, is_async=is_async)

    assert (run.status, run.calls.get().result) == ("cancelled", "stopped")


def test_a_write_that_outlives_its_lease_comes_to_its_end_and_settles_its_own_doubt() -> None:
    """Raised in its middle, the loss of the run would have left half of a message, and a doubt for a person."""
    heard: list[bool] = []
    with desk() as here, handing_to(DUMMY):

        @sends
        def send(context: ToolContext) -> str:
            lease_runs_out(Run.objects.get())
            assert elsewhere(recover).taken_over == 1
            context.progress("1 of 2")
            Group.objects.create(name="sent")
            heard.append(context.cancelled())
            return "sent"

        run = run_with(here, send)

    assert (run.calls.get().state, run.calls.get().result) == ("succeeded", "sent")
    assert (Group.objects.get().name, heard, lines()) == ("sent", [True], [])


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no connection that could be lost")
def test_a_connection_that_breaks_at_a_line_is_no_failure_of_the_tool(caplog: pytest.LogCaptureFixture) -> None:
    with desk() as here:

        @sends
        def send(context: ToolContext) -> str:
            lose_connection()
            context.progress("1 of 2")
            Group.objects.create(name="sent")
            return "sent"

        run = run_with(here, send)

    assert (run.status, run.calls.get().state) == ("completed", "succeeded")
    assert Group.objects.get().name == "sent"
    assert "What a tool reports cannot be kept now: OperationalError" in caplog.text
