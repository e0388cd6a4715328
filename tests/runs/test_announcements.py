"""Signals about calls: sent once for each time, after the commit that made it true, and of no harm to the run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.dispatch import Signal

from llm_foundation import llm
from llm_foundation.exceptions import StaleDigest
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.runs import announcements, clock
from llm_foundation.runs.recovery import recover
from llm_foundation.signals import call_decided, calls_expired, calls_in_doubt, calls_pending
from llm_foundation.tools import DataClass, Effect, tool
from tests.practice import Desk, calls, desk, person, text, turn
from tests.runs.boundaries import at_each_boundary
from tests.runs.meeting import elsewhere
from tests.runs.passing_time import attempt_is_over, go_on, go_on_until_it_rests, lease_runs_out
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

SIGNALS = {"pending": calls_pending, "decided": call_decided, "expired": calls_expired, "in_doubt": calls_in_doubt}


@contextmanager
def listening(*names: str) -> Iterator[list[tuple[str, list[str]]]]:
    """What is heard: the name of each signal, and the tools of its calls. Nobody hears inside a transaction."""
    heard: list[tuple[str, list[str]]] = []
    receivers = {name: _receiver(name, heard) for name in names or SIGNALS}
    for name, receiver in receivers.items():
        SIGNALS[name].connect(receiver, sender=Run)
    try:
        yield heard
    finally:
        for name, receiver in receivers.items():
            SIGNALS[name].disconnect(receiver, sender=Run)


def _receiver(name: str, heard: list[tuple[str, list[str]]]) -> Any:
    def receive(sender: type, signal: Signal, run: Run, **facts: Any) -> None:
        assert not connection.in_atomic_block
        told = facts.get("calls", [facts.get("call")])
        assert {call.run for call in told} == {run}
        words = [str(facts["decision"].verdict)] if "decision" in facts else []
        heard.append((name, [*words, *(call.tool_name for call in told)]))

    return receive


def ask_for_two(here: Desk) -> Run:
    here.model.says(
        turn(("send_message", {"to": "Ada"}), ("refund_order", {"number": "1", "amount": "5"})), text("Done.")
    )
    return llm.run("support", "Write to Ada, and refund order 1", user=here.clerk)


def ask_for_a_message(here: Desk, *, to: str = "Ada") -> RunToolCall:
    here.model.says(calls("send_message", to=to), text("Done."))
    return llm.run("support", f"Write to {to}", user=here.clerk).calls.get()


def test_calls_of_one_turn_are_announced_together_when_the_run_begins_to_wait() -> None:
    with desk("send_message", "refund_order") as here, listening() as heard:
        run = ask_for_two(here)
        assert run.status == "waiting_for_approval"
    assert heard == [("pending", ["send_message", "refund_order"])]


def test_a_call_that_goes_on_waiting_is_not_announced_again() -> None:
    with desk("send_message", "refund_order") as here, listening() as heard:
        message, refund = ask_for_two(here).pending_calls
        heard.clear()
        llm.approve(message, by=here.approver, digest=message.digest)
        assert refund.run.pending_calls.get() == refund
        llm.deny(refund, by=here.approver, digest=refund.digest)
    assert heard == [("decided", ["approved", "send_message"]), ("decided", ["denied", "refund_order"])]


def test_a_call_that_comes_to_wait_again_is_announced_again() -> None:
    with desk("send_message") as here, handing_to(DUMMY), listening("pending") as heard:
        call = ask_for_a_message(here)
        llm.approve(call, by=here.approver, digest=call.digest)
        here.approver.user_permissions.clear()
        run = go_on(call.run)
    assert run.status == "waiting_for_approval"
    assert heard == [("pending", ["send_message"])] * 2


def test_a_call_that_is_to_be_looked_at_anew_is_announced_when_its_run_waits_again() -> None:
    balance = ["10 left"]
    with desk("send_message") as here, listening("pending") as heard:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, preview=lambda: balance)
        def spend() -> str:
            return "spent"

        here.grant(spend)
        here.model.says(turn(("spend", {}), ("send_message", {"to": "Ada"})), text("Done."))
        spending, message = llm.run("support", "Spend it, and tell Ada", user=here.clerk).pending_calls
        balance[:] = ["5 left"]
        with pytest.raises(StaleDigest):
            llm.approve(spending, by=here.approver, digest=spending.digest)
        llm.deny(message, by=here.approver, digest=message.digest)
    assert heard == [("pending", ["spend", "send_message"]), ("pending", ["spend"])]


def test_who_decides_is_heard_before_the_run_goes_on() -> None:
    statuses: list[str] = []

    def receive(run: Run, **_: Any) -> None:
        statuses.append(run.status)

    call_decided.connect(receive)
    with desk("send_message") as here:
        call = ask_for_a_message(here)
        run = llm.approve(call, by=here.approver, digest=call.digest)
    call_decided.disconnect(receive)
    assert (statuses, run.status) == (["queued"], "completed")


def test_a_call_in_doubt_is_announced_and_so_is_what_a_person_says_of_it() -> None:
    with desk("send_message") as here, listening() as heard:
        resolver = person("resolver", "resolve_toolcall")
        call = ask_for_a_message(here, to="crash")
        run = llm.approve(call, by=here.approver, digest=call.digest)
        assert run.status == "in_doubt"
        attempt_is_over(call)
        llm.resolve(call, by=resolver, outcome="give_up")
    assert heard == [
        ("pending", ["send_message"]),
        ("decided", ["approved", "send_message"]),
        ("in_doubt", ["send_message"]),
        ("decided", ["give_up", "send_message"]),
    ]


def dying(here: Desk, *, by: type[BaseException] = SystemExit) -> Run:
    """A run whose process is lost in a call that cannot be repeated."""

    @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
    def fatal() -> str:
        raise by

    here.grant(fatal)
    here.model.says(turn(("fatal", {}), ("refund_order", {"number": "1", "amount": "5"})), text("Done."))
    with pytest.raises(by):
        llm.run("support", "Do it", user=here.clerk)
    run = Run.objects.get()
    lease_runs_out(run)
    return run


def test_what_a_lost_process_did_not_announce_is_announced_by_the_next() -> None:
    """The call was put before people by the one, and the run let go of by the other."""
    with desk("refund_order") as here, handing_to(DUMMY), listening() as heard:
        run = dying(here)
        assert run.pending_calls.get().tool_name == "refund_order"
        recover()
        assert heard == []
        assert go_on(run).status == "in_doubt"
    assert heard == [("pending", ["refund_order"]), ("in_doubt", ["fatal"])]


def test_a_call_that_a_cancel_leaves_in_doubt_is_announced() -> None:
    with desk("refund_order") as here, handing_to(DUMMY), listening("in_doubt") as heard:
        run = dying(here)
        llm.cancel(run, by=here.clerk)
        recover()
        assert Run.objects.get().status == "in_doubt"
    assert heard == [("in_doubt", ["fatal"])]


def test_calls_of_a_run_that_is_cancelled_before_it_waits_are_not_announced() -> None:
    with desk("send_message") as here, handing_to(DUMMY), listening("pending") as heard:
        here.model.always_says(calls("send_message", to="Ada"), text("Done."))
        for run in at_each_boundary(
            lambda: llm.run("support", "Write to Ada", user=here.clerk, mode="queue"),
            lambda run: elsewhere(lambda: llm.cancel(run, by=here.clerk)),
        ):
            kinds = list(run.events.values_list("kind", flat=True))
            has_waited = "run.waiting" in kinds[: kinds.index("run.cancel_requested")]
            assert (run.status, has_waited or heard == []) == ("cancelled", True)
            heard.clear()
        assert heard == [("pending", ["send_message"])]


def test_calls_that_nobody_decides_in_time_are_announced() -> None:
    with desk("send_message") as here, listening() as heard:
        here.configuration.approval_ttl = 5
        here.configuration.save()
        call = ask_for_a_message(here)
        RunToolCall.objects.filter(pk=call.pk).update(expires_at=clock.after(-1))
        recover()
        assert go_on_until_it_rests(call.run).status == "completed"
    assert heard == [("pending", ["send_message"]), ("expired", ["send_message"])]


def test_nothing_is_announced_of_a_decision_that_was_refused() -> None:
    with desk("send_message") as here, listening("decided") as heard:
        call = ask_for_a_message(here)
        with pytest.raises(Exception, match="not the one that you were shown"):
            llm.approve(call, by=here.approver, digest="another")
    assert heard == []


def test_a_receiver_that_raises_is_logged_and_keeps_nobody_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(**_: Any) -> None:
        raise ValueError("no such desk")

    calls_pending.connect(broken)
    with desk("send_message") as here, listening() as heard:
        call = ask_for_a_message(here)
    calls_pending.disconnect(broken)
    assert (call.state, heard) == ("pending", [("pending", ["send_message"])])
    assert "no such desk" in caplog.text


async def test_receivers_and_runs_may_be_async() -> None:
    from asgiref.sync import sync_to_async

    heard: list[str] = []

    async def receive(run: Run, calls: list[RunToolCall], **_: Any) -> None:
        heard.append(f"{run.configuration.slug}: {calls[0].tool_name}")

    calls_pending.connect(receive)
    practice = desk("send_message")
    here = await sync_to_async(practice.__enter__)()
    here.model.says(calls("send_message", to="Ada"))
    run = await llm.arun("support", "Write to Ada", user=here.clerk)
    await sync_to_async(practice.__exit__)(None, None, None)
    calls_pending.disconnect(receive)
    assert (run.status, heard) == ("waiting_for_approval", ["support: send_message"])


def test_where_nobody_listens_nothing_is_done(django_assert_num_queries: Any) -> None:
    with desk("send_message") as here:
        call = ask_for_a_message(here)
        llm.deny(call, by=here.approver, digest=call.digest)
        with django_assert_num_queries(0):
            announcements.waiting(call.run)
            announcements.expired(call.run, [call])
            announcements.decided(Decision(call=call))
