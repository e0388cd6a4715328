"""The OpenAI-compatible form of a message, byte for byte, and the stored form beside it."""

import json

import pytest
from hypothesis import given

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, ProviderState, StateOwner, TextPart, ToolCall
from tests.chat import strategies

OWNER = StateOwner(adapter="openai", base_url="https://a.example", model_family="m", credential_fingerprint="f")


def test_a_plain_message_is_exactly_role_and_content():
    assert ChatMessage.user("hi").to_wire() == {"role": "user", "content": "hi"}
    assert ChatMessage.system("").to_wire() == {"role": "system", "content": ""}
    assert ChatMessage.assistant("yes").to_wire() == {"role": "assistant", "content": "yes"}


def test_arguments_on_the_wire_are_a_json_string():
    call = ToolCall(id="call_1", name="find_order", arguments={"number": "2026-1138", "größe": 1.0})
    assert ChatMessage.assistant_tool_calls([call]).to_wire() == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "find_order", "arguments": '{"number":"2026-1138","größe":1.0}'},
            }
        ],
    }


@pytest.mark.parametrize("arguments", [None, "", " \n", "{}", {}])
def test_empty_arguments_are_an_empty_object_whatever_was_sent(arguments):
    call = ToolCall.from_model(id="call_1", name="ping", arguments=arguments)
    assert call.to_wire()["function"]["arguments"] == "{}"


def test_tool_call_id_is_there_only_when_set():
    assert ChatMessage.tool_result("call_1", "ok").to_wire() == {
        "role": "tool",
        "content": "ok",
        "tool_call_id": "call_1",
    }
    assert "tool_call_id" not in ChatMessage.assistant_tool_calls([ToolCall(id="a", name="f")]).to_wire()


def test_an_endpoint_may_want_an_empty_string_beside_calls():
    message = ChatMessage.assistant_tool_calls([ToolCall(id="a", name="f")])
    assert message.to_wire()["content"] is None
    assert message.to_wire(empty_content="")["content"] == ""


def test_content_beside_calls_stays_where_there_is_some():
    message = ChatMessage.assistant_tool_calls([ToolCall(id="a", name="f")], "Let me look.")
    assert message.to_wire(empty_content="")["content"] == "Let me look."


def test_an_empty_message_without_calls_keeps_its_empty_string():
    assert ChatMessage.assistant("").to_wire(empty_content=None)["content"] == ""


def test_no_tool_calls_key_where_there_are_no_calls():
    assert "tool_calls" not in ChatMessage.assistant("hi").to_wire()


def test_parts_take_the_openai_form():
    message = ChatMessage.user(
        [
            TextPart(text="Compare"),
            ImagePart(url="https://shop.example/cup.png", detail="low"),
            FilePart(data="data:application/pdf;base64,aGk=", filename="offer.pdf"),
            FilePart(file_id="file-1"),
        ]
    )
    assert message.to_wire()["content"] == [
        {"type": "text", "text": "Compare"},
        {"type": "image_url", "image_url": {"url": "https://shop.example/cup.png", "detail": "low"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "offer.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]


def test_provider_state_never_reaches_the_wire():
    state = ProviderState(owner=OWNER, items=({"signature": "opaque-bytes"},), tool_call_bindings={"a": "native-id"})
    message = ChatMessage.assistant_tool_calls([ToolCall(id="a", name="f")], "hi", state)
    wire = json.dumps(message.to_wire())
    assert "provider_state" not in wire
    assert "opaque-bytes" not in wire
    assert "native-id" not in wire


def test_arguments_that_were_no_object_go_back_as_a_valid_one():
    call = ToolCall.from_model(id="a", name="f", arguments='{"city": "Ber')
    arguments = json.loads(call.to_wire()["function"]["arguments"])
    assert arguments == {"INVALID_JSON": '{"city": "Ber'}


def test_the_transcript_holds_everything():
    state = ProviderState(owner=OWNER, items=({"type": "thinking"},), tool_call_bindings={"a": "x"})
    call = ToolCall(id="a", name="f", arguments={"n": 1})
    broken = ToolCall(id="b", name="f", invalid_arguments="{")
    assert ChatMessage.assistant_tool_calls([call, broken], "hi", state).to_transcript() == {
        "role": "assistant",
        "content": "hi",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"n": 1}}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": {}}, "invalid_arguments": "{"},
        ],
        "provider_state": {
            "owner": {
                "adapter": "openai",
                "base_url": "https://a.example",
                "model_family": "m",
                "credential_fingerprint": "f",
            },
            "version": 1,
            "items": [{"type": "thinking"}],
            "tool_call_bindings": {"a": "x"},
        },
    }


@given(strategies.messages)
def test_any_message_survives_the_wire_but_for_its_provider_state(message):
    assert ChatMessage.from_dict(message.to_wire()) == message.model_copy(update={"provider_state": None})
    assert ChatMessage.from_dict(message.to_wire(empty_content="")) == ChatMessage.from_dict(message.to_wire())


@given(strategies.messages)
def test_any_message_survives_the_wire_as_text(message):
    through_text = json.loads(json.dumps(message.to_wire()))
    assert ChatMessage.from_dict(through_text) == message.model_copy(update={"provider_state": None})


@given(strategies.messages)
def test_any_message_survives_storage(message):
    assert ChatMessage.from_dict(message.to_transcript()) == message
    assert ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript()))) == message


@given(strategies.messages)
def test_what_is_written_can_be_encoded(message):
    json.dumps(message.to_wire(), ensure_ascii=False).encode()
    json.dumps(message.to_transcript(), ensure_ascii=False).encode()


@given(strategies.messages)
def test_storage_keeps_key_order_and_number_forms(message):
    stored = json.dumps(message.to_transcript())
    assert json.dumps(ChatMessage.from_dict(json.loads(stored)).to_transcript()) == stored
