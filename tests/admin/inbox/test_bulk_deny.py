"""Denying several calls at once: each by itself, each told."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client

from llm_foundation import llm
from llm_foundation.admin.inbox import bulk_deny
from llm_foundation.models import Decision, RunToolCall
from tests.admin.conftest import wait_for_refund

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/llm_foundation/runtoolcall/"
DENY = f"{LIST}deny/"


@pytest.fixture
def three(here):
    return [wait_for_refund(here, number=number).call for number in ("1", "2", "3")]


def choose(client, chosen, **more):
    """Tick the calls in the list and press “Go”."""
    ticked = {"action": "deny_selected", "index": "0", "_selected_action": [str(call.pk) for call in chosen]}
    return client.post(LIST, {**ticked, **more})


def deny_shown(client, shown, **more):
    posted = [f"{call.pk} {call.digest}" for call in shown]
    return client.post(DENY, {"shown": posted, "reason": "Not today.", **more})


def test_choosing_calls_shows_them_and_decides_nothing(approver, three):
    page = choose(approver, three[:2]).text
    assert "Deny 2 calls?" in page
    assert "Order 1: pay back 19.90" in page
    assert "Order 2: pay back 19.90" in page
    assert "Order 3:" not in page
    assert f'value="{three[0].pk} {three[0].digest}"' in page
    assert not Decision.objects.exists()


def test_each_call_is_denied_with_the_reason_and_each_is_told(approver, three, here):
    page = deny_shown(approver, three[:2])
    assert page.status_code == 200
    assert "Denied 2 of 2 calls" in page.text
    assert page.text.count("llm-badge-denied") == 2
    assert [(made.verdict, made.reason, made.channel) for made in Decision.objects.all()] == [
        ("denied", "Not today.", "admin")
    ] * 2
    assert {call.state for call in RunToolCall.objects.filter(pk__in=[three[0].pk, three[1].pk])} == {"denied"}
    assert RunToolCall.objects.get(pk=three[2].pk).state == "pending"
    assert not Group.objects.exists()


def test_a_call_that_somebody_else_has_decided_is_told_with_who_and_what(approver, three, here):
    llm.approve(three[0], by=here.approver, digest=three[0].digest)
    page = deny_shown(approver, three[:2]).text
    assert "Denied 1 of 2 calls" in page
    assert "approver has decided this call already (approved, " in page
    assert RunToolCall.objects.get(pk=three[1].pk).state == "denied"


def test_a_call_that_is_not_what_was_shown_stays_and_is_told(approver, three):
    page = approver.post(DENY, {"shown": [f"{three[0].pk} k1.{'0' * 64}", f"{three[1].pk} {three[1].digest}"]}).text
    assert "Denied 1 of 2 calls" in page
    assert "This call is not the one that you were shown." in page
    assert RunToolCall.objects.get(pk=three[0].pk).state == "pending"


def test_the_same_page_posted_twice_denies_once(approver, three):
    deny_shown(approver, three[:1])
    assert "Denied 0 of 1 call" in deny_shown(approver, three[:1]).text
    assert Decision.objects.count() == 1


def test_calls_that_are_gone_are_counted(approver, three):
    gone = f"00000000-0000-0000-0000-000000000000 {three[0].digest}"
    page = approver.post(DENY, {"shown": [gone, f"{three[1].pk} {three[1].digest}"]}).text
    assert "Denied 1 of 2 calls" in page
    assert "1 of the calls is no longer on record: nothing was done about it." in page


def test_a_reason_that_is_too_long_is_kept_for_correction(approver, three):
    page = deny_shown(approver, three[:2], reason="no " * 1000)
    assert page.status_code == 400
    assert "Ensure this value has at most 2000 characters" in page.text
    assert "no no no" in page.text
    assert f'value="{three[1].pk} {three[1].digest}"' in page.text
    assert not Decision.objects.exists()


def test_too_many_at_once_are_refused_before_anything_is_decided(approver, three, monkeypatch):
    monkeypatch.setattr(bulk_deny, "MOST", 2)
    response = choose(approver, three, follow=True)
    assert response.status_code == 302
    assert "at most 2 calls can be denied at once" in approver.get(LIST).text
    assert not Decision.objects.exists()


def test_who_may_not_decide_has_neither_the_action_nor_the_page(signed_in, three):
    vera = signed_in("vera", "view_runtoolcall")
    assert "deny_selected" not in vera.get(LIST).text
    assert choose(vera, three).status_code in (200, 302)
    assert deny_shown(vera, three).status_code == 403
    assert not Decision.objects.exists()


def test_what_does_not_wait_cannot_be_chosen(approver, three):
    assert "deny_selected" in approver.get(LIST).text
    assert "deny_selected" not in approver.get(LIST + "?state=all").text


@pytest.mark.parametrize("shown", [[], ["nonsense"], ["' OR 1=1 --"]])
def test_a_forged_page_denies_nothing(approver, three, shown):
    assert approver.post(DENY, {"shown": shown}).status_code == 302
    assert approver.get(DENY).status_code == 302
    assert not Decision.objects.exists()


def test_a_form_without_its_token_is_refused(here, approver, three):
    client = Client(enforce_csrf_checks=True)
    client.force_login(here.approver)
    assert deny_shown(client, three).status_code == 403
    assert not Decision.objects.exists()


def test_the_log_of_the_admin_has_an_entry_for_each_without_the_words(approver, three):
    deny_shown(approver, three[:2])
    entries = [(entry.object_id, entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]
    assert entries == [(str(call.pk), "Denied the call.") for call in three[:2]]


def test_denials_are_taken_outside_of_the_transaction_of_the_request(approver, three, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    assert "Denied 2 of 2 calls" in deny_shown(approver, three[:2]).text


def test_a_reason_with_markup_stays_text(approver, three):
    assert "<script>alert" not in deny_shown(approver, three, reason="<script>alert(1)</script>" * 200).text
