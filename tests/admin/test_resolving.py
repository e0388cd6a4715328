"""The page on which somebody says what became of a call in doubt."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.models import Decision, RunToolCall
from tests.admin.conftest import call_page, run_page
from tests.practice import calls, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def resolver(here, signed_in):
    return signed_in("rita", "view_run", "view_runtoolcall", "resolve_toolcall")


@pytest.fixture
def doubtful(here):
    """A letter of which nobody knows whether it was sent."""
    here.model.says(calls("send_message", to="crash"), text("The letter is on its way."))
    call = llm.run("support", "Write to crash.", user=here.clerk).pending_calls.get()
    llm.approve(call, by=here.approver, digest=call.digest)
    call.refresh_from_db()
    assert call.state == "in_doubt"
    return call


def over(call):
    """The attempt can no longer be at work."""
    RunToolCall.objects.filter(pk=call.pk).update(deadline_at=timezone.now() - timedelta(minutes=1))


def page_of(call):
    return f"/admin/llm_foundation/runtoolcall/{call.pk}/resolve/"


def say(client, call, outcome, **more):
    return client.post(page_of(call), {"outcome": outcome, "seen": "0.1", **more}, follow=True)


def test_the_page_says_what_is_known_and_what_each_answer_leads_to(resolver, doubtful):
    page = resolver.get(page_of(doubtful)).text
    assert "Send a message; it cannot be taken back." in page
    assert "ConnectionResetError" in page or "connection reset" in page
    assert str(doubtful.idempotency_key) in page
    assert "The call counts as succeeded. It is not executed again." in page
    assert "If you are mistaken, it is done twice." in page
    assert "The model is told that nobody knows, and not to make it again; the run goes on." in page
    assert "until then it may still be at work" in page
    assert page.count("<form method=") - page.count("logout") <= 4


def test_each_answer_has_a_form_of_its_own_that_enter_does_not_send(resolver, doubtful):
    page = resolver.get(page_of(doubtful)).text.split('class="llm-choices"')[1]
    assert page.count('type="submit"') == 3
    assert 'type="text"' not in page
    assert 'type="radio"' not in page


def test_what_happened_is_told_to_the_model_in_the_words_of_who_has_seen_it(resolver, doubtful, here):
    page = say(resolver, doubtful, "happened", result="Letter L-7 was posted.", reason="Seen in the outbox.")
    assert page.redirect_chain == [(run_page(doubtful.run), 302)]
    assert "You said that “send_message” happened. The run went on and is completed." in page.text
    assert here.model.asked[-1]["messages"][-1]["content"] == "Letter L-7 was posted."
    decision = Decision.objects.order_by("number").last()
    assert (decision.verdict, decision.reason, decision.channel) == ("happened", "Seen in the outbox.", "admin")


def test_what_did_not_happen_waits_for_a_fresh_approval(resolver, doubtful):
    over(doubtful)
    page = say(resolver, doubtful, "did_not_happen")
    assert "You said that “send_message” did not happen. The call: waiting for a decision." in page.text
    assert RunToolCall.objects.get().state == "pending"
    assert not Group.objects.exists()


def test_what_nobody_knows_is_given_up(resolver, doubtful, here):
    page = say(resolver, doubtful, "give_up")
    assert "You gave “send_message” up." in page.text
    assert RunToolCall.objects.get().state == "failed"
    assert "nobody knows whether this call took effect" in here.model.asked[-1]["messages"][-1]["content"]


def test_too_early_is_told_with_the_time_and_what_was_written_is_kept(resolver, doubtful):
    page = say(resolver, doubtful, "did_not_happen", reason="It is not in the outbox.")
    assert page.status_code == 409
    assert "this call may still be at work: only then can anybody say so." in page.text
    assert "It is not in the outbox." in page.text
    assert RunToolCall.objects.get().state == "in_doubt"


def test_a_result_of_a_call_that_did_not_happen_is_not_taken(resolver, doubtful):
    over(doubtful)
    assert say(resolver, doubtful, "did_not_happen", result="forged").status_code == 200
    assert RunToolCall.objects.get().state == "pending"


def test_who_lacks_the_permission_sees_no_buttons_and_says_nothing(signed_in, doubtful):
    vera = signed_in("vera", "view_runtoolcall", "decide_toolcall")
    page = vera.get(page_of(doubtful))
    assert page.status_code == 403
    assert "needs the permission “llm_foundation.resolve_toolcall”" in page.text
    assert 'name="outcome"' not in page.text
    assert say(vera, doubtful, "happened").status_code == 403
    assert RunToolCall.objects.get().state == "in_doubt"


def test_a_stranger_learns_nothing(signed_in, doubtful):
    stranger = signed_in("stranger", "view_provider", "resolve_toolcall")
    assert stranger.get(page_of(doubtful)).status_code == 403
    assert say(stranger, doubtful, "happened").status_code == 403


@pytest.mark.parametrize("object_id", ["00000000-0000-0000-0000-000000000000", "nonsense"])
def test_there_is_no_page_for_an_unknown_call(resolver, object_id):
    response = resolver.get(f"/admin/llm_foundation/runtoolcall/{object_id}/resolve/", follow=True)
    assert response.status_code == 404


def test_a_call_that_is_not_in_doubt_says_how_it_stands(resolver, doubtful):
    say(resolver, doubtful, "happened")
    page = resolver.get(page_of(doubtful))
    assert "This call is not in doubt: succeeded." in page.text
    assert 'name="outcome"' not in page.text
    assert say(resolver, doubtful, "give_up").status_code == 409
    assert RunToolCall.objects.get().state == "succeeded"


def test_a_page_of_an_earlier_attempt_says_nothing_of_a_later_one(resolver, doubtful):
    page = say(resolver, doubtful, "happened", seen="0.7")
    assert page.status_code == 409
    assert "the call has moved on since this page was shown" in page.text
    assert RunToolCall.objects.get().state == "in_doubt"


@pytest.mark.parametrize("changes", [{"outcome": ""}, {"outcome": "maybe"}, {"seen": ""}, {"reason": "x" * 2001}])
def test_an_incomplete_form_says_nothing(resolver, doubtful, changes):
    response = resolver.post(page_of(doubtful), {"outcome": "happened", "seen": "0.1", **changes})
    assert response.status_code == 400
    assert RunToolCall.objects.get().state == "in_doubt"


def test_a_reason_that_is_too_long_says_so_at_its_field(resolver, doubtful):
    page = say(resolver, doubtful, "give_up", reason="why " * 600)
    assert "Ensure this value has at most 2000 characters" in page.text
    assert "why why why" in page.text


def test_the_pages_of_the_call_and_of_its_run_lead_here(resolver, doubtful):
    assert page_of(doubtful) in resolver.get(call_page(doubtful)).text
    assert page_of(doubtful) in resolver.get(run_page(doubtful.run)).text


def test_who_may_not_resolve_is_told_which_permission_that_needs(approver, doubtful):
    for address in (call_page(doubtful), run_page(doubtful.run)):
        page = approver.get(address).text
        assert page_of(doubtful) not in page
        assert "llm_foundation.resolve_toolcall" in page


def test_the_log_of_the_admin_has_no_content(resolver, doubtful):
    say(resolver, doubtful, "happened", result="Letter L-7", reason="Seen in the outbox.")
    assert [entry.get_change_message() for entry in LogEntry.objects.all()] == ["Said what became of the call."]


def test_it_is_said_outside_of_the_transaction_of_the_request(resolver, doubtful, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    say(resolver, doubtful, "happened")
    assert RunToolCall.objects.get().state == "succeeded"


def test_looking_says_nothing(resolver, doubtful):
    resolver.get(page_of(doubtful) + "?outcome=happened&seen=0.1")
    assert RunToolCall.objects.get().state == "in_doubt"
