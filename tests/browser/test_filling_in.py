"""Changing the arguments of a call, and giving it what only a person knows."""

from datetime import date

import pytest
from django.contrib.auth.models import Group
from pydantic import BaseModel, Field

from llm_foundation.models import Decision, RunToolCall
from tests.admin.conftest import asking_for, call_page, run_page, wait_for_refund
from tests.browser.conftest import wait_for_letter, with_and_without_script

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Pickup(BaseModel):
    street: str = Field(title="Street and number", min_length=3, max_length=60)
    day: date
    insured: bool


@pytest.fixture(params=[False], ids=["input-only"])
def pickup(request, here):
    """A parcel that waits to be picked up, and what its tool was given."""
    with asking_for(Pickup, approval=request.param) as booked:
        yield wait_for_letter(here, said="It is booked."), booked


@with_and_without_script
def test_other_arguments_are_seen_before_they_are_approved(approver, here):
    waiting = wait_for_refund(here)
    approver.opens(call_page(waiting.call))
    approver.follows("Change the arguments…")
    assert "This decides nothing yet." in approver.reads()
    approver.fills("amount", "5.00")
    approver.presses("See what it would do")

    page = approver.reads()
    assert "What it would do\nOrder 1138: pay back 5.00" in page
    assert "19.90" in approver.reads(".llm-before")
    assert "5.00" in approver.reads(".llm-after")
    assert not Decision.objects.exists()
    approver.presses("Approve with these arguments")

    assert list(Group.objects.values_list("name", flat=True)) == ["refund 1138 5.00"]
    assert approver.address == run_page(waiting.run)
    assert "You approved “refund_order”. The call: succeeded." in approver.reads()


def test_what_does_not_fit_is_told_at_its_field_and_stays_there(approver, here):
    approver.opens(call_page(wait_for_refund(here).call).replace("change", "edit"))
    approver.fills("amount", "lots")
    approver.presses("See what it would do")
    assert "amount" in approver.reads(".llm-field-wrong")
    assert approver.finds_typed("amount") == "lots"
    assert not approver.finds("button", "Approve with these arguments")


def test_an_input_is_asked_for_in_a_form_of_its_own(approver, pickup):
    call, booked = pickup
    approver.opens(call_page(call))
    assert "It waits for an input, and for nothing else." in approver.reads()
    approver.fills("Street and number", "El")
    approver.fills("Day", "2026-12-31")
    approver.chooses("Insured", "Yes")
    approver.presses("Give the input")

    assert "Enter at least 3 characters." in approver.reads(".llm-field-wrong")
    assert approver.finds_typed("Day") == "2026-12-31"
    assert booked == []
    approver.fills("Street and number", "Elm Street 5")
    approver.strikes_and_goes_on("Enter")
    assert "The input fits. Nothing is decided yet." in approver.reads()
    assert booked == []
    approver.presses("Give the input")

    assert booked == [Pickup(street="Elm Street 5", day=date(2026, 12, 31), insured=True)]
    assert "You gave “send_message” its input. The call: succeeded." in approver.reads()


@pytest.mark.parametrize("pickup", [True], indirect=True, ids=["and-approval"])
def test_an_input_is_given_and_the_call_approved_at_once(approver, pickup):
    call, booked = pickup
    approver.opens(call_page(call))
    approver.fills("Street and number", "Elm Street 5")
    approver.fills("Day", "2026-12-31")
    approver.chooses("Insured", "No")
    approver.presses("Check, without deciding")

    assert "The input fits. Nothing is decided yet." in approver.reads()
    assert RunToolCall.objects.get().state == "pending"
    approver.presses("Approve with this input")
    assert [given.insured for given in booked] == [False]
