"""Approving a call with changed arguments: look first, then approve exactly what was shown."""

import html
import json
import re
from enum import Enum
from typing import Literal

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db import connection

from llm_foundation import llm
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.tools import Effect, registry, tool
from tests.admin.conftest import call_page, wait_for_refund
from tests.practice import TOOLS, calls, text

pytestmark = pytest.mark.django_db(transaction=True)


def page_of(call):
    return f"/admin/llm_foundation/runtoolcall/{call.pk}/edit/"


def look(client, call, **arguments):
    """The first step: type other arguments and see what they would do."""
    typed = {f"argument-{name}": value for name, value in {"number": "1138", "amount": "19.90", **arguments}.items()}
    return client.post(page_of(call), {"digest": call.digest, **typed})


def hidden_fields(page):
    """What the second step posts: the form that the first one has led to."""
    form = page.text.split('class="llm-form llm-verdict"')[1].split("</form>")[0]
    return {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)}


def approve_shown(client, call, page, **changes):
    return client.post(page_of(call), {**hidden_fields(page), "decision": "approve", **changes}, follow=True)


def refunds():
    return list(Group.objects.values_list("name", flat=True))


def four_eyes(here):
    here.configuration.approval_policy = "four_eyes"
    here.configuration.save()


def test_the_arguments_stand_in_fields_that_fit_their_types(approver, waiting):
    page = approver.get(page_of(waiting.call)).text
    assert re.search(r'<input type="text" name="argument-number" value="1138"', page)
    assert re.search(r'<input type="text" name="argument-amount" value="19.90"', page)
    assert page_of(waiting.call) in approver.get(call_page(waiting.call)).text


def test_what_it_would_do_is_shown_before_anything_is_decided(approver, waiting):
    page = look(approver, waiting.call, amount="5.00").text
    assert "Order 1138: pay back 5.00" in page
    before, after = page.index("19.90</div>"), page.index("5.00</div>", page.index("19.90</div>"))
    assert before < after
    assert "Approve with these arguments" in page
    assert not Decision.objects.exists()
    assert refunds() == []


def test_what_was_shown_is_what_runs_and_the_model_is_told(approver, waiting, here):
    page = approve_shown(approver, waiting.call, look(approver, waiting.call, amount="5.00"))
    assert refunds() == ["refund 1138 5.00"]
    assert "You approved “refund_order”. The call: succeeded." in page.text
    decision = Decision.objects.get()
    assert (decision.verdict, decision.edited) == ("approved", {"number": "1138", "amount": "5.00"})
    assert "a person changed the arguments" in here.model.asked[-1]["messages"][-1]["content"]


def test_the_page_of_the_call_says_who_changed_what(approver, waiting):
    approve_shown(approver, waiting.call, look(approver, waiting.call, amount="5.00"))
    page = approver.get(call_page(waiting.call)).text
    assert "Changed by approver. The model had asked for something else:" in page
    assert "5.00" in page.split("Exactly these arguments")[1].split("Changed by")[0]


def test_enter_never_approves(approver, waiting):
    page = look(approver, waiting.call, amount="5.00").text
    for form in page.split("<form ")[1:]:
        form = form.split("</form>")[0]
        if re.search(r'<(input type="(?!hidden|submit)|textarea|select)', form):
            assert 'value="approve"' not in form
    assert 'value="approve"' in page


def test_what_does_not_fit_is_told_at_its_field_and_what_was_typed_is_kept(approver, waiting):
    response = look(approver, waiting.call, amount="lots")
    assert response.status_code == 400
    field = response.text.split('name="argument-amount"')[0].rsplit('class="llm-field', 1)[1]
    assert "llm-field-wrong" in response.text
    assert "errorlist" in field
    assert 'value="lots"' in response.text
    assert 'value="approve"' not in response.text


def test_unchanged_arguments_are_nothing_to_approve_here(approver, waiting):
    page = look(approver, waiting.call).text
    assert "Nothing is changed." in page
    assert 'value="approve"' not in page


def test_under_four_eyes_who_changes_does_not_release(approver, here, signed_in):
    four_eyes(here)
    waiting = wait_for_refund(here)
    shown = look(approver, waiting.call, amount="5.00")
    assert "Four eyes are required: somebody else has to release the call." in shown.text
    page = approve_shown(approver, waiting.call, shown)
    assert "Your changes of “refund_order” are kept. Somebody else has to approve the call." in page.text
    assert refunds() == []
    call = RunToolCall.objects.get()
    assert call.state == "pending"

    barred = approver.get(call_page(call)).text
    assert "you edited the arguments: somebody else has to release the call" in barred
    assert 'value="approve"' not in barred

    eve = signed_in("eve", "change_group", "decide_toolcall")
    eve.post(call_page(call), {"decision": "approve", "digest": call.digest})
    assert refunds() == ["refund 1138 5.00"]


def test_a_page_of_yesterday_decides_nothing(approver, waiting):
    shown = look(approver, waiting.call, amount="5.00")
    RunToolCall.objects.update(digest="k1." + "0" * 64)
    page = approve_shown(approver, waiting.call, shown)
    assert page.status_code == 409
    assert refunds() == []


def test_a_preview_that_has_changed_since_is_shown_again_first(approver, waiting):
    shown = look(approver, waiting.call, amount="5.00")
    page = approve_shown(approver, waiting.call, shown, seen="another")
    assert page.status_code == 409
    assert "what the call would do has changed since it was shown" in page.text
    assert "Approve with these arguments" in page.text
    assert refunds() == []


