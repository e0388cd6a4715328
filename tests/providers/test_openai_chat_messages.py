"""A conversation as it stands on the wire."""

import json

import pytest

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, TextPart, ToolCall
from tests.providers.builders import HELLO, call, make_adapter, make_request, messages_sent

PHOTO = ImagePart(url="https://shop.example/a.png")
TURN = ChatMessage.assistant_tool_calls([call(number="1138")])
RESULT = ChatMessage.tool_result("call_1", "shipped")


def test_a_tool_turn_as_openai_wants_it():
    question = ChatMessage.user("Where is order 1138?")
    assert messages_sent(make_adapter(), ChatMessage.system("Be brief."), question, TURN, RESULT) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is order 1138?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "find_order", "arguments": '{"number":"1138"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "shipped"},
    ]


def test_empty_arguments_are_an_object():
    [turn, _] = messages_sent(make_adapter(), ChatMessage.assistant_tool_calls([call()]))
    assert turn["tool_calls"][0]["function"]["arguments"] == "{}"


def test_arguments_that_were_no_json_go_back_as_a_valid_object():
    cut = ToolCall(id="call_1", name="find_order", invalid_arguments='{"number": "11')
    [turn, _] = messages_sent(make_adapter(), ChatMessage.assistant_tool_calls([cut]))
    assert json.loads(turn["tool_calls"][0]["function"]["arguments"]) == {"INVALID_JSON": '{"number": "11'}


def test_text_beside_calls_is_kept():
    [turn, _] = messages_sent(make_adapter(), ChatMessage.assistant_tool_calls([call()], "I look it up."))
    assert turn["content"] == "I look it up."


@pytest.mark.parametrize(
    ("profile", "content"),
    [("openai", None), ("custom", None), ("vllm", None), ("mistral", ""), ("lm_studio", ""), ("ollama", "")],
)
def test_what_stands_beside_calls_without_text_is_the_endpoints_choice(profile, content):
    assert messages_sent(make_adapter(profile), TURN)[0]["content"] == content


def test_an_empty_tool_calls_list_never_goes_out():
    assert messages_sent(make_adapter(), HELLO, ChatMessage.assistant("Hi")) == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
    ]


def test_results_follow_their_turn_in_the_order_of_the_calls():
    turn = ChatMessage.assistant_tool_calls([call(id="a"), call(id="b")])
    late = ChatMessage.user("And?")
    sent = messages_sent(
        make_adapter(), turn, late, ChatMessage.tool_result("b", "B"), ChatMessage.tool_result("a", "A")
    )
    assert [(m["role"], m.get("tool_call_id")) for m in sent] == [
        ("assistant", None),
        ("tool", "a"),
        ("tool", "b"),
        ("user", None),
    ]


def test_a_call_without_a_result_is_answered():
    assert messages_sent(make_adapter(), TURN)[1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "Error: this call has no result; it was not completed.",
    }


@pytest.mark.parametrize(
    ("profile", "model", "role"),
    [
        ("openai", "gpt-4o", "system"),
        ("openai", "gpt-5-mini", "developer"),
        ("openai", "o3", "developer"),
        ("azure", "gpt-5", "system"),
        ("openrouter", "openai/gpt-5", "system"),
    ],
)
def test_openais_reasoning_models_call_system_messages_developer_messages(profile, model, role):
    assert messages_sent(make_adapter(profile, model=model), ChatMessage.system("S"), HELLO)[0]["role"] == role


def test_all_system_messages_stay_in_place_where_the_endpoint_takes_them_so():
    sent = messages_sent(make_adapter("openai"), ChatMessage.system("A"), HELLO, ChatMessage.system("B"))
    assert [m["content"] for m in sent] == ["A", "Hello", "B"]


@pytest.mark.parametrize("profile", ["mistral", "vllm", "llama_cpp", "lm_studio", "ollama", "custom"])
def test_chat_templates_get_one_system_message_at_the_start(profile):
    sent = messages_sent(make_adapter(profile), ChatMessage.system("A"), HELLO, ChatMessage.system("B"))
    assert sent == [{"role": "system", "content": "A\n\nB"}, {"role": "user", "content": "Hello"}]


