"""The rules of a message, whoever makes it."""

from enum import Enum

import pytest

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, ProviderState, Role, StateOwner, TextPart, ToolCall
from llm_foundation.exceptions import InvalidMessage

CALL = ToolCall(id="call_1", name="find_order", arguments={"number": "2026-1138"})
STATE = ProviderState(
    owner=StateOwner(adapter="openai", base_url="https://a.example", model_family="m", credential_fingerprint="f")
)
IMAGE = ImagePart(url="https://shop.example/cup.png")


def refusal(make, *args, **kwargs):
    with pytest.raises(InvalidMessage) as caught:
        make(*args, **kwargs)
    return caught.value


def test_four_roles_have_their_factories():
    made = [
        ChatMessage.system("Be brief."),
        ChatMessage.user("Where is my order?"),
        ChatMessage.assistant("On its way."),
        ChatMessage.assistant_tool_calls([CALL]),
        ChatMessage.tool_result("call_1", "shipped"),
    ]
    assert [message.role for message in made] == ["system", "user", "assistant", "assistant", "tool"]
    assert [message.text for message in made] == ["Be brief.", "Where is my order?", "On its way.", "", "shipped"]


def test_content_of_a_call_turn_without_text_is_an_empty_string():
    assert ChatMessage.assistant_tool_calls([CALL]).content == ""
    assert ChatMessage.assistant_tool_calls([CALL], None).content == ""


def test_text_beside_calls_is_kept():
    message = ChatMessage.assistant_tool_calls([CALL], "Let me look.")
    assert message.content == "Let me look."
    assert message.tool_calls == (CALL,)


@pytest.mark.parametrize("make", [ChatMessage.system, ChatMessage.user, ChatMessage.assistant])
@pytest.mark.parametrize("content", [None, 5, b"bytes", {"text": "hi"}, [], ["hi"], [{"type": "text", "text": "hi"}]])
def test_content_is_a_string_or_parts_and_never_none(make, content):
    assert refusal(make, content).field == "content"


def test_content_may_be_parts():
    message = ChatMessage.user([TextPart(text="What is "), IMAGE, TextPart(text="this?")])
    assert message.content == (TextPart(text="What is "), IMAGE, TextPart(text="this?"))
    assert message.text == "What is this?"


def test_plain_content_reads_as_one_text_part_and_empty_content_as_none():
    assert ChatMessage.user("hi").parts == (TextPart(text="hi"),)
    assert ChatMessage.user("").parts == ()


@pytest.mark.parametrize("make", [ChatMessage.system, ChatMessage.assistant])
@pytest.mark.parametrize("part", [IMAGE, FilePart(file_id="file-1")])
def test_system_and_assistant_hold_text_only(make, part):
    assert refusal(make, [part]).field == "content"


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_only_an_assistant_message_makes_calls(role):
    error = refusal(ChatMessage._make, role=role, content="", tool_calls=(CALL,), tool_call_id=None)
    assert error.field == "tool_calls"


@pytest.mark.parametrize("calls", [[], (), None, "call_1", [CALL, None], [CALL.to_dict()], 5])
def test_every_call_is_a_tool_call_and_an_empty_list_is_refused(calls):
    assert refusal(ChatMessage.assistant_tool_calls, calls).field == "tool_calls"


@pytest.mark.parametrize("call_id", ["", "  ", None, 5, b"call_1"])
def test_a_tool_message_names_the_call_it_answers(call_id):
    assert refusal(ChatMessage.tool_result, call_id, "ok").field == "tool_call_id"


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_only_a_tool_message_names_a_call(role):
    assert refusal(ChatMessage._make, role=role, content="", tool_call_id="call_1").field == "tool_call_id"


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_only_an_assistant_message_has_provider_state(role):
    error = refusal(ChatMessage._make, role=role, content="", provider_state=STATE)
    assert error.field == "provider_state"


def test_a_broken_provider_state_given_to_a_factory_is_not_shown():
    error = refusal(ChatMessage.assistant, "hi", provider_state={"thinking-signature": "abc"})
    assert error.field == "provider_state"
    assert "signature" not in str(error)
    assert "abc" not in str(error)


def test_lone_surrogates_are_replaced_and_halves_that_belong_together_are_joined():
    assert ChatMessage.user("a\ud83db").content == "a\ufffdb"
    assert ChatMessage.user("\ud83d\ude00").content == "😀"
    assert ChatMessage.tool_result("call_\udc00", "ok").tool_call_id == "call_\ufffd"
    assert TextPart(text="\udfff").text == "\ufffd"
    assert ToolCall(name="f", arguments={"k\ud800": ["\ud800"]}).arguments == {"k\ufffd": ["\ufffd"]}


def test_a_string_of_an_enumeration_counts_as_its_value():
    class Greeting(str, Enum):  # noqa: UP042  # the older spelling is what many projects have
        FORMAL = "Good day."

    message = ChatMessage.user(Greeting.FORMAL)
    assert type(message.content) is str
    assert message.content == "Good day."


def test_a_message_has_no_fields_but_its_own():
    error = refusal(ChatMessage._make, role="user", content="hi", colour="red")
    assert error.field == "colour"


def test_a_role_that_nobody_knows_is_refused():
    assert refusal(ChatMessage._make, role="robot", content="hi").field == "role"


def test_an_iterator_of_parts_or_calls_is_read_once():
    assert ChatMessage.user(TextPart(text=text) for text in "ab").text == "ab"
    assert ChatMessage.assistant_tool_calls(call for call in [CALL]).tool_calls == (CALL,)


def test_roles_print_as_their_names():
    assert f"{Role.USER}" == "user"