@pytest.mark.parametrize(
    "arguments",
    ["", "[]", "{", '{"number": "1138", "amount": "lots"}', '{"a": ' * 2000, f'{{"number": {"[" * 500}{"]" * 500}}}'],
)
def test_forged_arguments_decide_nothing(approver, waiting, arguments):
    shown = look(approver, waiting.call, amount="5.00")
    page = approve_shown(approver, waiting.call, shown, arguments=arguments)
    assert page.status_code == 400
    assert RunToolCall.objects.get().state == "pending"


def test_somebody_was_faster(approver, waiting, here):
    shown = look(approver, waiting.call, amount="5.00")
    llm.deny(waiting.call, by=here.approver, digest=waiting.call.digest)
    page = approve_shown(approver, waiting.call, shown)
    assert page.status_code == 409
    assert "approver has decided this call already (denied, " in page.text
    assert refunds() == []


def test_who_may_not_decide_or_not_make_the_call_gets_no_fields(signed_in, waiting):
    for who, permissions in (("vera", ["view_runtoolcall", "change_group"]), ("otto", ["decide_toolcall"])):
        client = signed_in(who, *permissions)
        assert page_of(waiting.call) not in client.get(call_page(waiting.call)).text
        assert 'name="argument-' not in client.get(page_of(waiting.call)).text
        assert look(client, waiting.call, amount="5").status_code == 403
    assert not Decision.objects.exists()


def test_a_stranger_learns_nothing(signed_in, approver, waiting):
    stranger = signed_in("stranger", "view_provider")
    assert stranger.get(page_of(waiting.call)).status_code == 403
    assert look(stranger, waiting.call).status_code == 403
    unknown = "/admin/llm_foundation/runtoolcall/00000000-0000-0000-0000-000000000000/edit/"
    assert approver.get(unknown).status_code == 404


def test_values_of_every_type_come_back_as_what_they_were(approver, here):
    ran = []
    with registry.isolated(TOOLS["find_order"]):

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE)
        def send_message(
            to: str, count: int, price: float, urgent: bool, lines: list[dict[str, int]], note: str | None = None
        ) -> str:
            """Send it."""
            ran.append((to, count, price, urgent, lines, note))
            return "sent"

        sent = {"to": "a\r\nb\u200b", "count": 3, "price": 1.5, "urgent": False, "lines": [{"sku": 1}]}
        here.model.says(calls("send_message", **sent), text("Done."))
        call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
        page = approver.get(page_of(call)).text
        assert 'name="argument-lines"' in page
        typed = {"to": "a\r\nb\u200b", "count": "4", "price": "1.5", "urgent": "true", "lines": '[{"sku": 2}]'}
        posted = {f"argument-{name}": value for name, value in {**typed, "note": ""}.items()}
        shown = approver.post(page_of(call), {"digest": call.digest, **posted})
        written = json.loads(hidden_fields(shown)["arguments"])
        assert written == {**sent, "count": 4, "urgent": True, "lines": [{"sku": 2}]}
        approve_shown(approver, call, shown)
    assert ran == [("a\r\nb\u200b", 4, 1.5, True, [{"sku": 2}], None)]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def test_a_choice_is_offered_as_one_and_may_be_left_empty(approver, here):
    with registry.isolated(TOOLS["find_order"]):

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE)
        def send_message(to: str, colour: Colour = Colour.RED, size: Literal["s", "m"] = "s") -> str:
            """Send it."""
            return "sent"

        here.model.says(calls("send_message", to="Ann", colour="blue", size="m"), text("Done."))
        call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
        page = approver.get(page_of(call)).text
        assert '<select name="argument-colour"' in page
        assert re.search(r'<option value="1" selected>blue</option>', page)
        typed = {"argument-to": "Ann", "argument-colour": "0", "argument-size": ""}
        shown = approver.post(page_of(call), {"digest": call.digest, **typed})
        assert json.loads(hidden_fields(shown)["arguments"]) == {"to": "Ann", "colour": "red"}


def test_broken_json_is_told_at_its_field(approver, here):
    with registry.isolated(TOOLS["find_order"]):

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE)
        def send_message(lines: list[int]) -> str:
            """Send it."""
            return "sent"

        here.model.says(calls("send_message", lines=[1]), text("Done."))
        call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
        page = approver.post(page_of(call), {"digest": call.digest, "argument-lines": "[1,"})
    assert page.status_code == 400
    assert "This is no valid JSON" in page.text
    assert "[1," in page.text


def test_hidden_characters_in_what_was_typed_are_shown_before_approval(approver, waiting):
    page = look(approver, waiting.call, number="11\u202e38").text
    shown = page.split("Change something else")[0]
    assert "U+202E" in shown
    assert "stand here as their codes" in shown
    assert "\u202e" not in shown


def test_nothing_that_was_typed_is_markup(approver, waiting):
    page = look(approver, waiting.call, number='"><script>alert(1)</script>').text
    assert "<script>alert" not in page


def test_the_log_says_what_was_done_without_the_values(approver, waiting):
    approve_shown(approver, waiting.call, look(approver, waiting.call, amount="5.00"))
    assert [entry.get_change_message() for entry in LogEntry.objects.all()] == ["Approved the call."]


def test_it_is_decided_outside_of_the_transaction_of_the_request(approver, waiting, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    approve_shown(approver, waiting.call, look(approver, waiting.call, amount="5.00"))
    assert refunds() == ["refund 1138 5.00"]
