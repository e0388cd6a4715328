"""Approving and denying, as somebody does who reads the page, decides, and reads what became of it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.models import Decision, RunToolCall
from tests.admin.conftest import call_page, run_page, wait_for_refund
from tests.browser.conftest import INBOX, with_and_without_script
from tests.practice import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def refunds():
    return list(Group.objects.values_list("name", flat=True))


@with_and_without_script
def test_from_the_inbox_to_the_answer(approver, here):
    waiting = wait_for_refund(here)
    approver.opens(INBOX)
    assert "1 call waits for you" in approver.reads()
    approver.follows("Pay back money for an order.")

    page = approver.reads()
    assert "Support, on behalf of clerk, wants to call refund_order" in page
    assert "What it would do\nOrder 1138: pay back 19.90" in page
    assert "It changes our database, once." in page
    assert "Please refund order 1138." in page
    approver.presses("Approve")

    assert refunds() == ["refund 1138 19.90"]
    assert approver.address == run_page(waiting.run)
    assert "You approved “refund_order”. The call: succeeded. The run went on and is completed." in approver.reads()
    assert "The model answered" in approver.reads()


def test_denying_with_a_reason(approver, here):
    waiting = wait_for_refund(here, said="Then not.")
    approver.opens(call_page(waiting.call))
    approver.fills("Why not? The model is told.", "Ask for the receipt first.")
    approver.presses("Deny")

    page = approver.reads()
    assert "You denied “refund_order”." in page
    assert "Denied by approver" in page
    assert "Ask for the receipt first." in page
    assert "Then not." in page
    assert refunds() == []


def test_denying_and_stopping_the_run(approver, here):
    approver.opens(call_page(wait_for_refund(here).call))
    approver.fills("Why not? The model is told.", "Enough.")
    approver.presses("Deny and stop the run")
    assert "You denied “refund_order”. The run is cancelled." in approver.reads()
    assert len(here.model.asked) == 1
    assert refunds() == []


def test_somebody_else_was_faster(approver, here):
    waiting = wait_for_refund(here)
    approver.opens(call_page(waiting.call))
    llm.deny(waiting.call, by=person("eve", "decide_toolcall"), digest=waiting.call.digest)
    approver.presses("Approve")

    page = approver.reads()
    assert "eve has decided this call already (denied, " in page
    assert "Your decision" not in page
    assert not approver.finds("button", "Approve")
    assert Decision.objects.count() == 1
    assert refunds() == []
    approver.follows("Everything that waits")
    assert approver.address == INBOX


def test_time_runs_out_while_the_page_is_open(approver, here):
    waiting = wait_for_refund(here)
    RunToolCall.objects.update(expires_at=timezone.now() + timedelta(hours=2, minutes=30))
    approver.opens(call_page(waiting.call))
    assert "2 h left" in approver.reads()

    RunToolCall.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    approver.presses("Approve")
    assert "Nobody decided this call in time" in approver.reads()
    assert not approver.finds("button", "Approve")
    assert refunds() == []


def test_after_a_decision_comes_the_next_call(approver, here):
    first, second = wait_for_refund(here, number="1").call, wait_for_refund(here, number="2").call
    approver.opens(call_page(first))
    approver.presses("Deny")
    assert approver.address == call_page(second)
    assert "You denied “refund_order”." in approver.reads()
    assert "Order 2: pay back 19.90" in approver.reads()
