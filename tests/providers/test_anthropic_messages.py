"""A conversation in the form of the Messages API."""

import json

import pytest

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, TextPart, ToolCall
from llm_foundation.exceptions import InvalidMessage
from tests.providers.anthropic_builders import (
    OPUS_4_8,
    SONNET_4_6,
    assistant,
    make_claude,
    result,
    said,
    used,
    user,
)
from tests.providers.builders import FIND, HELLO, answered, call, make_request, messages_sent, sent

CLAUDE = make_claude()
RULES = ChatMessage.system("Be brief.")


def test_a_plain_conversation_takes_turns():
    turns = [HELLO, ChatMessage.assistant("Hi."), ChatMessage.user("Tea?")]
    assert messages_sent(CLAUDE, *turns) == [user("Hello"), assistant("Hi."), user("Tea?")]


def test_system_messages_go_into_their_own_field():
    body = sent(CLAUDE, make_request(RULES, ChatMessage.system("Be kind."), HELLO))
    assert body["system"] == [said("Be brief."), said("Be kind.")]
    assert body["messages"] == [user("Hello")]


def test_no_system_message_no_field():
    assert "system" not in sent(CLAUDE, make_request(HELLO))


def test_all_results_of_a_turn_come_first_in_one_message_before_what_the_user_says():
    turn = ChatMessage.assistant_tool_calls([call("a", id="1"), call("b", id="2", n=1)], "Let me see.")
    later = [ChatMessage.tool_result("2", "two"), ChatMessage.user("And?"), ChatMessage.tool_result("1", "one")]
    assert messages_sent(CLAUDE, HELLO, turn, *later) == [
        user("Hello"),
        assistant("Let me see.", used("a", id="1"), used("b", id="2", n=1)),
        user(result("1", said("one")), result("2", said("two")), "And?"),
    ]


def test_a_call_without_a_result_gets_one():
    turn = ChatMessage.assistant_tool_calls([call("a", id="1")])
    assert messages_sent(CLAUDE, HELLO, turn)[2] == user(
        result("1", said("Error: this call has no result; it was not completed."))
    )


def test_a_result_without_a_call_is_left_out():
    assert messages_sent(CLAUDE, HELLO, ChatMessage.tool_result("1", "x")) == [user("Hello")]


def test_only_results_without_calls_are_nothing_to_send():
    with pytest.raises(InvalidMessage, match="nothing can be sent"):
        CLAUDE.request(make_request(ChatMessage.tool_result("1", "x")))


def test_neighbours_of_one_role_become_one_message():
    spoken = [HELLO, ChatMessage.user("Tea?"), ChatMessage.assistant("Yes."), ChatMessage.assistant("Green."), HELLO]
    assert messages_sent(CLAUDE, *spoken) == [user("Hello", "Tea?"), assistant("Yes.", "Green."), user("Hello")]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_blank_messages_are_left_out_and_their_neighbours_meet(blank):
    spoken = [HELLO, ChatMessage.assistant(blank), ChatMessage.user("Tea?"), ChatMessage.user(blank)]
    assert messages_sent(CLAUDE, *spoken) == [user("Hello", "Tea?")]


def test_a_result_without_text_has_no_content():
    turn = ChatMessage.assistant_tool_calls([call("a", id="1")])
    assert messages_sent(CLAUDE, HELLO, turn, ChatMessage.tool_result("1", " "))[2] == user(result("1"))


@pytest.mark.parametrize("spoken", [[], [ChatMessage.assistant("Welcome!")]], ids=["system only", "assistant first"])
def test_somebody_opens_a_conversation_that_no_user_opened(spoken):
    body = sent(CLAUDE, make_request(RULES, *spoken, *([HELLO] if spoken else [])))
    assert body["messages"][0] == user("(The conversation begins.)")
    assert body["system"] == [said("Be brief.")]


def test_the_beginning_of_an_answer_stays_last_without_blanks_at_its_end():
    assert messages_sent(CLAUDE, HELLO, ChatMessage.assistant("The answer is \n"))[-1] == assistant("The answer is")


@pytest.mark.parametrize("model", [SONNET_4_6, OPUS_4_8, "claude-haiku-5-5"])
def test_a_model_that_refuses_the_beginning_of_its_answer_is_asked_to_go_on(model):
    spoken = messages_sent(make_claude(model), HELLO, ChatMessage.assistant("The answer is"))
    assert spoken[1:] == [assistant("The answer is"), user("(Please go on.)")]


def test_thinking_and_the_beginning_of_an_answer_exclude_each_other():
    options = {"reasoning_effort": "low"}
    body = sent(CLAUDE, make_request(HELLO, ChatMessage.assistant("The answer is"), options=options))
    assert body["messages"][-1] == user("(Please go on.)")


LATE = ChatMessage.system("Use types.")


