"""A run as a file of JSON."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from llm_foundation import llm
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.models import RunMessage, RunToolCall
from tests.admin.conftest import approve, run_page
from tests.practice import calls, text, turn

pytestmark = pytest.mark.django_db(transaction=True)


def raw(client, run):
    return client.get(f"/admin/llm_foundation/run/{run.pk}/raw/")


def test_it_holds_the_run_its_messages_calls_decisions_and_events(approver, waiting):
    approve(approver, waiting.call)
    written = raw(approver, waiting.run).json()
    assert (written["run"]["status"], written["run"]["owner"]) == ("completed", "clerk")
    assert written["messages"][0]["message"]["content"] == "Please refund order 1138."
    call = written["calls"][0]
    assert call["call"]["function"]["arguments"] == {"number": "1138", "amount": "19.90"}
    assert call["preview"]["lines"] == ["Order 1138: pay back 19.90"]
    assert call["result"] == "refunded 19.90"
    assert (written["decisions"][0]["verdict"], written["decisions"][0]["decider"]) == ("approved", "approver")
    assert "run.started" in [event["kind"] for event in written["events"]]


def test_it_is_a_file_that_no_browser_runs(approver, here):
    here.model.says(text("<script>alert(1)</script> \u202e"))
    run = llm.run("support", "Hello", user=here.clerk)
    response = raw(approver, run)
    assert response["Content-Type"] == "application/json"
    assert response["Content-Disposition"] == f'attachment; filename="run-{run.pk}.json"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "\u202e" not in response.text
    assert "\\u202e" in response.text


def test_one_click_from_the_run(approver, waiting):
    assert f"/admin/llm_foundation/run/{waiting.run.pk}/raw/" in approver.get(run_page(waiting.run)).text


def test_it_needs_the_permission_to_read_runs(signed_in, waiting):
    assert raw(signed_in("vera", "view_runtoolcall", "decide_toolcall"), waiting.run).status_code == 403


def test_there_is_none_for_an_unknown_run(approver):
    address = "/admin/llm_foundation/run/00000000-0000-0000-0000-000000000000/raw/"
    assert approver.get(address).status_code == 404


def test_a_preview_is_withheld_from_who_may_not_use_the_tool(signed_in, waiting):
    written = raw(signed_in("vera", "view_run"), waiting.run).json()
    assert "pay back" not in json.dumps(written["calls"])
    assert written["calls"][0]["preview"] == {
        "withheld": "Withheld: it may hold what only users of this tool may read."
    }


def test_it_holds_no_secret_no_seal_and_no_state_of_a_provider(approver, waiting, here):
    owner = StateOwner(adapter="practice", base_url="", model_family="", credential_fingerprint="fingerprint")
    state = ProviderState(owner=owner, items=({"thought": "encrypted-reasoning"},))
    row = RunMessage.objects.order_by("sequence").last()
    RunMessage.objects.filter(pk=row.pk).update(
        payload_sealed=RunMessage.payload.seal(row, ChatMessage.assistant("Hm.", provider_state=state).to_transcript())
    )
    response = raw(approver, waiting.run).text
    assert "Hm." in response
    assert "encrypted-reasoning" not in response
    assert "fingerprint" not in response
    assert waiting.call.digest not in response
    assert "sealed" not in response
    assert '"lease' not in response


def test_rows_that_cannot_be_read_say_so_in_their_place(approver, waiting):
    RunMessage.objects.filter(sequence=1).update(payload_sealed="broken")
    RunToolCall.objects.update(arguments_sealed="broken")
    written = raw(approver, waiting.run).json()
    assert "No key of the ring opens" in written["messages"][0]["message"]["unreadable"]
    assert "No key of the ring opens" in written["calls"][0]["call"]["unreadable"]
    assert written["messages"][1]["message"]["role"] == "assistant"


def test_it_takes_as_many_queries_for_a_long_run_as_for_a_short_one(approver, here):
    look_up = turn(*(("find_order", {"number": str(number)}) for number in range(10)))
    here.model.says(calls("find_order", number="1"), text("Done."), *[look_up] * 3, text("Done."))

    def cost():
        run = llm.run("support", "Look it up", user=here.clerk)
        with CaptureQueriesContext(connection) as seen:
            assert raw(approver, run).status_code == 200
        return len(seen)

    assert cost() == cost()
