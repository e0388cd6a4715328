"""Any JSON whatsoever becomes a valid value, or an error that names the field; nothing else ever comes out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, ProviderState, ToolCall
from llm_foundation.chat.conversation import complete_turns, read_conversation
from llm_foundation.chat.parts import read_part
from llm_foundation.exceptions import InvalidMessage, ProviderStateError
from tests.chat import strategies

wire_forms = strategies.messages.map(ChatMessage.to_wire)
stored_forms = strategies.messages.map(ChatMessage.to_transcript)
written_parts = (strategies.text_parts | strategies.image_parts | strategies.file_parts).map(
    lambda part: part.to_wire()
)
conversations = st.lists(wire_forms | stored_forms, min_size=1, max_size=4)


def read_or_refused(read, data):
    """The value, or ``None`` where it was refused as it should be."""
    try:
        return read(data)
    except InvalidMessage as error:
        assert_names_a_field(error)
        return None


def assert_names_a_field(error):
    assert error.field
    assert error.problem
    assert str(error) == f"{error.field}: {error.problem}"
    assert str(error).isprintable()
    assert len(str(error)) < 500


def assert_sound(message):
    """It says the same after every way out and in."""
    assert ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript(), allow_nan=False))) == message
    json.dumps(message.to_wire(), ensure_ascii=False, allow_nan=False).encode()
    assert ChatMessage.from_dict(message.to_wire()).tool_calls == message.tool_calls


@given(strategies.any_json)
def test_any_json_is_a_message_or_refused(data):
    read_or_refused(ChatMessage.from_dict, data)
    read_or_refused(ChatMessage.from_untrusted, data)


@given(strategies.near_valid(wire_forms | stored_forms))
def test_a_nearly_valid_message_is_a_message_or_refused(data):
    message = read_or_refused(ChatMessage.from_dict, data)
    if message is not None:
        assert_sound(message)


@given(strategies.near_valid(wire_forms | stored_forms))
def test_a_nearly_valid_message_of_a_client_is_words_or_refused(data):
    message = read_or_refused(lambda given: ChatMessage.from_untrusted(given, assistant_text=True), data)
    if message is not None:
        assert message.tool_calls == ()
        assert message.provider_state is None


@given(strategies.any_json | strategies.near_valid(strategies.tool_calls.map(ToolCall.to_dict)))
def test_any_json_is_a_call_or_refused(data):
    call = read_or_refused(ToolCall.from_dict, data)
    if call is not None:
        assert ToolCall.from_dict(json.loads(json.dumps(call.to_dict(), allow_nan=False))) == call


@given(strategies.any_json | strategies.near_valid(written_parts))
def test_any_json_is_a_part_or_refused(data):
    part = read_or_refused(read_part, data)
    if part is not None:
        assert read_part(part.to_wire()) == part


@given(strategies.any_json | strategies.near_valid(conversations))
def test_any_json_is_a_conversation_or_refused(data):
    messages = read_or_refused(read_conversation, data)
    if messages is not None:
        for message in complete_turns(messages):
            assert_sound(message)


@given(strategies.any_json | strategies.near_valid(strategies.provider_states.map(ProviderState.to_dict)))
def test_any_json_is_provider_state_or_refused_with_one_fixed_text(data):
    try:
        state = ProviderState.from_dict(data)
    except ProviderStateError as error:
        texts = {str(error), str(ProviderStateError())}
        assert len(texts) == 1
    else:
        assert ProviderState.from_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))) == state


@pytest.mark.parametrize("depth", [100, 5_000, 200_000])
@pytest.mark.parametrize("read", [ChatMessage.from_dict, ToolCall.from_dict, read_part, read_conversation])
def test_json_nested_without_end_is_refused(read, depth):
    deep = strategies.nested(depth)
    for data in (deep, {"role": deep}, {"role": "user", "content": deep}, {"type": deep}, {"function": deep}, [deep]):
        with pytest.raises(InvalidMessage):
            read(data)
