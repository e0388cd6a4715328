"""Calls that nobody decided in time."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided, DecisionExpired, DecisionNotPermitted, LLMFoundationError
from llm_foundation.models import Configuration, Decision, Run, RunToolCall
from llm_foundation.runs import clock
from llm_foundation.runs.recovery import Recovered, recover
from tests.practice import Desk, calls, desk, text, turn
from tests.runs.boundaries import acting_at
from tests.runs.meeting import at_once, elsewhere, kinds
from tests.runs.passing_time import go_on, go_on_until_it_rests, nobody_decides_in_time
from tests.runs.soundness import assert_sound
from tests.runs.test_decisions_meanwhile import reads_while
from tests.runs.test_sweeps import failing_for
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

TOLD = "Error: nobody decided about this call in time; it was not executed."


def calls_wait(minutes: int | None, on_expiry: str = "go_on") -> None:
    """The operator says for how long."""
    Configuration.objects.update(approval_ttl=minutes, on_expiry=on_expiry)


def waiting_call(here: Desk, **arguments: Any) -> RunToolCall:
    here.model.says(calls("refund_order", **{"number": "1138", "amount": "5", **arguments}), text("Done."))
    return llm.run("support", "Refund order 1138", user=here.clerk).pending_calls.get()


def overdue_call(here: Desk) -> RunToolCall:
    call = waiting_call(here)
    nobody_decides_in_time(call)
    return call


# --- How long a call waits --------------------------------------------------------------------------------------------
def test_without_a_time_a_call_waits_for_ever() -> None:
    with desk("refund_order") as here:
        assert waiting_call(here).expires_at is None
        assert recover() == Recovered()


def test_a_call_waits_for_as_long_as_its_configuration_says_by_the_database_s_clock() -> None:
    with desk("refund_order") as here:
        calls_wait(90)
        call = waiting_call(here)
        waits_for = RunToolCall.objects.filter(pk=call.pk, expires_at__gt=clock.after(89 * 60))
        assert waits_for.filter(expires_at__lte=clock.after(90 * 60)).exists()


@pytest.mark.parametrize(("then", "now", "minutes"), [(10, 60, 10), (60, 10, 10), (None, 10, 10), (10, None, 10)])
def test_of_two_times_the_shorter_one_counts(then: int | None, now: int | None, minutes: int) -> None:
    """The run began under one, and its later call begins to wait under the other."""
    with desk("refund_order") as here:
        calls_wait(then)
        here.grant(reads_while(lambda: calls_wait(now)))
        here.model.says(calls("slow_read"))
        call = waiting_call(here)
        assert RunToolCall.objects.filter(pk=call.pk, expires_at__lte=clock.after(minutes * 60)).exists()


def test_a_call_that_waits_already_is_not_given_more_time() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = waiting_call(here)
        calls_wait(None)
        nobody_decides_in_time(call)
        assert recover() == Recovered(expired=1)


def test_a_call_that_is_put_before_people_again_waits_as_long_once_more() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        calls_wait(10)
        call = waiting_call(here)
        llm.approve(call, by=here.approver, digest=call.digest)
        nobody_decides_in_time(call)
        here.approver.user_permissions.clear()
        go_on(call.run)

        call.refresh_from_db()
        assert call.state == "pending"
        assert RunToolCall.objects.filter(pk=call.pk, expires_at__gt=clock.after(9 * 60)).exists()


# --- What happens then ------------------------------------------------------------------------------------------------
def test_the_model_is_told_that_nobody_decided_in_time_and_the_run_goes_on() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = overdue_call(here)
        assert recover() == Recovered(expired=1)
        told = here.model.asked[1]["messages"][-1]["content"]

    run = Run.objects.get()
    call.refresh_from_db()
    assert told == call.result == TOLD
    assert (call.state, run.status, run.answer) == ("expired", "completed", "Done.")
    assert not Decision.objects.exists()
    assert not Group.objects.exists()
    assert_sound(run)


def test_the_timeline_says_that_the_call_expired() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = overdue_call(here)
        recover()
    expired = Run.objects.get().events.get(kind="call.expired")
    assert expired.payload == {"tool": "refund_order", "state": "expired", "call": str(call.pk)}
    assert [update.text for update in llm.follow(call.run) if update.kind == "call.expired"] == [TOLD]


def test_the_command_says_how_many_calls_expired() -> None:
    said = StringIO()
    with desk("refund_order") as here:
        calls_wait(10)
        overdue_call(here)
        call_command("llm_recover", stdout=said)
    assert said.getvalue() == "taken over: 0, handed out again: 0, expired: 1\n"


def test_where_the_configuration_says_so_the_run_is_cancelled() -> None:
    with desk("refund_order", "find_order") as here:
        calls_wait(10, "cancel")
        here.model.says(
            turn(("refund_order", {"number": "1", "amount": "5"}), ("refund_order", {"number": "2", "amount": "7"}))
        )
        first, _second = llm.run("support", "Refund both", user=here.clerk).pending_calls
        nobody_decides_in_time(first)
        assert recover() == Recovered(expired=1)
        assert len(here.model.asked) == 1

    run = Run.objects.get()
    assert (run.status, run.termination_reason) == ("cancelled", "expired")
    assert [call.state for call in run.calls.order_by("index")] == ["expired", "cancelled"]
    assert [message.text for message in run.transcript[-2:]] == [
        TOLD,
        "Error: the run ended before this call was executed.",
    ]
    assert_sound(run)


@pytest.mark.parametrize(("then", "now"), [("cancel", "go_on"), ("go_on", "cancel")])
def test_a_run_is_cancelled_where_its_rules_said_so_when_it_began_or_say_so_now(then: str, now: str) -> None:
    with desk("refund_order") as here:
        calls_wait(10, then)
        overdue_call(here)
        calls_wait(10, now)
        recover()
    assert Run.objects.get().status == "cancelled"


def test_a_sibling_that_is_not_late_goes_on_waiting() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        here.model.says(
            turn(("refund_order", {"number": "1", "amount": "5"}), ("refund_order", {"number": "2", "amount": "7"})),
            text("One of them."),
        )
        late, early = llm.run("support", "Refund both", user=here.clerk).pending_calls
        nobody_decides_in_time(late)
        assert recover() == Recovered(expired=1)

        run = Run.objects.get()
        assert (run.status, run.pending_calls.get()) == ("waiting_for_approval", early)
        assert llm.approve(early, by=here.approver, digest=early.digest).status == "completed"
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]
    assert results == [TOLD, "refunded 7"]


def test_a_call_of_which_an_earlier_attempt_may_have_taken_effect_is_in_doubt_and_not_expired() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = waiting_call(here)
        RunToolCall.objects.update(attempt=1, effect="idempotent_write")
        nobody_decides_in_time(call)
        assert recover() == Recovered(expired=1)
    call.refresh_from_db()
    assert (call.state, Run.objects.get().status) == ("in_doubt", "in_doubt")


@pytest.mark.parametrize("end", ["expiry", "denial"])
def test_where_that_was_to_end_the_run_it_is_in_doubt_and_ends_with_the_doubt(end: str) -> None:
    with desk("refund_order") as here:
        calls_wait(10, "cancel")
        call = waiting_call(here)
        RunToolCall.objects.update(attempt=1, effect="idempotent_write")
        if end == "expiry":
            nobody_decides_in_time(call)
            recover()
        else:
            llm.deny(call, by=here.approver, digest=call.digest, stop=True)

        run = Run.objects.get()
        assert (run.status, run.calls.get().state, len(here.model.asked)) == ("in_doubt", "in_doubt", 1)
        here.approver.user_permissions.add(Permission.objects.get(codename="resolve_toolcall"))
        resolver = User.objects.get(pk=here.approver.pk)
        assert llm.resolve(call, by=resolver, outcome="give_up").status == "cancelled"


def test_a_run_in_doubt_is_cancelled_on_expiry_only_once_the_doubt_is_resolved() -> None:
    with desk("refund_order", "send_message") as here:
        calls_wait(10, "cancel")
        here.model.says(turn(("send_message", {"to": "crash"}), ("refund_order", {"number": "1", "amount": "5"})))
        message, refund = llm.run("support", "Write and refund", user=here.clerk).pending_calls
        assert llm.approve(message, by=here.approver, digest=message.digest).status == "in_doubt"
        nobody_decides_in_time(refund)
        recover()

        run = Run.objects.get()
        assert run.status == "in_doubt"
        assert run.cancel_requested_at is not None
    refund.refresh_from_db()
    assert refund.state == "expired"


def test_a_run_that_is_executing_hears_of_an_expiry_between_two_steps() -> None:
    with desk() as here:
        calls_wait(10)

        def expire() -> None:
            nobody_decides_in_time(RunToolCall.objects.pending().get())
            assert elsewhere(recover) == Recovered(expired=1)

        here.grant(reads_while(expire))
        here.configuration.tools.add(*here.configuration.tools.model.objects.filter(name="refund_order"))
        here.model.says(turn(("refund_order", {"number": "1", "amount": "5"}), ("slow_read", {})), text("That is all."))
        run = llm.run("support", "Refund order 1", user=here.clerk)
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]
    assert (run.status, results) == ("completed", [TOLD, "read"])
    assert_sound(run)


def test_a_run_that_is_executing_is_cancelled_by_an_expiry_between_two_steps() -> None:
    with desk("refund_order") as here:
        calls_wait(10, "cancel")

        def expire() -> None:
            nobody_decides_in_time(RunToolCall.objects.pending().get())
            elsewhere(recover)

        here.grant(reads_while(expire))
        here.model.says(turn(("refund_order", {"number": "1", "amount": "5"}), ("slow_read", {})), text("Never said."))
        run = llm.run("support", "Refund order 1", user=here.clerk)
        assert len(here.model.asked) == 1
    assert run.status == "cancelled"
    assert_sound(run)


# --- Decisions that come too late, or just in time --------------------------------------------------------------------
@pytest.mark.parametrize("is_swept", [False, True])
@pytest.mark.parametrize("decide", [llm.approve, llm.deny])
def test_a_decision_after_that_moment_is_told_so_whether_or_not_a_sweep_has_come_by(
    decide: Any, is_swept: bool
) -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = overdue_call(here)
        if is_swept:
            recover()
        with pytest.raises(DecisionExpired, match="Nobody decided this call in time: since ") as caught:
            decide(call, by=here.approver, digest=call.digest)
    call.refresh_from_db()
    assert caught.value.expired_at == call.expires_at
    assert not Decision.objects.exists()
    assert not Group.objects.exists()


def test_who_may_not_decide_does_not_learn_that_a_call_has_expired() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = overdue_call(here)
        with pytest.raises(DecisionNotPermitted):
            llm.approve(call, by=here.clerk, digest=call.digest)


def test_a_call_that_was_decided_in_time_stays_decided_afterwards() -> None:
    with desk("refund_order") as here:
        calls_wait(10)
        call = waiting_call(here)
        llm.deny(call, by=here.approver, digest=call.digest)
        RunToolCall.objects.update(expires_at=clock.after(-1))
        with pytest.raises(AlreadyDecided):
            llm.approve(call, by=here.approver, digest=call.digest)


def test_an_approval_given_in_time_counts_when_execution_begins_later() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        calls_wait(10)
        call = waiting_call(here)
        llm.approve(call, by=here.approver, digest=call.digest)
        nobody_decides_in_time(call)
        assert recover().expired == 0
        assert go_on_until_it_rests(call.run).status == "completed"
    assert Group.objects.get().name == "refund 1138 5"


# --- At once ----------------------------------------------------------------------------------------------------------
def test_of_a_sweep_and_an_approval_exactly_one_wins_whenever_it_comes() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        calls_wait(10)
        number, is_passed = 0, True
        while is_passed:
            number += 1
            Run.objects.all().delete()
            call = waiting_call(here)
            here.model.script.clear()

            def too_late() -> None:
                nobody_decides_in_time(call)  # noqa: B023
                elsewhere(recover)

            with acting_at(number, too_late) as boundary:
                outcome = _outcome(lambda: llm.approve(call, by=here.approver, digest=call.digest))  # noqa: B023
            is_passed = boundary.is_passed
            assert_one_won(call, [outcome])
        assert number > 3


def test_of_sweeps_and_approvals_at_the_same_moment_exactly_one_wins() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        calls_wait(10)
        call = overdue_call(here)
        outcomes = at_once([recover, lambda: llm.approve(call, by=here.approver, digest=call.digest)] * 3)
    assert sum(swept.expired for swept in outcomes[::2]) == 1
    assert kinds(outcomes[1::2]) == ["DecisionExpired"] * 3
    assert_one_won(call, outcomes[1::2])


def _outcome(act: Any) -> Any:
    try:
        return act()
    except LLMFoundationError as error:
        return error


def assert_one_won(call: RunToolCall, outcomes: list[Any]) -> None:
    call.refresh_from_db()
    approvals = [outcome for outcome in outcomes if isinstance(outcome, Run)]
    assert (call.state, len(approvals), call.decisions.count()) in [("expired", 0, 0), ("ready", 1, 1)]


def test_a_run_whose_calls_cannot_expire_keeps_no_other_from_it(caplog: pytest.LogCaptureFixture) -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        calls_wait(10)
        here.model.always_says(calls("refund_order", number="1138", amount="5"))
        stuck, other = (overdue_call(here) for _ in range(2))
        with failing_for(stuck.run, RuntimeError("odd")):
            assert recover() == Recovered(expired=1)
        assert f"Calls of run {stuck.run_id} could not expire" in caplog.text
        other.refresh_from_db()
        assert other.state == "expired"
        assert recover() == Recovered(expired=1)
