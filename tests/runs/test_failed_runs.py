"""A run that cannot go on takes nobody's time any more, unless somebody has to find out what it did."""

import pytest

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided
from llm_foundation.models import Configuration, Run, RunToolCall
from tests.practice import desk, text, turn

pytestmark = pytest.mark.django_db(transaction=True)

ONE = ("refund_order", {"number": "1", "amount": "5"})
TWO = ("refund_order", {"number": "2", "amount": "7"})


def test_open_calls_end_with_their_run_and_leave_the_inbox() -> None:
    with desk("refund_order") as here:
        here.model.says(turn(ONE, TWO))
        first, second = llm.run("support", "Refund both", user=here.clerk).pending_calls
        Configuration.objects.update(enabled=False)
        run = llm.approve(first, by=here.approver, digest=first.digest)

        assert (run.status, run.termination_reason) == ("failed", "UnusableConfiguration")
        assert run.error == "Configuration 'support' is switched off. Enable it in the admin."
        assert [call.state for call in run.calls.order_by("index")] == ["cancelled", "cancelled"]
        assert {call.result for call in run.calls.all()} == {"Error: the run ended before this call was executed."}
        assert not RunToolCall.objects.pending().exists()
        with pytest.raises(AlreadyDecided, match="no longer waits"):
            llm.approve(second, by=here.approver, digest=second.digest)
    assert run.events.last().payload == {"status": "failed", "reason": "UnusableConfiguration"}  # type: ignore[union-attr]


def test_a_run_with_a_call_in_doubt_does_not_end_before_somebody_has_found_out() -> None:
    with desk("refund_order", "send_message") as here:
        here.model.says(turn(("send_message", {"to": "crash"}), ONE))
        message, refund = llm.run("support", "Write and refund", user=here.clerk).pending_calls
        assert llm.approve(message, by=here.approver, digest=message.digest).status == "in_doubt"
        Configuration.objects.update(enabled=False)
        run = llm.approve(refund, by=here.approver, digest=refund.digest)

    assert (run.status, run.termination_reason, run.finished_at) == ("in_doubt", "", None)
    assert run.error == "Configuration 'support' is switched off. Enable it in the admin."
    assert [call.state for call in run.calls.order_by("index")] == ["in_doubt", "ready"]
    assert run.events.last().kind == "run.waiting"  # type: ignore[union-attr]


def test_what_a_run_in_doubt_could_not_do_is_done_once_it_can() -> None:
    with desk("refund_order", "send_message") as here:
        here.model.says(turn(("send_message", {"to": "crash"}), ONE, TWO), text("Done."))
        message, first, second = llm.run("support", "Write and refund", user=here.clerk).pending_calls
        llm.approve(message, by=here.approver, digest=message.digest)
        Configuration.objects.update(enabled=False)
        llm.approve(first, by=here.approver, digest=first.digest)
        Configuration.objects.update(enabled=True)
        run = llm.deny(second, by=here.approver, digest=second.digest)

    assert (run.status, run.error) == ("in_doubt", "")
    assert [call.state for call in run.calls.order_by("index")] == ["in_doubt", "succeeded", "denied"]


def test_a_run_fails_with_the_reason_that_the_caller_can_read_on_what_it_gets_back() -> None:
    with desk("refund_order") as here:
        here.model.says(turn(ONE))
        call = llm.run("support", "Refund", user=here.clerk).pending_calls.get()
        Configuration.objects.update(options={"temperature": "hot"})
        run = llm.deny(call, by=here.approver, digest=call.digest)
    stored = Run.objects.get()
    assert (run.status, run.error, run.finished_at) == (stored.status, stored.error, stored.finished_at)
    assert "wrong parameters" in stored.error
    assert (stored.lease_owner, stored.lease_expires_at) == ("", None)
