"""Rows that cannot be read say so in their place, and break no page."""

import pytest

from llm_foundation import llm
from llm_foundation.models import Decision, RunMessage, RunToolCall
from tests.admin.conftest import approve, call_page, deny, run_page
from tests.practice import calls, text

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/llm_foundation/runtoolcall/"
SEALED = ("arguments_sealed", "edited_sealed", "input_sealed", "preview_sealed", "result_sealed", "detail_sealed")


def break_everything():
    RunToolCall.objects.update(**dict.fromkeys(SEALED, "broken"))
    RunMessage.objects.update(payload_sealed="broken")
    Decision.objects.update(edited_sealed="broken", input_sealed="broken")


def pages_of(call):
    page = call_page(call)
    run = run_page(call.run)
    return [page, page.replace("change/", "resolve/"), run, run.replace("change/", "raw/"), LIST, f"{LIST}?state=all"]


def every_page_opens(client, call):
    """A page may say that it cannot do what it is for; it may not break."""
    for address in pages_of(call):
        assert client.get(address).status_code == 200
    assert client.get(call_page(call).replace("change/", "edit/")).status_code in (200, 409)


@pytest.fixture
def operator(here, signed_in):
    return signed_in(here.approver, "view_run", "view_runtoolcall", "resolve_toolcall", "cancel_run")


def test_a_call_that_waits(operator, waiting):
    break_everything()
    every_page_opens(operator, waiting.call)
    chosen = {"action": "deny_selected", "index": "0", "_selected_action": [str(waiting.call.pk)]}
    assert operator.post(LIST, chosen).status_code == 200
    assert approve(operator, waiting.call).status_code == 409
    deny(operator, waiting.call)
    assert RunToolCall.objects.get().state == "denied"


def test_a_call_that_was_decided(operator, waiting):
    approve(operator, waiting.call)
    break_everything()
    every_page_opens(operator, waiting.call)


def test_a_call_in_doubt(operator, here):
    here.model.says(calls("send_message", to="crash"), text("Sorry."))
    call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
    llm.approve(call, by=here.approver, digest=call.digest)
    break_everything()
    every_page_opens(operator, call)
    told = operator.post(call_page(call).replace("change/", "resolve/"), {"outcome": "happened", "seen": "0.1"})
    assert told.status_code in (302, 409)


def test_without_a_key_ring(operator, waiting, settings):
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "ENCRYPTION_KEYS": []}
    every_page_opens(operator, waiting.call)
