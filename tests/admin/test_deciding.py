"""What happens when a person presses one of the buttons."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.tools import Effect, registry, tool
from tests.admin.conftest import approve, call_page, deny, run_page, wait_for_refund
from tests.practice import calls, text, turn

pytestmark = pytest.mark.django_db(transaction=True)


def refunds():
    return list(Group.objects.values_list("name", flat=True))


def test_an_approved_call_happens_and_its_run_ends(approver, waiting):
    page = approve(approver, waiting.call)

    assert refunds() == ["refund 1138 19.90"]
    assert page.redirect_chain == [(run_page(waiting.run), 302)]
    assert "You approved “refund_order”. The call: succeeded. The run went on and is completed." in page.text
    waiting.run.refresh_from_db()
    assert (waiting.run.status, waiting.run.answer) == ("completed", "Refunded.")


def test_a_denied_call_does_not_happen_and_the_model_is_told_why(approver, waiting, here):
    page = deny(approver, waiting.call, reason="Ask for the receipt first.")

    assert refunds() == []
    assert "You denied “refund_order”." in page.text
    assert "Ask for the receipt first." in here.model.asked[1]["messages"][-1]["content"]


def test_the_decision_is_stored_with_who_made_it_and_where(approver, waiting, here):
    approve(approver, waiting.call)
    decision = Decision.objects.get()
    assert (decision.decider, decision.verdict, decision.channel) == (here.approver, "approved", "admin")


def test_the_log_of_the_admin_says_what_was_done_and_nothing_of_what_was_said(approver, waiting, here):
    deny(approver, waiting.call, reason="Ask for the receipt first.")
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id) == (here.approver, str(waiting.call.pk))
    assert (entry.object_repr, entry.get_change_message()) == ("refund_order (denied)", "Denied the call.")


def test_looking_changes_nothing(approver, waiting):
    before = RunToolCall.objects.values().get(), waiting.run.__class__.objects.values().get()
    for query in ("", "?decision=approve", f"?decision=approve&digest={waiting.call.digest}"):
        assert approver.get(call_page(waiting.call) + query).status_code == 200
    assert before == (RunToolCall.objects.values().get(), waiting.run.__class__.objects.values().get())
    assert not Decision.objects.exists()


def test_the_second_of_two_people_is_told_who_decided_what(approver, waiting, here):
    llm.deny(waiting.call, by=here.approver, digest=waiting.call.digest)
    page = approve(approver, waiting.call)

    assert page.status_code == 409
    assert "approver has decided this call already (denied, " in page.text
    assert Decision.objects.count() == 1
    assert refunds() == []


def test_the_same_form_posted_twice_acts_once(approver, waiting):
    approve(approver, waiting.call)
    assert approve(approver, waiting.call).status_code == 409
    assert refunds() == ["refund 1138 19.90"]


def test_a_page_of_yesterday_decides_nothing_and_asks_to_look_again(approver, waiting):
    page = approve(approver, waiting.call, digest="k1." + "0" * 64)

    assert page.status_code == 409
    assert "This call is not the one that you were shown. Look at it again, then decide." in page.text
    assert waiting.call.digest in page.text
    assert not Decision.objects.exists()


def test_without_a_digest_nothing_is_decided(approver, waiting):
    page = approve(approver, waiting.call, digest="")
    assert page.status_code == 400
    assert "Nothing was decided" in page.text
    assert not Decision.objects.exists()


def test_a_reason_that_is_too_long_is_kept_for_correction(approver, waiting):
    page = deny(approver, waiting.call, reason="no " * 1000)
    assert page.status_code == 400
    assert "Nothing was decided. Reason: Ensure this value has at most 2000 characters" in page.text
    assert "no no no" in page.text
    assert not Decision.objects.exists()


def test_a_reason_is_kept_where_the_decision_was_refused(approver, waiting):
    page = deny(approver, waiting.call, digest="stale", reason="The amount is wrong.")
    assert "The amount is wrong." in page.text


def test_who_lacks_the_permission_decides_nothing_even_by_a_forged_form(signed_in, waiting):
    vera = signed_in("vera", "view_runtoolcall", "change_group")
    page = approve(vera, waiting.call)

    assert page.status_code == 403
    assert "Deciding tool calls needs the permission “llm_foundation.decide_toolcall”." in page.text
    assert not Decision.objects.exists()


def test_who_may_not_make_the_call_cannot_release_it_but_can_deny_it(signed_in, waiting):
    otto = signed_in("otto", "view_runtoolcall", "decide_toolcall")
    page = otto.get(call_page(waiting.call))
    assert "You may not run this call yourself: The acting user may not use this tool." in page.text
    assert 'value="approve"' not in page.text

    assert approve(otto, waiting.call).status_code == 403
    assert deny(otto, waiting.call).status_code == 200
    assert Decision.objects.get().verdict == "denied"
    assert refunds() == []


def test_a_form_without_its_token_is_refused(waiting, here, approver):
    stranger = Client(enforce_csrf_checks=True)
    stranger.force_login(here.approver)
    response = stranger.post(call_page(waiting.call), {"decision": "approve", "digest": waiting.call.digest})
    assert response.status_code == 403
    assert not Decision.objects.exists()


def test_after_a_decision_comes_the_next_call_of_the_run(approver, here):
    here.model.says(
        turn(("refund_order", {"number": "1", "amount": "5"}), ("refund_order", {"number": "2", "amount": "6"})),
        text("Done."),
    )
    run = llm.run("support", "Refund orders 1 and 2", user=here.clerk)
    first, second = run.pending_calls

    page = approve(approver, first)
    assert page.redirect_chain == [(call_page(second), 302)]
    assert "The run waits for another decision." in page.text
    assert approve(approver, second).redirect_chain == [(run_page(run), 302)]
    assert refunds() == ["refund 1 5", "refund 2 6"]


def test_after_the_last_decision_of_a_run_comes_who_has_waited_longest_elsewhere(approver, here):
    here.model.says(calls("refund_order", number="1", amount="5"), calls("refund_order", number="2", amount="6"))
    longest, newest = (llm.run("support", "Refund it.", user=here.clerk).pending_calls.get() for _ in range(2))
    assert approve(approver, newest).redirect_chain == [(call_page(longest), 302)]


def test_a_call_that_fails_after_its_approval_is_a_warning_not_a_success(approver, here):
    waiting = wait_for_refund(here, number="crash", said="Sorry.")
    page = approve(approver, waiting.call)
    assert "The call: failed." in page.text
    assert 'class="warning"' in page.text
    assert refunds() == []


def test_a_decision_is_taken_outside_of_the_transaction_of_the_request(approver, waiting, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    approve(approver, waiting.call)
    assert refunds() == ["refund 1138 19.90"]


def test_a_call_whose_tool_is_gone_can_be_denied_only(approver, waiting):
    with registry.isolated():
        page = approver.get(call_page(waiting.call))
        assert "The code of this project no longer has this tool." in page.text
        assert 'value="approve"' not in page.text
        assert approve(approver, waiting.call).status_code == 409
        deny(approver, waiting.call)
    assert Decision.objects.get().verdict == "denied"


def test_a_call_whose_tool_has_changed_can_be_denied_only(approver, waiting):
    with registry.isolated():

        @tool(effect=Effect.TRANSACTIONAL_WRITE, permission="auth.change_group")
        def refund_order(number: str, amount: str) -> str:
            """Pay it all out."""
            return "paid"

        page = approver.get(call_page(waiting.call))
        assert "Its tool, or the call itself, has changed since it was asked for: it can only be denied." in page.text
        assert approve(approver, waiting.call).status_code == 409
        deny(approver, waiting.call)
    assert Decision.objects.get().verdict == "denied"


def test_a_call_that_nobody_can_read_can_be_denied_only(approver, waiting):
    RunToolCall.objects.update(arguments_sealed="broken")
    page = approver.get(call_page(waiting.call))
    assert page.status_code == 200
    assert "No key of the ring opens what is stored at" in page.text
    assert 'value="approve"' not in page.text

    assert approve(approver, waiting.call).status_code == 409
    deny(approver, waiting.call)
    assert Decision.objects.get().verdict == "denied"
    assert refunds() == []


def test_who_is_not_signed_in_is_sent_to_the_login(waiting):
    response = Client().post(call_page(waiting.call), {"decision": "approve", "digest": waiting.call.digest})
    assert response.url.startswith("/admin/login/")
    assert not Decision.objects.exists()


def test_deny_and_stop_ends_the_run(approver, waiting, here):
    page = approver.post(
        call_page(waiting.call), {"decision": "stop", "digest": waiting.call.digest, "reason": "Enough."}, follow=True
    )
    assert "You denied “refund_order”. The run is cancelled." in page.text
    waiting.run.refresh_from_db()
    assert waiting.run.status == "cancelled"
    assert len(here.model.asked) == 1
    assert refunds() == []


def test_who_may_not_decide_stops_nothing(signed_in, waiting):
    vera = signed_in("vera", "view_runtoolcall")
    assert vera.post(call_page(waiting.call), {"decision": "stop", "digest": waiting.call.digest}).status_code == 403
    waiting.run.refresh_from_db()
    assert waiting.run.status == "waiting_for_approval"


def test_a_rule_of_the_approval_policy_is_named_where_it_keeps_somebody_from_approving(signed_in, here):
    here.configuration.approval_policy = "four_eyes"
    here.configuration.save()
    here.clerk.user_permissions.add(*Permission.objects.filter(codename="decide_toolcall"))
    waiting = wait_for_refund(here)
    clerk = signed_in(here.clerk)
    page = clerk.get(call_page(waiting.call)).text
    assert "the run is yours: somebody else has to release its calls" in page
    assert "Rule: four_eyes" in page
    assert approve(clerk, waiting.call).status_code == 403
    assert deny(clerk, waiting.call).status_code == 200
    assert Decision.objects.get().verdict == "denied"


def test_the_time_that_is_left_stands_on_the_page_and_in_the_list(approver, waiting):
    RunToolCall.objects.update(expires_at=timezone.now() + timedelta(hours=2, minutes=30))
    assert "2 h left" in approver.get(call_page(waiting.call)).text
    assert "2 h" in approver.get("/admin/llm_foundation/runtoolcall/").text


def test_a_call_that_has_expired_says_so_before_and_after_the_sweep(approver, waiting):
    RunToolCall.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    for _ in range(2):
        page = approver.get(call_page(waiting.call)).text
        assert "Nobody decided this call in time" in page
        assert 'name="decision"' not in page
        response = approve(approver, waiting.call)
        assert response.status_code == 409
        assert "Nobody decided this call in time" in response.text
        call_command("llm_recover", verbosity=0)
    assert RunToolCall.objects.get().state == "expired"
    assert refunds() == []
