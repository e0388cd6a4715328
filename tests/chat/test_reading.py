"""OpenAI-style dicts at the door: what is read, and how a wrong shape is named."""

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
    Function,
)

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, TextPart, ToolCall
from llm_foundation.chat.parts import read_part
from llm_foundation.exceptions import InvalidMessage, ProviderStateError
from tests.chat.strategies import nested

CALL = {"id": "call_1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}


def refusal(data):
    with pytest.raises(InvalidMessage) as caught:
        ChatMessage.from_dict(data)
    return caught.value


def test_null_content_beside_calls_is_an_empty_string():
    for entry in ({"content": None}, {}):
        message = ChatMessage.from_dict({"role": "assistant", "tool_calls": [CALL], **entry})
        assert message == ChatMessage.assistant_tool_calls([ToolCall(id="call_1", name="ping")])


def test_the_developer_role_is_a_system_prompt():
    assert ChatMessage.from_dict({"role": "developer", "content": "Be brief."}) == ChatMessage.system("Be brief.")


def test_a_refusal_is_what_the_model_said_where_it_said_nothing_else():
    spoken = {"role": "assistant", "refusal": "I cannot help with that."}
    assert ChatMessage.from_dict({**spoken, "content": None}).text == "I cannot help with that."
    assert ChatMessage.from_dict({**spoken, "content": ""}).text == "I cannot help with that."
    part = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    assert ChatMessage.from_dict(part).text == "I cannot."


@pytest.mark.parametrize(
    "message",
    [
        ChatCompletionMessage(role="assistant", content="hi"),
        ChatCompletionMessage(
            role="assistant",
            content=None,
            tool_calls=[
                ChatCompletionMessageFunctionToolCall(
                    id="call_1", type="function", function=Function(name="ping", arguments="")
                )
            ],
        ),
        ChatCompletionMessage(role="assistant", content=None, refusal="no", annotations=[]),
    ],
)
def test_a_dumped_message_of_the_official_client_is_read(message):
    for dumped in (message.model_dump(), message.model_dump(exclude_none=True), message.to_dict()):
        read = ChatMessage.from_dict(dumped)
        assert read.text == (message.content or message.refusal or "")
        assert [call.name for call in read.tool_calls] == [call.function.name for call in message.tool_calls or []]


@pytest.mark.parametrize(
    "context",
    [
        {"reasoning_content": "They ask where it is."},
        {"reasoning": "They ask where it is."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "They ask.", "signature": "abc"}]},
        {"annotations": [{"type": "url_citation", "url_citation": {"url": "https://shop.example"}}]},
        {"parsed": {"answer": "hi"}},
        {"prefix": False, "function_call": None, "audio": None, "name": None},
        {"function_call": {"name": "", "arguments": ""}, "audio": {"id": "", "data": "", "expires_at": 0}},
    ],
)
def test_of_a_turn_made_elsewhere_the_visible_text_and_the_calls_are_read(context):
    read = ChatMessage.from_dict({"role": "assistant", "content": "hi", "tool_calls": [CALL], **context})
    assert read == ChatMessage.assistant_tool_calls([ToolCall(id="call_1", name="ping")], "hi")


def test_thinking_between_the_parts_of_an_answer_is_no_visible_text():
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "144"},
    ]
    assert ChatMessage.from_dict({"role": "assistant", "content": content}).content == (TextPart(text="144"),)
    assert ChatMessage.from_dict({"role": "assistant", "content": content[:1]}).content == ""
    assert refusal({"role": "user", "content": content}).field == "content[0].type"


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        ({"audio": {"id": "audio_1"}}, "audio"),
        ({"name": "Ada"}, "name"),
        ({"prefix": True}, "prefix"),
        ({"weight": 1}, "weight"),
    ],
)
def test_what_would_be_lost_is_refused_and_named(extra, field):
    assert refusal({"role": "assistant", "content": "hi", **extra}).field == field


@pytest.mark.parametrize("field", ["refusal", "reasoning_content", "annotations", "parsed"])
def test_only_an_assistant_leaves_the_marks_of_a_model(field):
    assert refusal({"role": "user", "content": "hi", field: "x"}).field == field


