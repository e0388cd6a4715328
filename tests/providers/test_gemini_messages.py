"""A conversation as Gemini's contents."""

import pytest

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, TextPart, ToolCall
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.gemini import contents as gemini_contents
from tests.providers.builders import HELLO, call, make_request
from tests.providers.gemini_builders import FLASH_2_5, called, contents_sent, make_gemini, model, result, user

OLD, NEW = make_gemini(FLASH_2_5), make_gemini()
TURN = ChatMessage.assistant_tool_calls([call(number="1138")])
RESULT = ChatMessage.tool_result("call_1", "shipped")
PHOTO = ImagePart(url="data:image/png;base64,aGk=")
CONTINUE = user("Continue.")


def test_a_tool_turn_as_gemini_wants_it():
    assert contents_sent(OLD, ChatMessage.user("Where is order 1138?"), TURN, RESULT) == [
        {"role": "user", "parts": [{"text": "Where is order 1138?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "find_order", "args": {"number": "1138"}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "find_order", "response": {"result": "shipped"}}}],
        },
    ]


def test_calls_of_others_get_googles_placeholder_where_gemini_3_wants_a_signature():
    parallel = ChatMessage.assistant_tool_calls([call(id="a"), call(id="b")], "I look.")
    assert contents_sent(NEW, HELLO, parallel)[1] == model(
        "I look.",
        {"functionCall": {"name": "find_order", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"},
        {"functionCall": {"name": "find_order", "args": {}}},
    )
    assert "thoughtSignature" not in str(contents_sent(OLD, HELLO, parallel))


@pytest.mark.parametrize("id", ["gemini-3-pro-preview", "gemini-flash-latest", "models/gemini-3.7-flash", "gemini-4"])
def test_every_newer_model_is_taken_to_want_one(id):
    assert "skip_thought_signature_validator" in str(contents_sent(make_gemini(id), HELLO, TURN))


def test_results_stand_in_one_content_in_the_order_of_the_calls():
    turn = ChatMessage.assistant_tool_calls([call(id="a"), call("refund", id="b")])
    late = ChatMessage.user("And?")
    sent = contents_sent(OLD, HELLO, turn, late, ChatMessage.tool_result("b", "B"), ChatMessage.tool_result("a", "A"))
    assert sent[2:] == [user(result("find_order", "A"), result("refund", "B")), user("And?")]


def test_a_call_without_a_result_is_answered():
    assert contents_sent(OLD, HELLO, TURN)[2] == user(
        result("find_order", "Error: this call has no result; it was not completed.")
    )


def test_arguments_are_an_object_and_null_stays_null():
    turn = ChatMessage.assistant_tool_calls([call(), call(id="b", note=None)])
    parts = contents_sent(OLD, HELLO, turn)[1]["parts"]
    assert [part["functionCall"]["args"] for part in parts] == [{}, {"note": None}]


def test_arguments_that_were_no_json_go_back_as_a_valid_object():
    cut = ToolCall(id="a", name="find_order", invalid_arguments='{"number": "11')
    [part] = contents_sent(OLD, HELLO, ChatMessage.assistant_tool_calls([cut]))[1]["parts"]
    assert part["functionCall"]["args"] == {"INVALID_JSON": '{"number": "11'}


def test_a_result_is_an_object_whatever_the_tool_said():
    json_like = ChatMessage.tool_result("call_1", '{"status": "shipped"}')
    assert contents_sent(OLD, HELLO, TURN, json_like)[2] == user(result("find_order", '{"status": "shipped"}'))
    assert contents_sent(OLD, HELLO, TURN, ChatMessage.tool_result("call_1", ""))[2] == user(result("find_order", ""))


def test_images_of_results_follow_the_results_in_a_content_of_their_own():
    with_photo = ChatMessage.tool_result("call_1", [TextPart(text="See"), PHOTO])
    assert contents_sent(OLD, HELLO, TURN, with_photo)[2:] == [
        user(result("find_order", "See\n[a file: see below]")),
        user("Files from the tool results above:", {"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
    ]


@pytest.mark.parametrize("history", [(TURN, RESULT), (ChatMessage.system("S"), TURN, RESULT)])
def test_a_history_never_begins_with_a_call(history):
    assert contents_sent(OLD, *history)[:2] == [CONTINUE, model(called(number="1138"))]


def test_a_call_never_follows_what_the_model_said_before():
    assert contents_sent(OLD, HELLO, ChatMessage.assistant("One moment."), TURN)[1:4] == [
        model("One moment."),
        CONTINUE,
        model(called(number="1138")),
    ]


def test_a_conversation_never_ends_with_the_model():
    assert contents_sent(OLD, HELLO, ChatMessage.assistant("Dear"))[1:] == [model("Dear"), CONTINUE]


def test_one_turn_may_follow_the_results_of_another():
    sent = contents_sent(OLD, HELLO, TURN, RESULT, ChatMessage.assistant_tool_calls([call(id="b")]))
    assert [content["role"] for content in sent] == ["user", "model", "user", "model", "user"]


def test_what_says_nothing_is_left_out():
    sent = contents_sent(OLD, HELLO, ChatMessage.assistant(""), ChatMessage.user(""), ChatMessage.user("Still there?"))
    assert sent == [user("Hello"), user("Still there?")]


@pytest.mark.parametrize("messages", [(ChatMessage.user(""),), (ChatMessage.assistant(""),), (RESULT,)])
def test_nothing_at_all_cannot_be_sent(messages):
    with pytest.raises(InvalidMessage, match="messages: hold nothing that could be sent"):
        OLD.request(make_request(*messages))


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (TextPart(text="Look"), {"text": "Look"}),
        (PHOTO, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
        (
            ImagePart(url="https://shop.example/a.webp?v=2"),
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://shop.example/a.webp?v=2"}},
        ),
        (
            ImagePart(url="https://shop.example/photo"),
            {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://shop.example/photo"}},
        ),
        (
            FilePart(data="data:application/pdf;base64,aGk=", filename="a.pdf"),
            {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}},
        ),
        (
            FilePart(file_id="gs://shop/terms", filename="terms.PDF"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://shop/terms"}},
        ),
        (
            FilePart(file_id="https://generativelanguage.googleapis.com/v1beta/files/a1"),
            {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a1"}},
        ),
    ],
)
def test_parts_in_googles_form(part, wire):
    assert contents_sent(OLD, ChatMessage.user([part])) == [user(wire)]


def test_names_that_do_not_fit_are_mapped_on_call_and_result_alike():
    turn = ChatMessage.assistant_tool_calls([call("shop.orders/find")])
    sent = contents_sent(OLD, HELLO, turn, RESULT)
    wire = "shop_orders_find__f80bb2938acbaa7e"
    assert sent[1:] == [model(called(wire)), user(result(wire, "shipped"))]


def test_ids_of_others_stay_here():
    assert "call_1" not in str(contents_sent(NEW, HELLO, TURN, RESULT))


def test_the_next_step_encodes_only_what_is_new(monkeypatch):
    encoded = []
    for name in ("wire_parts", "own_turn", "_response"):
        monkeypatch.setattr(gemini_contents, name, counted(encoded, getattr(gemini_contents, name)))
    question, turn = ChatMessage.user("U"), ChatMessage.assistant_tool_calls([call()], "I look.")
    answers = [ChatMessage.tool_result("call_1", "R")]
    contents_sent(OLD, question)
    assert encoded == [question]
    contents_sent(OLD, question, turn, *answers)
    assert encoded == [question, turn, turn, *answers]
    contents_sent(OLD, question, turn, *answers)
    assert len(encoded) == 4


def counted(encoded, function):
    def counting(message, *rest):
        encoded.append(message)
        return function(message, *rest)

    return counting
