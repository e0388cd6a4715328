"""The body of a Responses request."""

import pytest

from llm_foundation.chat import ChatMessage, FilePart, ImagePart, NamedTool, TextPart, ToolCall, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from tests.providers.builders import FIND, HELLO, REFUND, call, make_request, sent
from tests.providers.responses_builders import input_sent, responses_adapter
from tests.providers.responses_requests import objections

ADAPTER = responses_adapter()
PLAIN = responses_adapter(model="gpt-4o")


def test_a_plain_request_sends_everything_and_stores_nothing():
    assert sent(ADAPTER, make_request()) == {
        "input": [{"role": "user", "content": "Hello"}],
        "model": "gpt-5",
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    assert sent(ADAPTER, make_request(stream=True))["stream"] is True


def test_encrypted_reasoning_is_asked_of_models_that_reason():
    assert "include" not in sent(PLAIN, make_request())
    assert "include" in sent(responses_adapter("xai", model="grok-4.3"), make_request())
    assert "include" in sent(responses_adapter("custom", model="own", supports_reasoning=True), make_request())


def test_all_system_messages_reach_the_model_where_they_stand():
    said = input_sent(ADAPTER, ChatMessage.system("A"), ChatMessage.system("B"), HELLO, ChatMessage.system("C"))
    assert said == [
        {"role": "developer", "content": "A"},
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "Hello"},
        {"role": "developer", "content": "C"},
    ]
    assert input_sent(PLAIN, ChatMessage.system("A"), HELLO)[0]["role"] == "system"


def test_a_chat_template_gets_one_system_message_at_the_start():
    said = input_sent(responses_adapter("vllm"), ChatMessage.system("A"), HELLO, ChatMessage.system("B"))
    assert said == [{"role": "system", "content": "A\n\nB"}, {"role": "user", "content": "Hello"}]


def test_images_and_files_go_in():
    picture = ImagePart(url="https://shop.example/a.png", detail="low")
    paper = FilePart.from_bytes(b"hi", media_type="application/pdf", filename="a.pdf")
    parts = (
        TextPart(text="See:"),
        picture,
        ImagePart(url="https://shop.example/b.png"),
        paper,
        FilePart(file_id="f-1"),
    )
    assert input_sent(ADAPTER, ChatMessage.user(parts))[0]["content"] == [
        {"type": "input_text", "text": "See:"},
        {"type": "input_image", "image_url": "https://shop.example/a.png", "detail": "low"},
        {"type": "input_image", "image_url": "https://shop.example/b.png", "detail": "auto"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"},
        {"type": "input_file", "file_id": "f-1"},
    ]


def test_a_turn_of_somebody_else_is_its_text_and_its_calls():
    turn = ChatMessage.assistant_tool_calls([call(number="ü"), ToolCall(id="b", name="ping")], "I look.")
    said = input_sent(ADAPTER, HELLO, turn, ChatMessage.tool_result("b", "2"), ChatMessage.tool_result("call_1", "1"))
    assert said == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": '{"number":"ü"}'},
        {"type": "function_call", "call_id": "b", "name": "ping", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
    ]


def test_a_turn_without_text_has_no_message():
    assert [item.get("type") for item in input_sent(ADAPTER, HELLO, ChatMessage.assistant_tool_calls([call()]))] == [
        None,
        "function_call",
        "function_call_output",
    ]


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_goes():
    said = input_sent(ADAPTER, ChatMessage.assistant_tool_calls([call()]), ChatMessage.tool_result("other", "x"))
    assert said[1]["output"].startswith("Error: this call has no result")
    assert len(said) == 2
    with pytest.raises(InvalidMessage, match="nothing that can be sent"):
        input_sent(ADAPTER, ChatMessage.tool_result("other", "x"))


def test_files_of_a_result_stay_in_it_where_openai_answers():
    turn = ChatMessage.assistant_tool_calls([call()])
    result = ChatMessage.tool_result("call_1", (TextPart(text="See"), ImagePart(url="https://shop.example/a.png")))
    assert input_sent(ADAPTER, HELLO, turn, result)[-1] == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [
            {"type": "input_text", "text": "See"},
            {"type": "input_image", "image_url": "https://shop.example/a.png", "detail": "auto"},
        ],
    }
    others = input_sent(responses_adapter("openrouter", model="x"), HELLO, turn, result)
    assert [item.get("type", item.get("role")) for item in others[-2:]] == ["function_call_output", "user"]


def test_arguments_that_were_no_object_go_out_as_one():
    turn = ChatMessage.assistant_tool_calls([ToolCall(id="a", name="ping", invalid_arguments="{")])
    assert input_sent(ADAPTER, HELLO, turn)[1]["arguments"] == '{"INVALID_JSON":"{"}'


