"""The list of what waits, and the way to it."""

import pytest

from llm_foundation.models import RunToolCall
from tests.admin.conftest import wait_for_refund
from tests.browser.conftest import INBOX, deny_selected, with_and_without_script

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@with_and_without_script
def test_calls_are_denied_together_after_a_look(approver, here):
    for number in ("1", "2", "3"):
        wait_for_refund(here, number=number)
    approver.opens(INBOX)
    deny_selected(approver, "Order 1:", "Order 3:")

    page = approver.reads()
    assert "Deny 2 calls?" in page
    assert "Order 2:" not in page
    approver.fills("Why not? Each model is told.", "Not today.")
    approver.presses("Deny 2 calls")
    assert "Denied 2 of 2 calls" in approver.reads()
    approver.follows("What still waits")
    assert "1 call waits for you" in approver.reads()
    assert "Order 2: pay back 19.90" in approver.reads()
    assert sorted(RunToolCall.objects.values_list("state", flat=True)) == ["denied", "denied", "pending"]


def test_the_first_page_of_the_admin_says_how_many_wait(approver, here):
    wait_for_refund(here)
    approver.opens("/admin/")
    assert "Tool calls (1)" in approver.reads()
