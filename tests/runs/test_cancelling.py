"""Ending a run on somebody's word: when it is heard, and what is left behind."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided
from llm_foundation.models import Run, RunEvent, RunToolCall
from llm_foundation.runs import store
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.recovery import recover
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, tool
from tests import loopback
from tests.practice import Desk, calls, desk, person, text, turn
from tests.runs.meeting import elsewhere
from tests.runs.passing_time import attempt_is_over, go_on, go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.scripted_server import Wire
from tests.tasks.workers import DUMMY, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

REFUND = ("refund_order", {"number": "1", "amount": "5"})
NOT_EXECUTED = "Error: the run ended before this call was executed."


def queued(here: Desk) -> Run:
    return llm.run("support", "Hello", user=here.clerk, mode="queue")


def waiting(here: Desk) -> Run:
    here.model.says(turn(REFUND, ("find_order", {"number": "1"})), text("Done."))
    return llm.run("support", "Refund order 1", user=here.clerk)


def in_doubt(here: Desk) -> Run:
    here.model.says(turn(("send_message", {"to": "crash"}), REFUND), text("Done."))
    call = llm.run("support", "Write and refund", user=here.clerk).pending_calls[0]
    llm.approve(call, by=here.approver, digest=call.digest)
    return go_on_until_it_rests(call.run)


def acting(act: Any, effect: Effect = Effect.READ_ONLY) -> Tool:
    """A tool during whose execution somebody does something else."""

    @tool(effect=effect, data_class=DataClass.PUBLIC, approval=False)
    def work() -> str:
        act()
        return "worked"

    return work


def cancel_newest(here: Desk) -> None:
    llm.cancel(Run.objects.latest("created_at"), by=here.clerk)


# --- Where the run is -------------------------------------------------------------------------------------------------
def test_a_queued_run_ends_at_once_and_its_message_finds_nothing_to_do() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.cancel(queued(here), by=here.clerk)
        assert (run.status, run.termination_reason) == ("cancelled", "cancelled")
        assert go_on(run).status == "cancelled"
        assert here.model.asked == []
    assert_sound(run)


def test_a_run_that_waits_ends_at_once_and_its_calls_leave_the_inbox() -> None:
    with desk("refund_order", "find_order") as here:
        run = waiting(here)
        call = run.pending_calls.get()
        run = llm.cancel(run, by=here.clerk)
        with pytest.raises(AlreadyDecided):
            llm.approve(call, by=here.approver, digest=call.digest)

    assert (run.status, run.finished_at is not None) == ("cancelled", True)
    assert [one.text for one in run.transcript[-2:]] == [NOT_EXECUTED, '{"number": "1", "status": "sent"}']
    assert not RunToolCall.objects.pending().exists()
    assert not Group.objects.exists()
    assert_sound(run)


def test_what_is_given_back_says_how_the_run_stands() -> None:
    with desk("refund_order", "find_order") as here:
        given = llm.cancel(waiting(here), by=here.clerk)
        stored = Run.objects.get()
    for name in ("status", "termination_reason", "finished_at", "cancel_requested_at", "error", "lease_owner"):
        assert getattr(given, name) == getattr(stored, name), name


def test_a_run_that_is_executing_a_tool_ends_after_it_with_its_result() -> None:
    with desk() as here:
        here.grant(acting(lambda: cancel_newest(here), Effect.NON_IDEMPOTENT_WRITE))
        here.model.says(turn(("work", {}), ("work", {})), text("Done."))
        run = llm.run("support", "Work", user=here.clerk)
        asked = len(here.model.asked)

    assert (run.status, run.termination_reason, asked) == ("cancelled", "cancelled", 1)
    assert list(run.calls.order_by("index").values_list("state", flat=True)) == ["succeeded", "cancelled"]
    assert [one.text for one in run.transcript[-2:]] == ["worked", NOT_EXECUTED]
    assert_sound(run)


def test_who_asks_for_the_cancel_of_a_run_that_is_held_is_told_that_it_still_runs() -> None:
    seen: list[str] = []
    with desk() as here:
        here.grant(acting(lambda: seen.append(llm.cancel(Run.objects.get(), by=here.clerk).status)))
        here.model.says(calls("work"), text("Done."))
        run = llm.run("support", "Work", user=here.clerk)
    assert (seen, run.status) == (["running"], "cancelled")


def test_a_cancel_that_the_segment_has_heard_of_while_its_tool_reported_is_not_forgotten() -> None:
    with desk() as here, handing_to(IMMEDIATE, STREAM_INTERVAL=0.001):

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def work(context: ToolContext) -> str:
            cancel_newest(here)
            while not RunEvent.objects.filter(kind="tool.progress").exists():
                context.progress("Still at it.")
            return "worked"

        here.grant(work)
        here.model.says(calls("work"), text("Done."))
        run = llm.run("support", "Work", user=here.clerk)
        asked = len(here.model.asked)

    assert (run.status, run.calls.get().state, asked) == ("cancelled", "succeeded", 1)
    assert_sound(run)


def test_a_cancel_that_comes_before_the_lease_is_made_longer_is_not_forgotten() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        held = store.claim(run.pk, owner="worker", seconds=60)
        assert held is not None
        llm.cancel(run, by=here.clerk)
        store.renew(held, seconds=600)
        assert store.commit(held, Changes(), seconds=60).is_cancel_requested


def test_a_cancel_during_the_models_answer_is_carried_out_before_its_calls() -> None:
    with desk() as here:
        worked: list[int] = []
        here.grant(acting(lambda: worked.append(1), Effect.NON_IDEMPOTENT_WRITE))

        def answer(wire: Wire) -> Any:
            cancel_elsewhere(here)
            return calls("work")

        here.model.says(answer)
        run = llm.run("support", "Work", user=here.clerk)

    assert (run.status, worked) == ("cancelled", [])
    assert_sound(run)


def cancel_elsewhere(here: Desk) -> None:
    elsewhere(lambda: cancel_newest(here))


def test_a_cancel_during_the_final_answer_comes_too_late() -> None:
    """Unless the answer is streamed: then it is heard between two pieces of it."""
    with desk() as here, handing_to(IMMEDIATE, STREAM_INTERVAL=0):

        def answer(wire: Wire) -> Any:
            cancel_elsewhere(here)
            return text("It is on its way.")

        here.model.says(answer)
        run = llm.run("support", "Hello", user=here.clerk)

    assert (run.status, run.answer) == ("completed", "It is on its way.")
    assert_sound(run)


def test_a_cancel_is_heard_between_two_pieces_of_an_answer_and_nobody_listens_to_the_rest() -> None:
    pieces = []
    with desk() as here, handing_to(IMMEDIATE, STREAM_INTERVAL=0.001):

        def talk(wire: Wire) -> None:
            wire.head(content_type="text/event-stream", transfer_encoding="chunked")
            for number in range(10_000):  # or until nobody listens
                pieces.append(number)
                choice = {"index": 0, "delta": {"role": "assistant", "content": "word "}, "finish_reason": None}
                wire.chunk(f"data: {json.dumps({'id': '1', 'model': 'practice', 'choices': [choice]})}\n\n".encode())
                if number == 3:
                    cancel_elsewhere(here)
                wire.wait(0.001)

        here.model.says(talk)
        run = llm.run("support", "Talk", user=here.clerk)

    assert (run.status, run.termination_reason, len(pieces) < 10_000) == ("cancelled", "cancelled", True)
    assert [one.text for one in run.transcript] == ["Talk"]
    assert not run.events.filter(kind="model.text").exists()
    assert_sound(run)


def test_a_cancel_is_heard_when_the_provider_fails_and_nobody_asks_it_again() -> None:
    with desk() as here:

        def answer(wire: Wire) -> Any:
            cancel_elsewhere(here)
            return loopback.answer(status=503)

        here.model.says(answer)
        run = llm.run("support", "Hello", user=here.clerk)
        asked = len(here.model.asked)

    assert (run.status, run.termination_reason, asked) == ("cancelled", "cancelled", 1)
    assert_sound(run)


def test_a_cancel_is_heard_when_the_run_would_wait() -> None:
    with desk("refund_order") as here:
        here.grant(acting(lambda: cancel_newest(here)))
        here.model.says(turn(REFUND, ("work", {})), text("Done."))
        run = llm.run("support", "Work", user=here.clerk)
    assert (run.status, not RunToolCall.objects.pending().exists()) == ("cancelled", True)
    assert_sound(run)


def test_a_run_whose_process_is_lost_ends_when_it_is_recovered() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        store.claim(run.pk, owner="worker", seconds=60)
        assert llm.cancel(run, by=here.clerk).status == "running"
        lease_runs_out(run)
        recover()
        run.refresh_from_db()
    assert (run.status, run.termination_reason) == ("cancelled", "cancelled")
    assert_sound(run)


def test_a_run_in_doubt_ends_once_the_doubt_is_resolved() -> None:
    with desk("refund_order", "send_message") as here, handing_to(DUMMY):
        run = in_doubt(here)
        asked = len(here.model.asked)
        assert llm.cancel(run, by=here.clerk).status == "in_doubt"
        resolver = person("resolver", "resolve_toolcall")
        run = llm.resolve(run.calls.get(state="in_doubt"), by=resolver, outcome="happened", result="It was sent.")
        assert len(here.model.asked) == asked

    assert (run.status, run.termination_reason) == ("cancelled", "cancelled")
    assert [one.text for one in run.transcript[-2:]] == ["It was sent.", NOT_EXECUTED]
    assert_sound(run)


def test_a_doubt_that_turns_out_to_be_none_is_not_executed_in_a_run_that_is_to_end() -> None:
    with desk("refund_order", "send_message") as here, handing_to(DUMMY):
        run = in_doubt(here)
        llm.cancel(run, by=here.clerk)
        call = run.calls.get(state="in_doubt")
        attempt_is_over(call)
        resolver = person("resolver", "resolve_toolcall")
        run = llm.resolve(call, by=resolver, outcome="did_not_happen")
        assert go_on(run).status == "cancelled"
    call.refresh_from_db()
    assert (run.status, call.state, call.result) == ("cancelled", "cancelled", NOT_EXECUTED)
    assert_sound(run)


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_run_that_has_ended_stays_as_it_is(status: str) -> None:
    with desk() as here:
        here.model.says(text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk)
        Run.objects.update(status=status)
        before = Run.objects.values().get(), run.events.count()
        assert llm.cancel(run, by=here.clerk).status == status
        after = Run.objects.values().get(), run.events.count()
    assert without_revision(before) == without_revision(after)


def without_revision(seen: tuple[dict[str, Any], int]) -> tuple[dict[str, Any], int]:
    return {**seen[0], "revision": 0}, seen[1]


def test_a_cancel_asked_for_twice_is_asked_for_once() -> None:
    with desk("refund_order", "send_message") as here, handing_to(DUMMY):
        run = in_doubt(here)
        first = llm.cancel(run, by=here.clerk).cancel_requested_at
        second = llm.cancel(run, by=here.clerk).cancel_requested_at
    assert (first is not None, first) == (True, second)
    assert run.events.filter(kind="run.cancel_requested").count() == 1


# --- What is left behind ----------------------------------------------------------------------------------------------
def test_the_conversation_of_a_cancelled_run_can_be_gone_on_with() -> None:
    with desk("refund_order", "find_order") as here:
        run = llm.cancel(waiting(here), by=here.clerk)
        here.model.script[:] = [text("As you wish.")]
        later = llm.run("support", "Leave it, then.", user=here.clerk, continues=run)
        sent = here.model.asked[-1]["messages"]

    assert (later.status, later.answer) == ("completed", "As you wish.")
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[2]["content"] == NOT_EXECUTED
    assert_sound(later)


def test_the_timeline_says_who_asked_and_how_it_ended() -> None:
    with desk("refund_order", "find_order") as here:
        run = llm.cancel(waiting(here), by=here.clerk)
    told = [(one.kind, one.payload) for one in run.events.order_by("sequence")][-3:]
    assert [kind for kind, _ in told] == ["run.cancel_requested", "call.settled", "run.finished"]
    assert told[0][1] == {"by": str(here.clerk.pk)}
    assert told[2][1] == {"status": "cancelled", "reason": "cancelled"}