def test_chat_templates_get_user_and_assistant_in_turns():
    sent = messages_sent(
        make_adapter("vllm"),
        ChatMessage.user("One"),
        ChatMessage.user([TextPart(text="Two"), PHOTO]),
        ChatMessage.assistant("A"),
        ChatMessage.assistant("B"),
        ChatMessage.user("Three"),
    )
    assert sent == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "One"},
                {"type": "text", "text": "Two"},
                {"type": "image_url", "image_url": {"url": "https://shop.example/a.png"}},
            ],
        },
        {"role": "assistant", "content": "A\n\nB"},
        {"role": "user", "content": "Three"},
    ]


def test_neighbours_stay_apart_for_openai():
    assert len(messages_sent(make_adapter("openai"), HELLO, HELLO)) == 2


def test_mistral_gets_an_assistant_message_between_a_result_and_a_user():
    sent = messages_sent(make_adapter("mistral"), HELLO, TURN, RESULT, ChatMessage.user("Thanks"))
    assert [(m["role"], m["content"]) for m in sent[2:]] == [
        ("tool", "shipped"),
        ("assistant", "OK."),
        ("user", "Thanks"),
    ]


def test_mistral_is_told_that_a_last_assistant_message_is_the_beginning_of_the_answer():
    sent = messages_sent(make_adapter("mistral"), HELLO, ChatMessage.assistant("Dear"))
    assert sent[-1] == {"role": "assistant", "content": "Dear", "prefix": True}


def test_mistral_gets_nine_letters_or_digits_on_call_and_result_alike():
    turn, result = messages_sent(make_adapter("mistral"), TURN, RESULT)
    assert turn["tool_calls"][0]["id"] == result["tool_call_id"] == "Bu09e4fdz"


def test_mistral_gets_its_own_ids_back_unchanged():
    turn = ChatMessage.assistant_tool_calls([call(id="EscTeQY62")])
    sent = messages_sent(make_adapter("mistral"), turn, ChatMessage.tool_result("EscTeQY62", "x"))
    assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"] == "EscTeQY62"


@pytest.mark.parametrize(("profile", "longest"), [("openai", 40), ("azure", 40), ("openrouter", 40), ("vllm", 64)])
def test_long_ids_are_shortened_to_different_ones_on_both_ends(profile, longest):
    ids = ["x" * longest, "x" * longest + "1", "x" * longest + "2"]
    turn = ChatMessage.assistant_tool_calls([call(id=id) for id in ids])
    assistant, *results = messages_sent(make_adapter(profile), turn)
    wire = [entry["id"] for entry in assistant["tool_calls"]]
    assert [result["tool_call_id"] for result in results] == wire
    assert wire[0] == ids[0]
    assert len(set(wire)) == 3
    assert max(map(len, wire)) == longest


def test_names_that_do_not_fit_are_mapped_on_past_calls_too():
    [turn, _] = messages_sent(make_adapter(), ChatMessage.assistant_tool_calls([call("shop.orders/find")]))
    assert turn["tool_calls"][0]["function"]["name"] == "shop_orders_find__f80bb2938acbaa7e"


def test_parts_keep_their_form():
    parts = [TextPart(text="Look"), PHOTO, FilePart(file_id="file-1", filename="a.pdf")]
    assert messages_sent(make_adapter(), ChatMessage.user(parts))[0]["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "https://shop.example/a.png"}},
        {"type": "file", "file": {"file_id": "file-1", "filename": "a.pdf"}},
    ]


def test_images_of_results_follow_the_results_in_a_user_message():
    turn = ChatMessage.assistant_tool_calls([call(id="a"), call(id="b")])
    with_photo = ChatMessage.tool_result("a", [TextPart(text="See"), PHOTO])
    sent = messages_sent(make_adapter(), turn, with_photo, ChatMessage.tool_result("b", "B"), ChatMessage.user("So?"))
    assert sent[1:] == [
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "text", "text": "See"}, {"type": "text", "text": "[a file: see below]"}],
        },
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Files from the tool results above:"},
                {"type": "image_url", "image_url": {"url": "https://shop.example/a.png"}},
            ],
        },
        {"role": "user", "content": "So?"},
    ]


def test_a_body_is_utf8_without_escapes_and_without_lone_surrogates():
    body = make_adapter(model="m\ud83d").request(make_request(ChatMessage.user("Grüße \ud83d"))).body
    assert body == '{"messages":[{"role":"user","content":"Grüße \ufffd"}],"model":"m\ufffd"}'.encode()
