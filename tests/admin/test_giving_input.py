"""Filling in what a call needs from a person: a form from the tool's input model."""

import re
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator

from llm_foundation import llm
from llm_foundation.models import Configuration, Decision, Run, RunToolCall
from tests.admin.conftest import asking_for, call_page, run_page
from tests.practice import calls, text

pytestmark = pytest.mark.django_db(transaction=True)


class Channel(Enum):
    POST = "post"
    PHONE = "phone"


class Pickup(BaseModel):
    street: Annotated[str, Field(title="Street and number", min_length=3, description="Where the parcel is.")]
    day: date
    parcels: Annotated[int, Field(ge=1, le=9)] = 1
    insured: bool
    value: Decimal | None = None
    channel: Channel = Channel.POST
    extras: list[Channel] = []
    pin: SecretStr

    @field_validator("street")
    @classmethod
    def known(cls, street):
        if street == "Nowhere 1":
            raise ValueError("Nobody lives there.")
        return street


FILLED = {
    "input-street": "Elm Street 5",
    "input-day": "2026-12-31",
    "input-parcels": "2",
    "input-insured": "true",
    "input-value": "19.90",
    "input-channel": "1",
    "input-extras": ["0", "1"],
    "input-pin": "hunter2",
}


@pytest.fixture(params=[False])
def booked(request, here):
    """What the tool was given."""
    with asking_for(Pickup, approval=request.param) as given:
        yield given


@pytest.fixture
def call(here, booked):
    """A pickup that waits: for an input only, or for an approval as well."""
    here.model.says(calls("send_message", to="Ann"), text("It is booked."))
    return llm.run("support", "Pick it up.", user=here.clerk).pending_calls.get()


approved_as_well = pytest.mark.parametrize("booked", [True], indirect=True)


def fill(client, call, decision, **changes):
    posted = {"gives_input": "yes", "decision": decision, "digest": call.digest, **FILLED, **changes}
    return client.post(call_page(call), posted, follow=True)


def test_the_form_asks_for_each_field_in_its_own_way(approver, call):
    page = approver.get(call_page(call)).text
    assert "Street and number" in page
    assert "Where the parcel is." in page
    assert re.search(r'type="date"[^>]*name="input-day"|name="input-day"[^>]*type="date"', page)
    assert '<select name="input-insured"' in page
    assert '<select name="input-channel"' in page
    assert page.count('type="checkbox" name="input-extras"') == 2
    assert '<input type="password" name="input-pin"' in page
    assert "Parcels (optional)" in page
    assert re.search(r'name="input-parcels" value="1"', page)


def test_an_input_alone_lets_a_call_run_that_waits_for_nothing_else(approver, call, booked):
    page = fill(approver, call, "answer")
    assert page.redirect_chain == [(run_page(call.run), 302)]
    assert "You gave “send_message” its input. The call: succeeded." in page.text
    given = booked[0]
    assert (given.street, given.day, given.parcels, given.insured) == ("Elm Street 5", date(2026, 12, 31), 2, True)
    assert (given.value, given.channel) == (Decimal("19.90"), Channel.PHONE)
    assert given.extras == [Channel.POST, Channel.PHONE]
    assert given.pin.get_secret_value() == "hunter2"


def test_what_is_left_empty_has_its_default(approver, call, booked):
    fill(approver, call, "answer", **{"input-parcels": "", "input-value": "", "input-channel": "", "input-extras": []})
    given = booked[0]
    assert (given.parcels, given.value, given.channel, given.extras) == (1, None, Channel.POST, [])


def test_what_does_not_fit_is_told_at_its_field_and_the_rest_is_kept(approver, call, booked):
    page = fill(approver, call, "answer", **{"input-street": "No", "input-parcels": "12", "input-day": ""})
    assert page.status_code == 400
    for name, sentence in (
        ("street", "Enter at least 3 characters."),
        ("parcels", "This must be 9 or less."),
        ("day", "Fill in this field."),
    ):
        field = next(part for part in page.text.split('class="llm-field') if f'name="input-{name}"' in part)
        assert sentence in field
    assert 'value="12"' in page.text
    assert "hunter2" not in page.text
    assert booked == []
    assert not Decision.objects.exists()


def test_the_words_of_the_models_own_rules_are_shown(approver, call):
    assert "Nobody lives there." in fill(approver, call, "answer", **{"input-street": "Nowhere 1"}).text


def test_enter_only_checks(approver, call, booked):
    page = approver.get(call_page(call)).text
    form = next(part for part in page.split("<form ") if 'name="input-street"' in part).split("</form>")[0]
    assert re.findall(r'type="submit" name="decision" value="(\w+)"', form)[0] == "check"
    page = fill(approver, call, "check")
    assert page.status_code == 200
    assert "The input fits. Nothing is decided yet." in page.text
    assert "Elm Street 5</textarea>" in page.text
    assert fill(approver, call, "check", **{"input-insured": ""}).status_code == 400
    assert booked == []
    assert not Decision.objects.exists()


