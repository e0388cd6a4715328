"""What the page of one call shows, and to whom."""

import re

import pytest

from llm_foundation import llm
from llm_foundation.models import RunMessage
from llm_foundation.tools import Effect, registry, tool
from tests.admin.conftest import call_page, deny, queries, run_page, wait_for_refund
from tests.practice import TOOLS, calls, text, turn

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/llm_foundation/runtoolcall/"


def test_an_approver_sees_what_would_happen_in_words_and_exactly(approver, waiting):
    page = approver.get(call_page(waiting.call)).text

    assert "Support, on behalf of clerk, wants to call" in page
    assert "Pay back money for an order." in page
    assert "Order 1138: pay back 19.90" in page
    assert "It changes our database, once. If it fails, everything stays as it was." in page
    assert "The gate asks for a decision: A person decides each call of this tool." in page
    assert "Please refund order 1138." in page
    assert "text, 5 characters" in page
    assert 'value="approve"' in page
    assert 'value="deny"' in page


def test_enter_in_the_reason_cannot_approve(approver, waiting):
    page = approver.get(call_page(waiting.call)).text
    approve_form, deny_form = page.split("<form method=")[-2:]
    assert 'value="approve"' in approve_form.split("</form>")[0]
    assert "<textarea" not in approve_form.split("</form>")[0]
    assert 'type="text"' not in approve_form
    assert "<textarea" in deny_form
    assert 'value="approve"' not in deny_form


def test_a_viewer_sees_the_call_without_buttons_and_why(signed_in, waiting):
    page = signed_in("vera", "view_runtoolcall").get(call_page(waiting.call)).text
    assert "Deciding tool calls needs the permission “llm_foundation.decide_toolcall”." in page
    assert 'name="decision"' not in page
    assert 'name="digest"' not in page


def test_what_a_tool_shows_to_its_users_only_is_withheld_from_others(signed_in, waiting):
    page = signed_in("vera", "view_runtoolcall").get(call_page(waiting.call)).text
    assert "Withheld: it may hold what only users of this tool may read." in page
    assert "pay back 19.90" not in page


def test_who_may_not_read_runs_is_not_shown_the_conversation(signed_in, waiting):
    page = signed_in("vera", "view_runtoolcall").get(call_page(waiting.call)).text
    assert "Please refund order 1138." not in page
    assert "Withheld: reading a run needs the permission “llm_foundation.view_run”." in page


def test_deciding_is_enough_to_look(signed_in, here, waiting):
    assert signed_in(here.approver).get(call_page(waiting.call)).status_code == 200


def test_a_stranger_learns_nothing_not_even_whether_the_call_exists(signed_in, waiting):
    stranger = signed_in("stranger", "view_provider")
    unknown = "/admin/llm_foundation/runtoolcall/00000000-0000-0000-0000-000000000000/change/"
    assert stranger.get(call_page(waiting.call)).status_code == 403
    assert stranger.get(unknown).status_code == 403


@pytest.mark.parametrize("object_id", ["00000000-0000-0000-0000-000000000000", "1", "..", "%00"])
def test_there_is_no_page_for_an_unknown_call(approver, object_id):
    assert approver.get(f"/admin/llm_foundation/runtoolcall/{object_id}/change/").status_code == 404
    assert approver.post(f"/admin/llm_foundation/runtoolcall/{object_id}/change/").status_code == 404


@pytest.mark.parametrize("address", ["add/", "{pk}/delete/"])
def test_calls_cannot_be_added_or_deleted(admin_client, waiting, address):
    assert (
        admin_client.get(f"/admin/llm_foundation/runtoolcall/{address.format(pk=waiting.call.pk)}").status_code == 403
    )


def test_hidden_characters_in_arguments_are_shown_and_counted(approver, here):
    waiting = wait_for_refund(here, number="11\u202e38\u200b", amount="5")
    page = approver.get(call_page(waiting.call)).text
    assert '11<span class="llm-hidden" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>38' in page
    assert "4 characters that a screen does not show stand here as their codes" in page  # two here, two in the preview
    assert "\u202e" not in page
    assert "\u200b" not in page


def test_nothing_that_a_model_wrote_is_markup(approver, here):
    attack = '<script>alert(1)</script><img src="https://evil.example/x.png"> [click](https://evil.example)'
    here.model.says(calls("refund_order", number=attack, amount="5"), text(attack))
    run = llm.run("support", attack, user=here.clerk)
    call = run.pending_calls.get()
    deny(approver, call, reason=attack)
    for address in (call_page(call), run_page(run), LIST + "?state=all"):
        page = approver.get(address).text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page or "&lt;script&gt;" in page
        assert "<script>alert" not in page
        assert '<img src="http' not in page
        assert 'href="https://evil' not in page


def test_a_long_text_is_in_a_box_that_scrolls_and_is_whole(approver, here):
    long = "very long " * 20_000
    page = approver.get(call_page(wait_for_refund(here, number=long).call)).text
    assert long.strip() in page
    assert 'class="llm-text" dir="auto" tabindex="0"' in page


