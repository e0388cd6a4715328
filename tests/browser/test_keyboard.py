"""Deciding without a mouse. Enter never decides: a person has to go to a button and press it."""

import pytest
from django.contrib.auth.models import Group

from llm_foundation.models import Decision
from tests.admin.conftest import call_page, wait_for_refund
from tests.browser.conftest import INBOX

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def typist(visit, here):
    return visit(here.approver)


def tab_to(typist, name):
    """Give all that had the focus on the way."""
    passed = []
    while not passed or name not in passed[-1]:
        assert len(passed) < 60, f"{name} is not in the tab order: {passed}"
        typist.strikes("Tab")
        passed.append(typist.has_focused)
    return passed


def test_the_tab_key_comes_to_approving_first_and_to_stopping_last(typist, here):
    typist.opens(call_page(wait_for_refund(here).call))
    passed = tab_to(typist, "See the whole run")
    assert passed[0] == "Skip to main content"
    assert passed[-6:-1] == [
        "Approve",
        "Change the arguments…",
        "Why not? The model is told.",
        "Deny",
        "Deny and stop the run",
    ]


def test_what_has_the_focus_is_seen(typist, here):
    typist.opens(call_page(wait_for_refund(here).call))
    for name in ("Approve", "Change the arguments…", "Deny"):
        before = typist.looks_at(".llm-answer")
        tab_to(typist, name)
        assert typist.looks_at(".llm-answer") != before


def test_a_whole_decision_by_keyboard(typist, here):
    wait_for_refund(here)
    typist.opens(INBOX)
    tab_to(typist, "Pay back money for an order.")
    typist.strikes_and_goes_on("Enter")
    tab_to(typist, "Approve")
    typist.strikes_and_goes_on("Space")
    assert "You approved “refund_order”." in typist.reads()
    assert Group.objects.count() == 1


def test_enter_on_a_page_that_has_just_opened_decides_nothing(typist, here):
    address = call_page(wait_for_refund(here).call)
    typist.opens(address)
    typist.strikes("Enter")
    tab_to(typist, "Why not?")
    typist.strikes("Enter")
    assert typist.finds_typed("Why not? The model is told.") == "\n"
    assert typist.address == address
    assert not Decision.objects.exists()


def test_enter_in_a_changed_argument_only_shows_what_it_would_do(typist, here):
    typist.opens(call_page(wait_for_refund(here).call).replace("change", "edit"))
    typist.fills("amount", "5.00")
    typist.strikes_and_goes_on("Enter")
    assert "Order 1138: pay back 5.00" in typist.reads()

    typist.fills("amount", "6.00")
    typist.strikes_and_goes_on("Enter")
    assert "Order 1138: pay back 6.00" in typist.reads()
    assert not Decision.objects.exists()
