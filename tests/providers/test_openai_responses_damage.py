"""Context that cannot go back as it came: changed since, never valid, or damaged."""

import pytest

from llm_foundation.chat import ChatMessage, ProviderState, ToolCall
from llm_foundation.exceptions import ProviderStateError
from tests.providers.builders import HELLO, make_request
from tests.providers.responses_builders import (
    ADAPTER,
    called,
    replayed,
    responses_adapter,
    said,
    thought,
    turn,
    written,
)

OTHER = responses_adapter(model="gpt-5-mini")


def test_arguments_that_were_no_object_go_back_as_one():
    message = turn(thought(), called(arguments='{"n":'))
    assert replayed(message)[1]["arguments"] == '{"INVALID_JSON":"{\\"n\\":"}'
    assert replayed(turn(called(arguments="")))[0]["arguments"] == "{}"
    assert replayed(turn(called(arguments={"n": 1})))[0]["arguments"] == '{"n":1}'
    assert replayed(turn(called(arguments='{"n": "a\nb"}')))[0]["arguments"] == '{"n":"a\\nb"}'


def test_a_call_without_a_name_does_not_go_back():
    assert replayed(turn(called(""), said("x"))) == [said("x")]


def test_reasoning_that_the_limit_cut_from_what_follows_does_not_go_back():
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert replayed(turn(thought(), **cut)) == []
    assert replayed(turn(thought(), said("x"), thought(id="rs_2"), **cut)) == [thought(), said("x")]


def rewritten(message: ChatMessage, text: str) -> ChatMessage:
    return message.model_copy(update={"content": text})


def test_text_that_was_rewritten_since_replaces_the_text_and_keeps_the_rest():
    message = rewritten(turn(thought(), said("Ask ann@shop.example"), called()), "Ask [removed]")
    reasoning, spoken, made, _ = replayed(message)
    assert (reasoning, made) == (thought(), called())
    assert spoken == said("") | {"content": [{"type": "output_text", "text": "Ask [removed]", "annotations": []}]}


def test_text_that_was_taken_away_takes_its_reasoning_with_it():
    assert replayed(rewritten(turn(thought(), said("secret")), "")) == []
    parts = [thought(), said("a"), thought("g2", id="rs_2"), said("b", id="msg_2"), called()]
    assert replayed(rewritten(turn(*parts), ""))[0] == called()


def test_text_that_was_added_stands_before_the_calls_or_after_lone_reasoning():
    assert replayed(rewritten(turn(thought(), called()), "Added"))[0] == {"role": "assistant", "content": "Added"}
    cut = turn(thought(), status="incomplete")
    assert replayed(rewritten(cut, "Added")) == [thought(), {"role": "assistant", "content": "Added"}]


def test_items_with_one_id_go_back_unless_they_are_one_item_twice():
    twins = [thought("g1"), thought("g2"), said("x")]
    assert replayed(turn(*twins)) == twins
    doubled = turn(thought("g1"), thought("g1"), said("x"))
    assert doubled.provider_state is None
    assert replayed(doubled) == [{"role": "assistant", "content": "x"}]


# --- Damage -----------------------------------------------------------------------------------------------------------
CALL = [ToolCall(id="call_1", name="find_order", arguments={"number": "1"})]
GOOD = called(arguments='{"number":"1"}')


@pytest.mark.parametrize(
    "items",
    [
        ["text"],
        [{}],
        [{"type": ""}, GOOD],
        [{"type": 7}, GOOD],
        [thought() | {"encrypted_content": 7}, GOOD],
        [thought() | {"summary": 7}, GOOD],
        [thought() | {"id": 7}, GOOD],
        [{"type": "message", "content": 7}, GOOD],
        [GOOD | {"name": ""}],
        [GOOD | {"name": "refund_order"}],
        [GOOD | {"call_id": "call_2"}],
        [GOOD | {"call_id": 7}],
        [GOOD | {"arguments": '{"number":"2"}'}],
        [GOOD | {"arguments": "{"}],
        [GOOD | {"arguments": 7}],
        [thought()],
        [GOOD, GOOD],
        [GOOD, called(call_id="call_2")],
        [thought(), thought(), GOOD],
        [written("find_order", "x")],
    ],
)
def test_damaged_context_of_our_own_is_refused_before_any_request(items):
    state = ProviderState(owner=ADAPTER.owner, items=tuple(items))
    message = ChatMessage.assistant_tool_calls(CALL, "x", state)
    with pytest.raises(ProviderStateError, match="nothing was sent"):
        ADAPTER.request(make_request(HELLO, message))
    assert replayed(message, adapter=OTHER)[0] == {"role": "assistant", "content": "x"}


def test_context_with_the_ids_of_another_turn_is_refused():
    state = ProviderState(owner=ADAPTER.owner, items=(GOOD,), tool_call_bindings={"call_9": "call_1"})
    with pytest.raises(ProviderStateError):
        ADAPTER.request(make_request(HELLO, ChatMessage.assistant_tool_calls(CALL, "", state)))


def test_context_of_another_version_is_refused():
    state = ProviderState(owner=ADAPTER.owner, version=2, items=())
    with pytest.raises(ProviderStateError):
        ADAPTER.request(make_request(HELLO, ChatMessage.assistant("x", provider_state=state)))


@pytest.mark.parametrize("items", [None, ()])
def test_bindings_alone_and_an_empty_list_leave_text_and_calls(items):
    state = ProviderState(owner=ADAPTER.owner, items=items, tool_call_bindings={"call_1": "b"})
    assert replayed(ChatMessage.assistant_tool_calls(CALL, "x", state)) == [
        {"role": "assistant", "content": "x"},
        {"type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": '{"number":"1"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "result 0"},
    ]
