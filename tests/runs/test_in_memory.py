"""The loop for callers who keep the conversation themselves."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.exceptions import InvalidMessage, RateLimited, ToolApprovalRequired
from llm_foundation.loop.limits import Limit
from llm_foundation.models import Configuration, Run, ToolRecord, sync_tools
from llm_foundation.tools import DataClass, Effect, registry, tool
from tests.loopback import answer
from tests.practice import calls, desk, text, turn

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_model_calls_tools_until_it_answers_and_nothing_is_stored() -> None:
    with desk("find_order", "weather") as here:
        here.model.says(turn(("find_order", {"number": "1"}), ("weather", {"city": "Oslo"})), text("It rains on it."))
        result = llm.run_in_memory("support", "Where is order 1?", user=here.clerk)

    assert result.answer == "It rains on it."
    assert result.truncated is None
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [message.text for message in result.messages[2:4]] == [
        '{"number": "1", "status": "sent"}',
        "It rains in Oslo.",
    ]
    assert (result.usage.input_tokens, result.usage.output_tokens, result.counters.rounds) == (200, 40, 2)
    assert not Run.objects.exists()


def test_a_run_of_two_steps_asks_the_database_three_times(django_assert_num_queries: Any) -> None:
    """For the configuration, for what may be offered, and for what the gate has to know of the call."""
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"), text("It is on its way."))
        with django_assert_num_queries(3):
            llm.run_in_memory("support", "Where is order 1?")


def test_what_the_operator_switches_off_is_off_from_the_next_step_on() -> None:
    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def closing_time() -> str:
            ToolRecord.objects.filter(name="closing_time").update(enabled=False)
            return "At six."

        sync_tools(registry.declared())
        here.configuration.tools.add(ToolRecord.objects.get(name="closing_time"))
        here.model.says(calls("closing_time"), calls("closing_time"), text("At six."))
        result = llm.run_in_memory("support", "When do you close?", user=here.clerk)
    results = [message.text for message in result.messages if message.role == "tool"]
    assert results == ["At six.", "Error: The tool is switched off."]


def test_a_call_that_needs_a_person_is_handed_to_the_caller_after_the_free_ones_ran() -> None:
    with desk("refund_order", "find_order") as here:
        here.model.says(turn(("refund_order", {"number": "1", "amount": "5"}), ("find_order", {"number": "1"})))
        with pytest.raises(ToolApprovalRequired) as caught:
            llm.run_in_memory("support", "Refund order 1", user=here.clerk)

    assert [call.name for call in caught.value.pending] == ["refund_order"]
    *_, turn_of_calls, result = caught.value.messages
    assert turn_of_calls.tool_calls[0].arguments == {"number": "1", "amount": "5"}
    assert (result.tool_call_id, result.text) == (turn_of_calls.tool_calls[1].id, '{"number": "1", "status": "sent"}')
    assert not Group.objects.exists()


def test_a_conversation_that_ends_with_the_models_own_word_asks_nothing() -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, I am Ada."}]
    with desk("find_order") as here:
        for start in (llm.run_in_memory, llm.run):
            with pytest.raises(InvalidMessage) as caught:
                start("support", said, user=here.clerk)
            assert str(caught.value) == "messages[1]: asks nothing: the model has answered already"
    assert not Run.objects.exists()


def test_unattended_offers_only_what_never_pauses() -> None:
    with desk("refund_order", "find_order", "send_message", "weather") as here:
        ToolRecord.objects.filter(name="weather").update(always_ask=True)
        here.model.says(text("I can only look."))
        result = llm.run_in_memory("support", "Refund order 1", user=here.clerk, unattended=True)
        offered = [entry["function"]["name"] for entry in here.model.asked[0]["tools"]]
    assert offered == ["find_order"]
    assert {decision.tool: decision.reason for decision in result.refused}["refund_order"] == "unattended"


def test_without_granted_tools_it_is_a_plain_completion() -> None:
    with desk() as here:
        here.model.says(text("Hello."))
        assert llm.run_in_memory("support", "Hi", user=here.clerk).answer == "Hello."
        assert "tools" not in here.model.asked[0]
        assert "tool_choice" not in here.model.asked[0]


def test_a_reached_limit_still_gives_an_answer_and_says_which() -> None:
    with desk("find_order") as here:
        Configuration.objects.update(max_rounds=2)
        here.model.says(calls("find_order", number="1"), calls("find_order", number="2"), text("Not found."))
        result = llm.run_in_memory("support", "Where is it?", user=here.clerk)
        last = here.model.asked[2]

    assert (result.answer, result.truncated) == ("Not found.", Limit.ROUNDS)
    assert last["tool_choice"] == "none"
    assert [entry["function"]["name"] for entry in last["tools"]] == ["find_order"]


def test_tools_that_were_asked_for_and_not_offered_are_named_with_the_reason() -> None:
    with desk("find_order") as here:
        here.model.says(text("Hello."))
        result = llm.run_in_memory("support", "Hi", user=here.clerk, tools=["rocket", "refund_order", "find_order"])
    assert {decision.tool: decision.reason for decision in result.refused} == {
        "rocket": "unknown",
        "refund_order": "not_granted",
    }


def test_a_provider_error_is_raised_as_it_is() -> None:
    with desk("find_order") as here:
        here.model.says(answer(json={"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "7"}))
        with pytest.raises(RateLimited) as caught:
            llm.run_in_memory("support", "Hi", user=here.clerk)
    assert (caught.value.provider, caught.value.model, caught.value.retry_after) == ("practice", "practice", 7)


def test_a_failed_transactional_tool_leaves_nothing_behind() -> None:
    with desk("refund_order") as here:
        from tests.practice import TOOLS

        free = _free(TOOLS["refund_order"])
        here.model.says(calls("refund_order", number="crash", amount="5"), text("It failed."))
        with free:
            result = llm.run_in_memory("support", "Refund", user=here.clerk)
    assert "changed nothing" in result.messages[2].text
    assert not Group.objects.exists()


def test_a_conversation_can_be_carried_on_from_its_messages() -> None:
    with desk("find_order") as here:
        here.model.says(text("Hello, I am Ada."), text("Ada."))
        first = llm.run_in_memory("support", "Who are you?", user=here.clerk)
        llm.run_in_memory("support", [*first.messages, ChatMessage.user("Say it again")], user=here.clerk)
        roles = [message["role"] for message in here.model.asked[1]["messages"]]
    assert roles == ["user", "assistant", "user"]


async def test_the_async_twin_does_the_same() -> None:
    enter = desk("find_order", "weather")
    here = await sync_to_async(enter.__enter__)()
    try:
        here.model.says(turn(("find_order", {"number": "1"}), ("weather", {"city": "Oslo"})), text("It rains on it."))
        result = await llm.arun_in_memory("support", "Where is order 1?", user=here.clerk)
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    assert result.answer == "It rains on it."
    assert [message.text for message in result.messages[2:4]] == [
        '{"number": "1", "status": "sent"}',
        "It rains in Oslo.",
    ]


async def test_an_async_stored_run_waits_is_approved_and_ends() -> None:
    enter = desk("refund_order")
    here = await sync_to_async(enter.__enter__)()
    try:
        here.model.says(calls("refund_order", number="1", amount="5"), text("Refunded."))
        run = await llm.arun("support", "Refund order 1", user=here.clerk)
        call = await run.pending_calls.aget()
        run = await llm.aapprove(call, by=here.approver, digest=call.digest)
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    assert run.status == "completed"
    assert await Group.objects.aget()


def _free(declared):  # type: ignore[no-untyped-def]
    """The registry with a variant of this tool that runs without asking."""
    from dataclasses import replace

    from llm_foundation.tools import registry

    return registry.isolated(replace(declared, approval=False))
