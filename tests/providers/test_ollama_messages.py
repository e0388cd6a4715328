"""Conversations on their way to Ollama."""

import pytest

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, TextPart, ToolCall
from llm_foundation.exceptions import InvalidMessage
from tests.providers.builders import HELLO, call, make_request, sent
from tests.providers.ollama_builders import assistant, called, make_ollama, messages_sent, result, user
from tests.providers.ollama_types import objections

OLLAMA = make_ollama()
PNG = ImagePart(url="data:image/png;base64,aGk=")


def test_all_system_messages_reach_the_model_before_everything_else():
    spoken = [ChatMessage.system("Be brief."), HELLO, ChatMessage.system("Be kind."), ChatMessage.assistant("Hi")]
    assert messages_sent(OLLAMA, *spoken, ChatMessage.user("Bye")) == [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        user("Hello"),
        assistant("Hi"),
        user("Bye"),
    ]


def test_system_messages_alone_are_said_by_the_user_because_nobody_would_answer_them():
    assert messages_sent(OLLAMA, ChatMessage.system("Greet."), ChatMessage.system("Now.")) == [user("Greet.\n\nNow.")]


def test_neighbours_of_one_role_are_one_message():
    assert messages_sent(OLLAMA, HELLO, ChatMessage.user("Again")) == [user("Hello\n\nAgain")]


def test_arguments_are_an_object_and_a_result_names_its_call_in_both_ways():
    turn = ChatMessage.assistant_tool_calls([call(number="A1")], "Let me see.")
    assert messages_sent(OLLAMA, HELLO, turn, ChatMessage.tool_result("call_1", "Shipped")) == [
        user("Hello"),
        assistant("Let me see.", tool_calls=[called(id="call_1", number="A1")]),
        result("Shipped", id="call_1"),
    ]


def test_results_of_parallel_calls_stand_in_the_order_of_the_calls():
    turn = ChatMessage.assistant_tool_calls([call(id="a"), call("refund_order", id="b"), call(id="c")])
    results = [ChatMessage.tool_result(id, f"for {id}") for id in ("c", "a")]
    assert messages_sent(OLLAMA, HELLO, turn, *results)[2:] == [
        result("for a", id="a"),
        result("Error: this call has no result; it was not completed.", id="b", name="refund_order"),
        result("for c", id="c"),
    ]


def test_a_call_that_was_no_json_goes_back_as_an_object():
    turn = ChatMessage.assistant_tool_calls([ToolCall(id="a", name="find_order", invalid_arguments='{"numb')])
    assert messages_sent(OLLAMA, HELLO, turn)[1] == assistant(
        tool_calls=[called(id="a", INVALID_JSON='{"numb')],
    )


def test_an_id_of_somebody_else_that_is_too_long_is_the_same_on_call_and_result():
    turn = ChatMessage.assistant_tool_calls([call(id="x" * 900)])
    _, spoken, answered = messages_sent(OLLAMA, HELLO, turn, ChatMessage.tool_result("x" * 900, "r"))
    assert spoken["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert len(answered["tool_call_id"]) <= 64


def test_images_are_bare_base64_beside_the_text():
    message = ChatMessage.user((TextPart(text="What"), PNG, TextPart(text="is it?")))
    body = sent(OLLAMA, make_request(message))
    assert body["messages"] == [{"role": "user", "content": "What\nis it?", "images": ["aGk="]}]
    assert objections(body) == []


def test_an_image_that_is_a_file_is_an_image():
    file = FilePart(data="data:image/jpeg;base64,aGk=", filename="a.jpg")
    assert messages_sent(OLLAMA, ChatMessage.user((file,))) == [{"role": "user", "content": "", "images": ["aGk="]}]


def test_a_text_file_is_read_to_the_model():
    file = FilePart.from_bytes("a,b\n1,ü".encode(), media_type="text/csv", filename="t.csv")
    assert messages_sent(OLLAMA, ChatMessage.user((TextPart(text="Sum"), file))) == [user("Sum\nt.csv:\na,b\n1,ü")]


@pytest.mark.parametrize(
    ("part", "told", "dropped"),
    [
        (
            FilePart(data="data:application/pdf;base64,aGk=", filename="bill.pdf"),
            "[a file 'bill.pdf' of type application/pdf, which cannot be read here]",
            "content.application/pdf",
        ),
        (
            ImagePart(url="https://shop.example/a.png"),
            "[a file of type unknown, which cannot be read here]",
            "content.image_url",
        ),
        (FilePart(file_id="f-1"), "[a file of type unknown, which cannot be read here]", "content.file_id"),
        (
            ImagePart(url="data:image/tiff;base64,aGk="),
            "[a file of type image/tiff, which cannot be read here]",
            "content.image/tiff",
        ),
    ],
)
def test_what_cannot_be_read_is_told_to_the_model_and_to_the_caller(part, told, dropped):
    request = make_request(ChatMessage.user((part,)))
    assert sent(OLLAMA, request)["messages"] == [user(told)]
    assert OLLAMA.dropped_options(request) == (dropped,)


def test_images_of_results_follow_them_as_the_users():
    turn = ChatMessage.assistant_tool_calls([call(id="a"), call(id="b")])
    pictured = ChatMessage.tool_result("a", (TextPart(text="Here"), PNG))
    assert messages_sent(OLLAMA, HELLO, turn, pictured, ChatMessage.tool_result("b", "r"))[2:] == [
        result("Here\n[a file: see below]", id="a"),
        result("r", id="b"),
        {"role": "user", "content": "Files from the tool results above:", "images": ["aGk="]},
    ]


def test_lone_surrogates_never_reach_the_wire():
    turn = ChatMessage.assistant_tool_calls([call(number="\ud83d")])
    body = OLLAMA.request(make_request(HELLO, turn, ChatMessage.tool_result("call_1", "\ude00"))).body
    assert "�" in body.decode()


def test_results_without_their_calls_alone_are_nothing_to_send():
    with pytest.raises(InvalidMessage, match="nothing can be sent"):
        OLLAMA.request(make_request(ChatMessage.tool_result("a", "r")))


def test_a_message_has_the_same_bytes_in_every_request():
    turn = ChatMessage.assistant_tool_calls([call()])
    answered = ChatMessage.tool_result("call_1", "r")
    once = messages_sent(OLLAMA, HELLO, turn, answered)
    assert messages_sent(OLLAMA, HELLO, turn, answered, ChatMessage.assistant("ok"), HELLO)[:3] == once
