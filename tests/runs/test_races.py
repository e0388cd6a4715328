"""Sixteen at the same moment, each over a connection of its own: one of them wins."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.runs import store
from llm_foundation.runs.recovery import recover
from llm_foundation.tools import DataClass, Effect, tool
from tests.practice import Desk, calls, desk, person, text, turn
from tests.runs.meeting import Gate, at_once, beside, kinds
from tests.runs.passing_time import attempt_is_over, go_on, go_on_until_it_rests, lease_runs_out, message_is_lost
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 16
REFUND = calls("refund_order", number="1", amount="5")


def queued(here: Desk) -> Run:
    return llm.run("support", "Hello", user=here.clerk, mode="queue")


def waiting(here: Desk) -> Run:
    here.model.always_says(REFUND, text("Done."))
    return llm.run("support", "Refund order 1", user=here.clerk)


def in_doubt(here: Desk) -> RunToolCall:
    here.model.always_says(calls("send_message", to="crash"), text("Done."))
    call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
    llm.approve(call, by=here.approver, digest=call.digest)
    go_on(call.run)
    attempt_is_over(call)
    return call


def events(run: Run, kind: str) -> int:
    return run.events.filter(kind=kind).count()


# --- Claiming ---------------------------------------------------------------------------------------------------------
def test_one_of_many_claims_a_queued_run() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        outcomes = at_once([lambda: store.claim(run.pk, owner="worker", seconds=60)] * MANY)

    assert kinds(outcomes) == ["NoneType"] * (MANY - 1) + ["Run"]
    run.refresh_from_db()
    assert (run.status, run.attempts, run.lease_token) == ("running", 1, 1)


def test_one_of_many_that_got_the_same_message_asks_the_model() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.always_says(text("Hello."))
        run = queued(here)
        outcomes = at_once([lambda: go_on(run)] * MANY)
        asked = len(here.model.asked)

    assert (kinds(outcomes), asked) == (["Run"] * MANY, 1)
    run.refresh_from_db()
    assert (run.status, run.answer, run.attempts) == ("completed", "Hello.", 1)
    assert_sound(run)


# --- Deciding ---------------------------------------------------------------------------------------------------------
def mixed(run: Run, people: list[User]) -> list[Callable[[], Run]]:
    """Half of them approve, half of them deny."""
    call = run.pending_calls.get()

    def one(number: int, by: User) -> Callable[[], Run]:
        decide: Any = llm.approve if number % 2 else llm.deny
        return lambda: decide(call, by=by, digest=call.digest)

    return [one(number, by) for number, by in enumerate(people)]


def test_one_of_many_approvals_and_denials_counts_and_the_others_are_told_which() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        people = [person(f"approver {number}", "change_group", "decide_toolcall") for number in range(MANY)]
        run = waiting(here)
        outcomes = at_once(mixed(run, people))
        run = go_on_until_it_rests(run)

    decision = Decision.objects.get()
    told = [outcome for outcome in outcomes if isinstance(outcome, AlreadyDecided)]
    assert kinds(outcomes) == ["AlreadyDecided"] * (MANY - 1) + ["Run"]
    assert {(error.decider, error.verdict) for error in told} == {(decision.decider.username, decision.verdict)}  # type: ignore[union-attr]
    assert events(run, "call.decided") == 1
    assert Group.objects.count() == (decision.verdict == "approved")
    assert run.calls.get().state == {"approved": "succeeded", "denied": "denied"}[decision.verdict]
    assert_sound(run)


def test_one_of_many_words_about_a_call_in_doubt_counts() -> None:
    outcomes_said = ["happened", "did_not_happen", "give_up", "happened"] * 4
    with desk("send_message") as here, handing_to(DUMMY):
        resolver = person("resolver", "resolve_toolcall")
        call = in_doubt(here)
        said: Any = [
            lambda outcome=outcome: llm.resolve(call, by=resolver, outcome=outcome) for outcome in outcomes_said
        ]
        outcomes = at_once(said)
        run = go_on_until_it_rests(call.run)

    assert kinds(outcomes) == ["AlreadyDecided"] * (MANY - 1) + ["Run"]
    assert Decision.objects.filter(call=call).exclude(verdict="approved").count() == 1
    assert events(run, "call.resolved") == 1
    assert_sound(run)


# --- Cancelling -------------------------------------------------------------------------------------------------------
def test_many_cancel_a_run_that_waits_and_it_ends_once() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        run = waiting(here)
        outcomes = at_once([lambda: llm.cancel(run, by=here.clerk)] * MANY)

    assert {outcome.status for outcome in outcomes} == {"cancelled"}
    assert (events(run, "run.cancel_requested"), events(run, "run.finished"), events(run, "call.settled")) == (1, 1, 1)
    assert_sound(run)


def test_many_cancel_a_run_that_is_held_and_ask_once() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        store.claim(run.pk, owner="worker", seconds=60)
        outcomes = at_once([lambda: llm.cancel(run, by=here.clerk)] * MANY)

    assert {outcome.status for outcome in outcomes} == {"running"}
    assert events(run, "run.cancel_requested") == 1


# --- Sweeping ---------------------------------------------------------------------------------------------------------
def test_one_of_many_sweeps_takes_a_run_over() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        store.claim(run.pk, owner="worker", seconds=60)
        lease_runs_out(run)
        outcomes = at_once([recover] * MANY)

    run.refresh_from_db()
    assert sorted(swept.taken_over for swept in outcomes) == [0] * (MANY - 1) + [1]
    assert (run.status, run.lost_leases, events(run, "run.recovered")) == ("queued", 1, 1)


def test_one_of_many_sweeps_sends_a_lost_message_again() -> None:
    with desk() as here, handing_to(DUMMY):
        message_is_lost(queued(here))
        outcomes = at_once([recover] * MANY)

    assert sorted(swept.handed_out for swept in outcomes) == [0] * (MANY - 1) + [1]


# --- Deciders and a segment -------------------------------------------------------------------------------------------
def test_many_decide_at_the_moment_in_which_a_segment_goes_on_and_nothing_of_either_is_lost() -> None:
    """Each writes to the run's timeline, and the segment its results as well."""
    gate = Gate()
    with desk("refund_order") as here, handing_to(DUMMY):

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def slow_read() -> str:
            gate.stop_here()
            return "read"

        here.grant(slow_read)
        refunds = [("refund_order", {"number": str(number), "amount": "5"}) for number in range(MANY)]
        here.model.always_says(turn(*refunds, ("slow_read", {})), text("Done."))
        run = llm.run("support", "Refund all", user=here.clerk, mode="queue")
        with beside(lambda: go_on(run)) as segment:
            gate.wait_until_reached()

            def decide(call: RunToolCall) -> Callable[[], Run]:
                how: Any = llm.approve if call.index % 2 else llm.deny
                return lambda: how(call, by=here.approver, digest=call.digest)

            outcomes = at_once([*map(decide, run.pending_calls), gate.open])
        assert segment.result.attempts == 1
        run = go_on_until_it_rests(run)

    assert kinds(outcomes) == ["NoneType"] + ["Run"] * MANY
    assert (run.status, run.answer, Group.objects.count()) == ("completed", "Done.", MANY // 2)
    assert [events(run, kind) for kind in ("call.decided", "call.pending")] == [MANY, MANY]
    assert [one.text for one in run.transcript if one.role == "tool"][-1] == "read"
    assert_sound(run)


# --- All of it --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("time", range(4))
def test_whatever_many_do_to_a_run_at_the_same_moment_it_ends_and_its_calls_are_answered_once(time: int) -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        here.model.always_says(
            turn(*[("refund_order", {"number": str(number), "amount": "5"}) for number in range(4)]),
            calls("find_order", number="1"),
            text("Done."),
        )
        run = llm.run("support", "Refund all", user=here.clerk)
        waiting_calls = list(run.pending_calls)
        cancels = [lambda: llm.cancel(run, by=here.clerk)] if time % 2 else []

        def decide(how: Any, call: RunToolCall) -> Callable[[], Run]:
            return lambda: how(call, by=here.approver, digest=call.digest)

        approvals = [decide(llm.approve, call) for call in waiting_calls]
        denials = [decide(llm.deny, call) for call in waiting_calls]
        outcomes = at_once([*approvals, *denials, *cancels, *[recover] * 3, *[lambda: go_on(run)] * 4])
        recover()
        run = go_on_until_it_rests(run)

    assert set(kinds(outcomes)) <= {"AlreadyDecided", "Run", "Recovered"}
    assert (run.status in ("completed", "cancelled"), run.is_finished) == (True, True)
    assert Group.objects.count() == run.calls.filter(tool_name="refund_order", state="succeeded").count()
    assert_sound(run)