def test_a_megabyte_of_arguments_bursts_no_page(approver, here):
    call = wait_for_refund(here, number="x" * 500_000 + "\u200b" * 500_000).call
    for address in (call_page(call), call_page(call).replace("change/", "edit/"), LIST):
        page = approver.get(address)
        assert page.status_code == 200
        assert len(page.content) < 4_000_000
    assert "U+200B ×500000" in approver.get(call_page(call)).text


def test_arguments_that_were_left_out_are_named_with_their_default(approver, here):
    with registry.isolated(TOOLS["find_order"]):

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE)
        def send_message(to: str, urgent: bool = True, tags: list[str] = []) -> str:  # noqa: B006
            """Send it.

            Args:
                to: who gets it.
            """
            return "sent"

        here.model.says(calls("send_message", to="Ann"), text("Sent."))
        call = llm.run("support", "Write to Ann", user=here.clerk).pending_calls.get()
        page = approver.get(call_page(call)).text
    assert "who gets it." in page
    assert "yes or no · not sent by the model: the tool&#x27;s default" in page or (
        "yes or no · not sent by the model: the tool's default" in page
    )
    assert "It takes effect at once. It cannot be taken back, and must not be repeated." in page


def test_a_failed_preview_leaves_only_the_denial(approver, here):
    def broken(number, amount):
        raise RuntimeError("password=hunter2")

    with registry.isolated(TOOLS["find_order"]):

        @tool(effect=Effect.TRANSACTIONAL_WRITE, preview=broken)
        def refund_order(number: str, amount: str) -> str:
            """Pay it back."""
            return "paid"

        waiting = wait_for_refund(here)
        page = approver.get(call_page(waiting.call)).text
        assert "Its preview failed, so nobody can see what the call would do: it can only be denied." in page
        assert 'value="approve"' not in page
        assert 'value="deny"' in page
        assert "hunter2" not in page


def test_calls_of_the_same_turn_are_shown_with_how_far_they_have_come(approver, here):
    here.model.says(
        turn(("refund_order", {"number": "1", "amount": "5"}), ("find_order", {"number": "77"})), text("Done.")
    )
    run = llm.run("support", "Refund order 1", user=here.clerk)
    page = approver.get(call_page(run.pending_calls.get())).text
    assert "Asked for together with it" in page
    siblings = page.split("Asked for together with it")[1]
    assert "number: 77" in siblings
    assert "succeeded" in siblings


def test_earlier_decisions_on_the_same_tool_are_shown_with_their_reasons(approver, here, waiting):
    deny(approver, waiting.call, reason="The receipt is missing.")
    page = approver.get(call_page(wait_for_refund(here, number="2").call)).text
    assert "The receipt is missing." in page.split("Earlier decisions on this tool")[1]


def test_a_decided_call_tells_who_decided_and_what_the_model_was_told(approver, waiting):
    deny(approver, waiting.call, reason="Too much.")
    page = approver.get(call_page(waiting.call)).text
    assert "Denied by approver" in page
    assert "Error: a person denied this call; it was not executed. They said: Too much." in page
    assert 'name="decision"' not in page


def test_a_call_that_needed_nobody_has_a_page_too(approver, here):
    here.model.says(calls("find_order", number="crash"), text("Sorry."))
    run = llm.run("support", "Where is it?", user=here.clerk)
    page = approver.get(call_page(run.calls.get())).text
    assert "This call no longer waits for a decision: failed." in page
    assert "The gate let it run: Every rule agrees." in page
    assert "password=hunter2" in page.split("Only for people")[1]


def test_a_message_that_cannot_be_read_says_so_in_its_place(approver, waiting):
    RunMessage.objects.filter(sequence=1).update(payload_sealed="broken")
    response = approver.get(call_page(waiting.call))
    assert response.status_code == 200
    assert "No key of the ring opens what is stored at" in response.text
    assert "pay back 19.90" in response.text


def test_the_page_of_a_call_takes_as_many_queries_in_a_long_run_as_in_a_short_one(approver, here):
    one, many = (turn(*(("find_order", {"number": str(number)}) for number in range(count))) for count in (1, 20))
    both = turn(("refund_order", {"number": "1", "amount": "5"}), ("refund_order", {"number": "2", "amount": "5"}))
    here.model.says(one, both, many, both)
    short, long = (llm.run("support", "Refund both", user=here.clerk).pending_calls[0] for _ in range(2))
    assert queries(approver, call_page(short)) == queries(approver, call_page(long)) <= 23


def test_our_pages_hold_no_code_and_no_style_of_their_own(approver, waiting):
    for address in (call_page(waiting.call), run_page(waiting.run), LIST, "/admin/llm_foundation/run/"):
        page = approver.get(address).text
        assert "<style" not in page
        assert " style=" not in page
        assert re.findall(r"<script(?![^>]* src=)[^>]*>", page) == []
        assert re.findall(r" on[a-z]+=", page) == []


def test_a_decision_outlives_the_user_who_made_it(approver, admin_client, waiting, here):
    deny(approver, waiting.call)
    here.approver.delete()
    assert "Denied by a deleted user" in admin_client.get(call_page(waiting.call)).text