def test_the_owner_may_give_it_without_the_permission_to_decide(signed_in, call, here, booked):
    owner = signed_in(here.clerk, "view_runtoolcall")
    assert 'name="input-street"' in owner.get(call_page(call)).text
    fill(owner, call, "answer")
    assert len(booked) == 1


def test_others_get_no_form_and_give_nothing(signed_in, call, booked):
    vera = signed_in("vera", "view_runtoolcall")
    assert 'name="input-' not in vera.get(call_page(call)).text
    refused = fill(vera, call, "answer")
    assert refused.status_code == 403
    assert 'name="input-' not in refused.text
    assert booked == []


@approved_as_well
def test_an_approver_gives_the_input_and_the_approval_at_once(approver, call, booked):
    page = approver.get(call_page(call)).text
    assert "It needs an input before it can be approved." in page
    assert "Approve with this input" in page
    fill(approver, call, "approve")
    assert len(booked) == 1
    assert Decision.objects.get().verdict == "approved"


@approved_as_well
def test_an_input_that_is_kept_waits_for_the_approval(signed_in, approver, call, here, booked):
    page = fill(signed_in(here.clerk, "view_runtoolcall"), call, "answer")
    assert "You gave “send_message” its input. The call: waiting for a decision." in page.text
    assert booked == []

    call = RunToolCall.objects.get()
    page = approver.get(call_page(call)).text
    assert "Given by clerk" in page
    assert "Elm Street 5" in page
    assert "hunter2" not in page
    assert "•••••" in page
    approver.post(call_page(call), {"decision": "approve", "digest": call.digest})
    assert len(booked) == 1


@approved_as_well
def test_under_four_eyes_who_gives_the_input_does_not_approve(approver, call, here, booked):
    here.configuration.approval_policy = "four_eyes"
    here.configuration.save()
    page = approver.get(call_page(call)).text
    assert "Approve with this input" not in page
    assert "Somebody else approves the call with it." in page
    fill(approver, call, "approve")  # forged
    assert RunToolCall.objects.get().state == "pending"
    assert booked == []
    assert "you gave the input: somebody else has to release the call" in approver.get(call_page(call)).text


@approved_as_well
def test_an_approval_without_the_input_names_what_is_missing(approver, call, booked):
    page = approver.post(call_page(call), {"decision": "approve", "digest": call.digest})
    assert page.status_code == 400
    assert booked == []
    assert not Decision.objects.exists()


@approved_as_well
def test_arguments_are_changed_and_the_input_given_at_once(approver, call, booked):
    address = call_page(call).replace("change/", "edit/")
    shown = approver.post(address, {"digest": call.digest, "argument-to": "Bob"}).text
    assert 'name="input-street"' in shown
    form = shown.split('class="llm-form llm-verdict"')[1].split("</form>")[0]
    assert re.findall(r'name="decision" value="(\w+)"', form)[0] == "check"
    seen = re.search(r'name="seen" value="(\w+)"', form)[1]
    posted = {"digest": call.digest, "arguments": '{"to": "Bob"}', "seen": seen, **FILLED}

    wrong = approver.post(address, {**posted, "decision": "approve", "input-street": "No"})
    assert wrong.status_code == 400
    assert "Enter at least 3 characters." in wrong.text
    assert booked == []
    assert approver.post(address, {**posted, "decision": "check"}).status_code == 200

    approver.post(address, {**posted, "decision": "approve"})
    assert len(booked) == 1
    assert RunToolCall.objects.get().effective_arguments == {"to": "Bob"}


def test_a_secret_is_nowhere_on_our_pages(approver, call, admin_client):
    fill(approver, call, "answer")
    for address in (call_page(call), run_page(call.run), run_page(call.run).replace("change/", "raw/")):
        page = admin_client.get(address).text
        assert "hunter2" not in page
    assert "Elm Street 5" in admin_client.get(run_page(call.run).replace("change/", "raw/")).text


def test_what_was_typed_is_no_markup(approver, call):
    page = fill(approver, call, "check", **{"input-street": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in page


def test_a_forged_choice_is_refused(approver, call, booked):
    page = fill(approver, call, "answer", **{"input-channel": "99"})
    assert page.status_code == 400
    assert "Select a valid choice" in page.text
    assert booked == []


def test_the_run_waits_for_an_input_and_its_page_leads_there(approver, call):
    assert Run.objects.get().status == "waiting_for_input"
    assert call_page(call) in approver.get(run_page(call.run)).text


def test_a_call_with_changed_arguments_waits_for_more_than_its_input(signed_in, call, here):
    boss = signed_in("boss", "decide_toolcall", "view_runtoolcall")
    inbox = "/admin/llm_foundation/runtoolcall/?state=pending"
    assert "waits for an input only" in boss.get(inbox).text
    Configuration.objects.update(approval_policy="four_eyes")

    llm.approve(call, by=here.approver, digest=call.digest, arguments={"to": "Bob"})

    assert "waits for an input only" not in boss.get(inbox).text
