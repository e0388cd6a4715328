"""A person decides while the run is executing: between two of its steps, which no lock of ours can prevent."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall
from llm_foundation.tools import DataClass, Effect, Tool, tool
from tests.practice import Desk, calls, desk, text, turn
from tests.runs.test_decisions import at_once

pytestmark = pytest.mark.django_db(transaction=True)

REFUND = ("refund_order", {"number": "1", "amount": "5"})


def reads_while(act: Callable[[], object]) -> Tool:
    """A tool during whose execution somebody does something else."""

    @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
    def slow_read() -> str:
        act()
        return "read"

    return slow_read


def decided_meanwhile(here: Desk, decide: Callable[..., Run]) -> Run:
    """A run whose refund is decided while another call of the same turn is being executed."""

    def act() -> None:
        call = RunToolCall.objects.pending().get()
        decide(call, by=here.approver, digest=call.digest)

    here.grant(reads_while(act))
    here.model.says(turn(REFUND, ("slow_read", {})), text("That is all."))
    return llm.run("support", "Refund order 1", user=here.clerk)


def test_a_call_denied_while_its_sibling_runs_leaves_no_run_that_waits_for_nothing() -> None:
    with desk("refund_order") as here:
        run = decided_meanwhile(here, llm.deny)
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]

    assert (run.status, run.answer) == ("completed", "That is all.")
    assert results == ["Error: a person denied this call; it was not executed.", "read"]
    assert Run.objects.get().status == "completed"


def test_a_call_approved_while_its_sibling_runs_is_executed_by_the_same_segment() -> None:
    with desk("refund_order") as here:
        run = decided_meanwhile(here, llm.approve)

    assert (run.status, run.attempts) == ("completed", 1)
    assert Group.objects.get().name == "refund 1 5"
    assert [call.state for call in run.calls.order_by("index")] == ["succeeded", "succeeded"]


def test_the_timeline_says_once_that_a_run_waits() -> None:
    with desk("refund_order", "find_order") as here:
        here.model.says(turn(REFUND, ("find_order", {"number": "1"})))
        run = llm.run("support", "Refund order 1", user=here.clerk)

    assert [event.kind for event in run.events.order_by("sequence")] == [
        "run.started",
        "model.answered",
        "call.pending",
        "call.executing",
        "call.settled",
        "run.waiting",
    ]
    assert [event.sequence for event in run.events.order_by("sequence")] == [1, 2, 3, 4, 5, 6]


def test_one_of_two_waiting_calls_decided_meanwhile_leaves_the_run_waiting_for_the_other() -> None:
    with desk("refund_order") as here:

        def act() -> None:
            call = RunToolCall.objects.pending().order_by("index").first()
            assert call is not None
            llm.deny(call, by=here.approver, digest=call.digest)

        here.grant(reads_while(act))
        here.model.says(turn(REFUND, ("slow_read", {}), ("refund_order", {"number": "2", "amount": "7"})), text("Hm."))
        run = llm.run("support", "Refund both", user=here.clerk)

        assert (run.status, run.pending_calls.get().arguments["number"]) == ("waiting_for_approval", "2")
        call = run.pending_calls.get()
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "completed"
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]
    assert results == ["Error: a person denied this call; it was not executed.", "read", "refunded 7"]


def test_a_segment_that_has_lost_its_run_writes_nothing_of_its_step() -> None:
    with desk("find_order") as here:
        here.grant(reads_while(lambda: Run.objects.update(lease_token=99)))
        here.model.says(turn(("slow_read", {})), text("Hm."))
        run = llm.run("support", "Read", user=here.clerk)
    assert (run.status, run.messages.count(), run.calls.get().state) == ("running", 2, "executing")


def test_calls_decided_by_many_people_at_once_all_run_and_the_run_ends() -> None:
    with desk("refund_order") as here:
        numbers = range(6)
        here.model.says(
            turn(*[("refund_order", {"number": str(number), "amount": "5"}) for number in numbers]), calls("nothing")
        )
        here.model.says(text("All."))
        run = llm.run("support", "Refund all", user=here.clerk)
        waiting = list(run.pending_calls)

        def one() -> Run:
            call = waiting.pop()
            decide = llm.approve if call.index % 2 else llm.deny
            return decide(call, by=here.approver, digest=call.digest)

        at_once(6, one)

    run.refresh_from_db()
    assert (run.status, run.answer) == ("completed", "All.")
    assert [call.state for call in run.calls.filter(turn=1).order_by("index")] == ["denied", "succeeded"] * 3
    assert sorted(Group.objects.values_list("name", flat=True)) == ["refund 1 5", "refund 3 5", "refund 5 5"]