def test_late_system_messages_reach_older_models_before_the_conversation():
    body = sent(CLAUDE, make_request(RULES, HELLO, ChatMessage.assistant("Hi."), LATE, ChatMessage.user("Go.")))
    assert body["system"] == [said("Be brief."), said("Use types.")]
    assert body["messages"] == [user("Hello"), assistant("Hi."), user("Go.")]


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        ([HELLO, LATE], ["user", "system"]),
        ([HELLO, LATE, ChatMessage.assistant("Hi."), HELLO], ["user", "system", "assistant", "user"]),
        ([HELLO, ChatMessage.assistant("Hi."), LATE, HELLO], ["user", "assistant", "user", "system"]),
        ([HELLO, LATE, HELLO, LATE], ["user", "system"]),
    ],
    ids=["last", "between turns", "before the user", "in the user's turn"],
)
def test_newer_models_take_late_system_messages_behind_the_users_turn(spoken, expected):
    body = sent(make_claude(OPUS_4_8), make_request(RULES, *spoken))
    assert [entry["role"] for entry in body["messages"]] == expected
    assert body["system"] == [said("Be brief.")]
    late = [entry["content"] for entry in body["messages"] if entry["role"] == "system"]
    assert late[0][0] == said("Use types.")


def test_a_late_system_message_does_not_come_between_calls_and_results():
    turn = ChatMessage.assistant_tool_calls([call("a", id="1")])
    spoken = messages_sent(make_claude(OPUS_4_8), HELLO, turn, LATE, ChatMessage.tool_result("1", "x"))
    assert [entry["role"] for entry in spoken] == ["user", "assistant", "user", "system"]


def test_a_late_system_message_that_finds_no_place_comes_first():
    body = sent(make_claude(OPUS_4_8), make_request(HELLO, ChatMessage.assistant("Hi."), LATE))
    assert body["system"] == [said("Use types.")]


PIXEL = "data:image/png;base64,aGk="
PDF = "data:application/pdf;base64,aGk="


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            ImagePart(url="https://shop.example/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://shop.example/a.png"}},
        ),
        (
            ImagePart(url=PIXEL),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            FilePart(data=PIXEL),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            FilePart(data=PDF, filename="bill.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                "title": "bill.pdf",
            },
        ),
        (
            FilePart.from_bytes("é;1".encode(), media_type="text/csv", filename="t.csv"),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "é;1"},
                "title": "t.csv",
            },
        ),
        (FilePart(file_id="file_1"), {"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
        (
            FilePart(data="data:application/zip;base64,aGk=", filename="a.zip"),
            said("[a file 'a.zip' of type application/zip, which cannot be read here]"),
        ),
        (
            ImagePart(url="data:image/svg+xml;base64,aGk="),
            said("[a file of type image/svg+xml, which cannot be read here]"),
        ),
        (
            FilePart(data="data:text/plain;base64,aGkxY"),
            said("[a file of type text/plain, which cannot be read here]"),
        ),
    ],
)
def test_images_and_files(part, expected):
    assert messages_sent(CLAUDE, ChatMessage.user([TextPart(text="See:"), part])) == [user("See:", expected)]


def test_a_file_that_cannot_be_read_is_named_in_the_answer():
    request = make_request(ChatMessage.user([FilePart(data="data:application/zip;base64,aGk=")]))
    response = answered(CLAUDE, {"type": "message", "content": [said("?")]}, request=request)
    assert response.metadata["dropped_options"] == ["content.application/zip"]


def test_files_in_a_result_stay_in_it():
    turn = ChatMessage.assistant_tool_calls([call("a", id="1")])
    seen = ChatMessage.tool_result("1", [TextPart(text="Here."), ImagePart(url=PIXEL)])
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert messages_sent(CLAUDE, HELLO, turn, seen)[2] == user(result("1", said("Here."), image))


def test_arguments_that_were_no_object_go_back_as_one():
    turn = ChatMessage.assistant_tool_calls([ToolCall(id="1", name="a", invalid_arguments='{"n":')])
    assert messages_sent(CLAUDE, HELLO, turn)[1] == assistant(used("a", id="1", INVALID_JSON='{"n":'))


@pytest.mark.parametrize("foreign", ["functions.get:0", "a b", "é", "x" * 300])
def test_ids_of_other_providers_fit_on_call_and_result_alike(foreign):
    turn = ChatMessage.assistant_tool_calls([call("a", id=foreign)])
    spoken = messages_sent(CLAUDE, HELLO, turn, ChatMessage.tool_result(foreign, "x"))
    made, answer = spoken[1]["content"][0]["id"], spoken[2]["content"][0]["tool_use_id"]
    assert made == answer
    assert made.startswith("call_")
    assert len(made) <= 64


def test_names_outside_the_alphabet_are_mapped_there_and_back():
    tool = FIND.model_copy(update={"name": "shop.find/order"})
    request = make_request(HELLO, ChatMessage.assistant_tool_calls([call("shop.find/order", id="1")]), tools=(tool,))
    body = sent(CLAUDE, request)
    wire = body["tools"][0]["name"]
    assert wire == body["messages"][1]["content"][0]["name"] == "shop_find_order__" + wire[-16:]
    response = answered(CLAUDE, {"type": "message", "content": [used(wire, id="2")]}, request=request)
    assert response.tool_calls[0].name == "shop.find/order"


def test_a_lone_surrogate_never_reaches_the_wire():
    turn = ChatMessage.assistant_tool_calls([call("a", id="1", text="x\ud83d")])
    body = CLAUDE.request(make_request(ChatMessage.user("a\ud83d"), turn)).body
    assert "\\ud83d" not in json.dumps(json.loads(body.decode()))
