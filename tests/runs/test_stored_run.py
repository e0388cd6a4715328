"""A stored run from question to answer, over real HTTP."""

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import RunToolCall
from tests.practice import calls, desk, text, turn

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_reads_and_answers() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1138"), text("It is on its way."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk)

    assert (run.status, run.termination_reason, run.error) == ("completed", "answered", "")
    assert run.answer == "It is on its way."
    assert here.model.asked[1]["messages"][-1]["content"] == '{"number": "1138", "status": "sent"}'
    assert [message.role for message in run.transcript] == ["user", "assistant", "tool", "assistant"]


def test_a_write_waits_for_a_person_and_then_happens_once() -> None:
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1138", amount="19.90"), text("Refunded."))
        run = llm.run("support", "Refund order 1138", user=here.clerk)

        assert run.status == "waiting_for_approval"
        call = run.pending_calls.get()
        assert call.arguments == {"number": "1138", "amount": "19.90"}
        assert call.preview == {"lines": ["Order 1138: pay back 19.90"], "failed": False}
        assert not Group.objects.exists()

        run = llm.approve(call, by=here.approver, digest=call.digest)

    assert (run.status, run.answer, run.error) == ("completed", "Refunded.", "")
    assert Group.objects.get().name == "refund 1138 19.90"
    assert RunToolCall.objects.get().state == "succeeded"


def test_a_denial_reaches_the_model_with_its_reason_and_nothing_happens() -> None:
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1138", amount="19.90"), text("I may not."))
        run = llm.run("support", "Refund order 1138", user=here.clerk)
        call = run.pending_calls.get()
        run = llm.deny(call, by=here.approver, digest=call.digest, reason="Ask for the receipt first.")

    assert run.status == "completed"
    assert "Ask for the receipt first." in here.model.asked[1]["messages"][-1]["content"]
    assert not Group.objects.exists()


def test_free_calls_of_a_turn_run_while_another_waits() -> None:
    with desk("refund_order", "find_order") as here:
        here.model.says(
            turn(("refund_order", {"number": "1", "amount": "5"}), ("find_order", {"number": "1"})), text("Done.")
        )
        run = llm.run("support", "Refund order 1", user=here.clerk)

        assert [call.state for call in run.calls.order_by("index")] == ["pending", "succeeded"]
        call = run.pending_calls.get()
        run = llm.approve(call, by=here.approver, digest=call.digest)

    assert run.status == "completed"
    results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]
    assert results == ["refunded 5", '{"number": "1", "status": "sent"}']


def test_calls_refused_pending_and_free_in_one_turn_each_go_their_own_way() -> None:
    with desk("find_order", "refund_order", "weather") as here:
        here.model.says(
            turn(
                ("refund_order", {"number": "1", "amount": "5"}),
                ("send_message", {"to": "Ada"}),
                ("find_order", {"number": "1"}),
                ("refund_order", {"number": "2", "amount": "many"}),
                ("weather", {"city": "Oslo"}),
                ("find_order", '{"number": '),
            ),
            text("That is how it went."),
        )
        run = llm.run("support", "Do it all", user=here.clerk)
        states = [(call.state, call.reason) for call in run.calls.order_by("index")]
        call = run.pending_calls.get()
        run = llm.approve(call, by=here.approver, digest=call.digest)
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]

    assert states == [
        ("pending", "asks"),
        ("refused", "not_granted"),
        ("succeeded", "allowed"),
        ("refused", "invalid_arguments"),
        ("succeeded", "allowed"),
        ("refused", "invalid_arguments"),
    ]
    assert (run.status, run.answer) == ("completed", "That is how it went.")
    assert [result.split(":")[0] for result in results] == [
        "refunded 5",
        "Error",
        '{"number"',
        "Error",
        "It rains in Oslo.",
        "Error",
    ]
