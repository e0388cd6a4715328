"""Reading along with a run: its whole story once, and no part of it twice."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from llm_foundation import llm
from llm_foundation.exceptions import RunInsideTransaction
from llm_foundation.models import Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.runs import store
from llm_foundation.runs.events import Delta, EventKind
from llm_foundation.runs.follow import follow
from llm_foundation.runs.reader import Reader
from llm_foundation.runs.updates import RunUpdate
from tests.practice import Desk, calls, desk, text
from tests.runs.meeting import beside, elsewhere
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def finished(here: Desk) -> Run:
    here.model.says(calls("find_order", number="1138"), text("It is on its way."))
    return llm.run("support", "Where is order 1138?", user=here.clerk)


def waiting(here: Desk) -> Run:
    here.model.says(calls("refund_order", number="1138", amount="19.90"), text("Refunded."))
    return llm.run("support", "Refund order 1138", user=here.clerk)


def kinds(updates: list[RunUpdate]) -> list[str]:
    return [update.kind for update in updates]


def test_a_run_that_has_ended_is_told_from_beginning_to_end() -> None:
    with desk("find_order") as here:
        run = finished(here)
        updates = list(follow(run))

    assert kinds(updates) == [
        "run.started",
        "model.answered",
        "call.executing",
        "call.settled",
        "model.answered",
        "run.finished",
    ]
    assert [update.sequence for update in updates] == [1, 2, 3, 4, 5, 6]
    assert updates[-1].payload == {"status": "completed", "reason": "answered"}


def test_an_answer_comes_with_its_message_and_a_call_with_its_result() -> None:
    with desk("find_order") as here:
        run = finished(here)
        _, asked, executing, settled, answered, _ = follow(run)

    call = run.calls.get()
    assert asked.message is not None
    assert [made.name for made in asked.message.tool_calls] == ["find_order"]
    assert (executing.call_id, executing.text) == (call.pk, None)
    assert (settled.call_id, settled.text) == (call.pk, '{"number": "1138", "status": "sent"}')
    assert (answered.text, answered.message) == ("It is on its way.", run.transcript[-1])


def test_whoever_comes_back_goes_on_where_they_were() -> None:
    with desk("find_order") as here:
        run = finished(here)
        everything = list(follow(run))
        for update in everything:
            rest = list(follow(str(run.pk), after=update.sequence))
            assert rest == everything[update.sequence :]


def test_what_is_no_run_is_refused_at_once() -> None:
    with pytest.raises(Run.DoesNotExist):
        follow(uuid4())
    with pytest.raises(Run.DoesNotExist, match="no run 'run 7'"):
        follow("run 7")


def test_a_denial_is_told_with_what_the_model_reads_of_it_and_an_approval_without_what_came_of_it_later() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        call = run.pending_calls.get()
        llm.deny(call, by=here.approver, digest=call.digest, reason="No receipt.")
        approved = waiting(here)
        call = approved.pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)
        denied = told(run, "call.decided")
        said = told(approved, "call.decided"), told(approved, "call.settled")

    assert "No receipt." in (denied or "")
    assert said == (None, "refunded 19.90")


def told(run: Run, kind: str) -> str | None:
    [update] = [update for update in follow(run) if update.kind == kind]
    return update.text


# --- While it waits ---------------------------------------------------------------------------------------------------
def test_who_wants_to_know_until_the_run_waits_is_told_until_then() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        updates = list(follow(run, stop_when_paused=True))
        assert kinds(updates)[-2:] == ["call.pending", "run.waiting"]
        assert list(follow(run, after=updates[-1].sequence, stop_when_paused=True)) == []


def test_a_pause_that_is_over_does_not_end_the_story() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        call = run.pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)
        updates = list(follow(run, stop_when_paused=True))
    assert kinds(updates)[-1] == "run.finished"
    assert "run.waiting" in kinds(updates)


def test_who_does_not_stop_hears_of_the_decision_and_of_what_comes_of_it() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        call = run.pending_calls.get()
        updates = []
        for update in follow(run):
            updates.append(update)
            if update.kind == "run.waiting":
                elsewhere(lambda: llm.approve(call, by=here.approver, digest=call.digest))
    assert kinds(updates)[-1] == "run.finished"
    assert [update.sequence for update in updates] == list(range(1, len(updates) + 1))


def test_a_run_that_is_deleted_ends_its_story() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        for update in follow(run):
            if update.kind == "run.waiting":
                elsewhere(lambda: Run.objects.all().delete())
    assert not Run.objects.exists()


def test_waiting_inside_a_transaction_is_refused_since_nothing_can_be_seen_there() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        with transaction.atomic(), pytest.raises(RunInsideTransaction, match=f"Run {run.pk} is waiting_for_approval"):
            list(follow(run))


def test_a_run_that_has_ended_can_be_read_anywhere() -> None:
    with desk("find_order") as here:
        run = finished(here)
        with transaction.atomic():
            assert kinds(list(follow(run)))[-1] == "run.finished"


# --- Pieces -----------------------------------------------------------------------------------------------------------
def running(here: Desk) -> Run:
    """A run that somebody executes, as far as the database knows."""
    run = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")
    claimed = store.claim(run.pk, owner="somebody", seconds=60)
    assert claimed
    return claimed


def say(run: Run, *pieces: str) -> None:
    store.append_deltas(run, [Delta(EventKind.TEXT, piece) for piece in pieces])


def test_pieces_are_told_in_order_with_their_text() -> None:
    with desk() as here, handing_to(DUMMY):
        run = running(here)
        say(run, "It is ", "on its way")
        reader = Reader(run.pk, after=0, stop_when_paused=False)
        page = reader.read()
        assert page is not None
        assert [(update.kind, update.text) for update in page[1:]] == [
            ("model.text", "It is "),
            ("model.text", "on its way"),
        ]
        assert reader.read() == []


def test_pieces_that_are_gone_before_they_were_read_are_passed_over_once_and_for_all(
    django_assert_num_queries: Any,
) -> None:
    with desk() as here, handing_to(DUMMY):
        run = running(here)
        say(run, "It is ")
        RunEvent.objects.all().delete()
        reader = Reader(run.pk, after=0, stop_when_paused=False)
        with django_assert_num_queries(2):
            assert reader.read() == []
        with django_assert_num_queries(1):
            assert reader.read() == []
        say(run, "on its way")
        page = reader.read()
        assert page is not None
        assert [update.text for update in page] == ["on its way"]


def test_what_cannot_be_decrypted_has_no_text_and_the_story_goes_on() -> None:
    with desk("find_order") as here:
        run = finished(here)
        RunMessage.objects.filter(run=run).update(payload_sealed="gAAAAAbroken")
        RunToolCall.objects.update(result_sealed="gAAAAAbroken")
        RunEvent.objects.filter(sequence=3).update(kind=EventKind.TEXT, content_sealed="gAAAAAbroken")
        updates = list(follow(run))
    assert [update.text for update in updates] == [None] * 6
    assert [update.message for update in updates] == [None] * 6
    assert updates[1].payload["tool_calls"] == ["find_order"]


def test_a_long_story_is_read_page_by_page_and_each_event_once() -> None:
    with desk("find_order") as here:
        run = finished(here)
        last = RunEvent.objects.get(kind="run.finished")
        RunEvent.objects.bulk_create(
            RunEvent(run=run, sequence=sequence, kind="run.resumed") for sequence in range(7, 1_007)
        )
        RunEvent.objects.filter(pk=last.pk).update(sequence=1_007)
        Run.objects.update(next_event_sequence=1_008)
        assert [update.sequence for update in follow(run)] == [1, 2, 3, 4, 5, *range(7, 1_008)]


def test_a_look_costs_one_query_and_a_page_four_however_long_it_is(django_assert_num_queries: Any) -> None:
    with desk("find_order", "refund_order") as here:
        run = finished(here)
        reader = Reader(run.pk, after=0, stop_when_paused=False)
        with django_assert_num_queries(4):
            assert reader.read()
        with django_assert_num_queries(1):
            assert reader.read() is None


# --- The database -----------------------------------------------------------------------------------------------------
def test_between_two_looks_nothing_is_held() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        for update in follow(run):
            assert not connection.in_atomic_block
            if update.kind == "run.waiting":
                break
        elsewhere(lambda: llm.cancel(run, by=here.clerk))
    assert Run.objects.get().status == "cancelled"


def test_a_statement_that_fails_on_a_sound_connection_is_raised() -> None:
    with desk("find_order") as here:
        run = finished(here)
        updates = follow(run)
        with connection.execute_wrapper(refuse), pytest.raises(DatabaseError, match="refused"):
            next(updates)


def refuse(*statement: Any) -> Any:
    raise DatabaseError("refused")


def test_many_readers_see_the_same() -> None:
    with desk("refund_order") as here:
        run = waiting(here)
        call = run.pending_calls.get()
        with beside(lambda: list(follow(run))) as first, beside(lambda: list(follow(run))) as second:
            llm.approve(call, by=here.approver, digest=call.digest)
        assert first.result == second.result == list(follow(run))