@pytest.mark.parametrize("length", [64, 65, 930])
def test_long_ids_are_shortened_on_both_sides_alike(length):
    shared, turn = "c" * (length - 1), []
    ids = [f"{shared}1", f"{shared}2"]
    turn = [
        ChatMessage.assistant_tool_calls([call(id=id) for id in ids]),
        *(ChatMessage.tool_result(i, "x") for i in ids),
    ]
    first, second, one, two = (item["call_id"] for item in input_sent(ADAPTER, HELLO, *turn)[1:])
    assert (first, second) == (one, two)
    assert first != second
    assert (first == ids[0]) is (length == 64)
    assert len(first) <= 64


def test_lone_surrogates_never_reach_the_wire():
    tool = ToolDefinition(name="t", parameters={"type": "object", "properties": {}, "title": "a\ud83d"})
    assert b"\xef\xbf\xbd" in (ADAPTER.request(make_request(tools=(tool,))).body or b"")


# --- Tools ------------------------------------------------------------------------------------------------------------
def test_tools_are_flat_and_say_whether_they_are_strict():
    strict = FIND.model_copy(update={"strict": True})
    free = ToolDefinition(name="free", strict=True, parameters={"type": "object", "additionalProperties": True})
    body = sent(ADAPTER, make_request(tools=(strict, REFUND, free)))
    assert body["tools"] == [
        {
            "type": "function",
            "name": "find_order",
            "description": "Find one order.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "string"}},
                "required": ["number"],
                "additionalProperties": False,
            },
            "strict": True,
        },
        {
            "type": "function",
            "name": "refund_order",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
        {
            "type": "function",
            "name": "free",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": True},
            "strict": False,
        },
    ]
    assert "tool_choice" not in body


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("none", "none"),
        ("required", "required"),
        (NamedTool(name="find_order"), {"type": "function", "name": "find_order"}),
    ],
)
def test_choices_among_tools(choice, wire):
    body = sent(ADAPTER, make_request(tools=(FIND, REFUND), tool_choice=choice))
    assert body["tool_choice"] == wire
    assert len(body["tools"]) == 2


def test_an_endpoint_that_forces_no_single_tool_gets_that_tool_alone():
    body = sent(
        responses_adapter("lm_studio"), make_request(tools=(FIND, REFUND), tool_choice=NamedTool(name="find_order"))
    )
    assert (body["tool_choice"], [tool["name"] for tool in body["tools"]]) == ("required", ["find_order"])


def test_no_tools_leave_no_trace():
    body = sent(ADAPTER, make_request(tool_choice="none", options={"parallel_tool_calls": False}))
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & body.keys()
    assert (
        sent(ADAPTER, make_request(tools=(FIND,), options={"parallel_tool_calls": False}))["parallel_tool_calls"]
        is False
    )


def test_names_fit_the_alphabet_on_offer_call_and_choice():
    tool = FIND.model_copy(update={"name": "shop.find"})
    turn = ChatMessage.assistant_tool_calls([call("shop.find")])
    body = sent(ADAPTER, make_request(HELLO, turn, tools=(tool,), tool_choice=NamedTool(name="shop.find")))
    names = {body["tools"][0]["name"], body["input"][1]["name"], body["tool_choice"]["name"]}
    assert len(names) == 1
    assert names.pop().startswith("shop_find__")


# --- The official types -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("profile", ["openai", "azure", "openrouter", "xai", "deepseek", "vllm", "custom"])
@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedTool(name="find_order")])
@pytest.mark.parametrize("stream", [False, True])
def test_what_a_full_request_has_is_what_the_official_package_would_send(profile, choice, stream):
    turn = ChatMessage.assistant_tool_calls([call(), call(id="call_2")], "I look it up.")
    parts = (TextPart(text="x"), ImagePart(url="https://shop.example/a.png"))
    options = {
        "temperature": 0.5,
        "max_tokens": 100,
        "parallel_tool_calls": True,
        "reasoning_effort": "low",
        "response_schema": {"schema": {"type": "object", "properties": {}}},
    }
    request = make_request(
        ChatMessage.system("S"),
        ChatMessage.user(parts),
        turn,
        tools=(FIND.model_copy(update={"strict": True}),),
        tool_choice=choice,
        options=options,
        stream=stream,
    )
    adapter = responses_adapter(profile, model="own", supports_reasoning=True)
    assert objections(sent(adapter, request)) == []


def test_the_official_types_object_to_what_they_do_not_know():
    body = sent(ADAPTER, make_request())
    assert objections(body | {"unheard_of": 1}) == ["body.unheard_of: unknown"]
    assert objections(body | {"max_output_tokens": "x"}) != []