def test_a_result_may_repeat_the_name_of_its_tool():
    result = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
    assert ChatMessage.from_dict({**result, "name": "ping"}) == ChatMessage.tool_result("call_1", "ok")
    assert ChatMessage.from_dict({**result, "tool_name": "ping"}) == ChatMessage.tool_result("call_1", "ok")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "message"),
        ("hi", "message"),
        ([], "message"),
        (5, "message"),
        ({}, "role"),
        ({"role": None, "content": "hi"}, "role"),
        ({"role": 1, "content": "hi"}, "role"),
        ({"role": ["user"], "content": "hi"}, "role"),
        ({"role": "robot", "content": "hi"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": None}, "content"),
        ({"role": "assistant", "content": None}, "content"),
        ({"role": "assistant", "content": None, "tool_calls": None}, "content"),
        ({"role": "user", "content": 5}, "content"),
        ({"role": "user", "content": {"type": "text"}}, "content"),
        ({"role": "user", "content": []}, "content"),
        ({"role": "user", "content": ["hi"]}, "content[0]"),
        ({"role": "user", "content": [{"text": "hi"}]}, "content[0].type"),
        ({"role": "user", "content": [{"type": "video"}]}, "content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, "content[0].text"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "content[0].text"),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}, None]}, "content[1]"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "content[0].image_url"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "content[0].image_url.url"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": "ftp://x/y"}]}, "content[0].image_url.url"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y", "detail": "huge"}}]},
            "content[0].image_url.detail",
        ),
        ({"role": "user", "content": [{"type": "file", "file": "x"}]}, "content[0].file"),
        ({"role": "user", "content": [{"type": "file", "file": {}}]}, "content[0].file"),
        ({"role": "user", "content": [{"type": "file", "file": {"file_data": "x"}}]}, "content[0].file.file_data"),
        ({"role": "user", "content": [{"type": "text", "text": "hi", "bold": True}]}, "content[0].bold"),
        ({"role": "assistant", "content": "", "tool_calls": []}, "tool_calls"),
        ({"role": "assistant", "content": "", "tool_calls": {}}, "tool_calls"),
        ({"role": "assistant", "content": "", "tool_calls": ["x"]}, "tool_calls[0]"),
        ({"role": "assistant", "content": "", "tool_calls": [CALL, {"id": "b"}]}, "tool_calls[1].function"),
        (
            {"role": "assistant", "content": "", "tool_calls": [{"id": "b", "function": {"name": ""}}]},
            "tool_calls[0].function.name",
        ),
        ({"role": "user", "content": "", "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "tool", "content": "ok"}, "tool_call_id"),
        ({"role": "tool", "content": "ok", "tool_call_id": ""}, "tool_call_id"),
        ({"role": "tool", "content": "ok", "tool_call_id": 7}, "tool_call_id"),
        ({"role": "user", "content": "ok", "tool_call_id": "call_1"}, "tool_call_id"),
        ({"role": "assistant", "content": "ok", "provider_state": {"items": []}}, "provider_state"),
        ({"role": "assistant", "content": "ok", "provider_state": "x"}, "provider_state"),
        ({"role": "user", "content": "ok", "reactions": ["+1"]}, "reactions"),
        ({"role": "user", "content": "ok", "deep": nested(5_000)}, "deep"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(data, field):
    error = refusal(data)
    assert error.field == field
    assert str(error).startswith(f"{field}: ")


def test_malformed_provider_state_is_both_an_invalid_message_and_unusable_context():
    error = refusal({"role": "assistant", "content": "ok", "provider_state": {"secret-signature": "abc"}})
    assert isinstance(error, ProviderStateError)
    assert error.inside("messages[2]").field == "messages[2].provider_state"
    assert isinstance(error.inside("messages[2]"), ProviderStateError)
    assert "signature" not in str(error)
    assert str(error).startswith("provider_state: ")


def test_hostile_names_are_shown_in_one_short_printable_line():
    error = refusal({"role": "user", "content": "hi", "a\nb\ud800\u202e" + "x" * 10_000: 1})
    assert error.field.isprintable()
    assert len(str(error)) < 300
    error = refusal({"role": "\n" + "r" * 10_000, "content": "hi"})
    assert str(error).isprintable()
    assert len(str(error)) < 300


def test_an_image_may_be_a_plain_address_or_an_object():
    expected = ImagePart(url="https://shop.example/cup.png")
    assert read_part({"type": "image_url", "image_url": "https://shop.example/cup.png"}) == expected
    assert read_part({"type": "image_url", "image_url": {"url": "https://shop.example/cup.png"}}) == expected


def test_a_part_that_is_one_already_stays():
    part = TextPart(text="hi")
    assert read_part(part) is part


def test_hints_for_a_cache_are_no_content():
    hinted = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    assert read_part(hinted) == TextPart(text="hi")


def test_a_file_has_either_data_or_an_id():
    both = {"file_data": "data:application/pdf;base64,aGk=", "file_id": "file-1"}
    with pytest.raises(InvalidMessage, match="either") as caught:
        read_part({"type": "file", "file": both})
    assert caught.value.field == "file"
    assert read_part({"type": "file", "file": {"file_id": "file-1"}}) == FilePart(file_id="file-1")


@pytest.mark.parametrize("url", ["data:image/png;base64,", "data:image/png;base64,a b", "data:text/html;base64,aGk="])
def test_a_data_url_that_no_provider_could_read_is_refused(url):
    with pytest.raises(InvalidMessage) as caught:
        read_part({"type": "image_url", "image_url": {"url": url}})
    assert caught.value.field == "image_url.url"


def test_bytes_become_a_data_url():
    assert ImagePart.from_bytes(b"hi", media_type="image/png").url == "data:image/png;base64,aGk="
    made = FilePart.from_bytes(b"hi", media_type="application/pdf", filename="offer.pdf")
    assert made == FilePart(data="data:application/pdf;base64,aGk=", filename="offer.pdf")
