"""Tools and the choice among them, as they stand on the wire."""

import pytest

from llm_foundation.chat import ChatMessage, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from tests.providers.builders import (
    FIND,
    REFUND,
    answered,
    call,
    completion,
    function,
    make_adapter,
    make_request,
    sent,
)

FIND_REQUIRED = {"type": "function", "function": {"name": "find_order"}}


def names(body: dict) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def dropped(adapter, request) -> list[str]:
    return answered(adapter, completion({"content": "x"}), request=request).metadata.get("dropped_options", [])


def test_a_tool_as_openai_wants_it():
    assert sent(make_adapter(), make_request(tools=(FIND,)))["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "find_order",
                "description": "Find one order.",
                "parameters": {
                    "type": "object",
                    "properties": {"number": {"type": "string"}},
                    "required": ["number"],
                },
            },
        }
    ]


def test_without_tools_nothing_speaks_of_tools():
    body = sent(make_adapter(), make_request(options={"parallel_tool_calls": False}, tool_choice="none"))
    assert set(body) == {"messages", "model"}


@pytest.mark.parametrize(("choice", "expected"), [("auto", None), ("none", "none"), ("required", "required")])
def test_choices_are_openais_words(choice, expected):
    body = sent(make_adapter(), make_request(tools=(FIND, REFUND), tool_choice=choice))
    assert body.get("tool_choice") == expected
    assert names(body) == ["find_order", "refund_order"]


def test_definitions_stay_on_the_wire_while_the_history_holds_calls():
    turn = ChatMessage.assistant_tool_calls([call()])
    body = sent(make_adapter(), make_request(turn, tools=(FIND,), tool_choice="none"))
    assert (names(body), body["tool_choice"]) == (["find_order"], "none")


def test_mistral_says_any():
    assert sent(make_adapter("mistral"), make_request(tools=(FIND,), tool_choice="required"))["tool_choice"] == "any"


def test_one_tool_is_named_where_the_endpoint_takes_that():
    body = sent(make_adapter(), make_request(tools=(FIND, REFUND), tool_choice=NamedTool(name="find_order")))
    assert body["tool_choice"] == FIND_REQUIRED
    assert names(body) == ["find_order", "refund_order"]


@pytest.mark.parametrize("profile", ["llama_cpp", "lm_studio"])
def test_elsewhere_it_is_required_and_alone(profile):
    request = make_request(tools=(FIND, REFUND), tool_choice=NamedTool(name="find_order"))
    body = sent(make_adapter(profile), request)
    assert (names(body), body["tool_choice"]) == (["find_order"], "required")
    assert dropped(make_adapter(profile), request) == []


def test_ollama_ignores_choices_so_none_leaves_the_tools_out_and_the_rest_is_told():
    ollama = make_adapter("ollama")
    assert "tools" not in sent(ollama, make_request(tools=(FIND,), tool_choice="none"))
    named = make_request(tools=(FIND, REFUND), tool_choice=NamedTool(name="find_order"))
    assert names(sent(ollama, named)) == ["find_order"]
    required = make_request(tools=(FIND,), tool_choice="required")
    assert "tool_choice" not in sent(ollama, required)
    assert dropped(ollama, named) == dropped(ollama, required) == ["tool_choice"]


@pytest.mark.parametrize("choice", ["required", NamedTool(name="find_order")])
def test_deepseek_refuses_forced_choices_while_it_thinks(choice):
    thinking = make_adapter("deepseek", model="deepseek-v4-flash", supports_reasoning=True)
    request = make_request(tools=(FIND,), tool_choice=choice)
    assert "tool_choice" not in sent(thinking, request)
    assert dropped(thinking, request) == ["tool_choice"]
    calm = make_request(tools=(FIND,), tool_choice=choice, options={"reasoning_effort": "none"})
    assert sent(thinking, calm)["tool_choice"] == (choice if choice == "required" else FIND_REQUIRED)


def test_a_choice_that_is_not_on_offer_is_a_mistake():
    with pytest.raises(InvalidMessage, match="tool_choice: names 'x', which is not on offer"):
        sent(make_adapter(), make_request(tools=(FIND,), tool_choice=NamedTool(name="x")))


def test_parallel_calls_are_an_option_where_the_model_knows_it():
    request = make_request(tools=(FIND,), options={"parallel_tool_calls": False})
    assert sent(make_adapter(), request)["parallel_tool_calls"] is False
    single = make_adapter(supports_parallel_tool_calls=False)
    assert "parallel_tool_calls" not in sent(single, request)
    assert dropped(single, request) == ["parallel_tool_calls"]


def test_a_model_without_tools_is_not_sent_any():
    adapter, request = make_adapter(supports_tools=False), make_request(tools=(FIND,), tool_choice="required")
    assert set(sent(adapter, request)) == {"messages", "model"}
    assert dropped(adapter, request) == ["tools"]


def test_a_strict_tool_has_its_schema_projected_and_its_own_unchanged():
    strict = FIND.model_copy(update={"strict": True})
    [wire] = sent(make_adapter(), make_request(tools=(strict,)))["tools"]
    assert wire["function"]["strict"] is True
    assert wire["function"]["parameters"]["additionalProperties"] is False
    assert "additionalProperties" not in strict.parameters


def test_a_schema_without_a_strict_form_makes_the_tool_not_strict():
    free = ToolDefinition(name="note", parameters={"type": "object", "additionalProperties": True}, strict=True)
    [wire] = sent(make_adapter(), make_request(tools=(free,)))["tools"]
    assert "strict" not in wire["function"]
    assert wire["function"]["parameters"] == {"type": "object", "additionalProperties": True, "properties": {}}


def test_strict_is_said_only_where_it_is_known():
    strict = FIND.model_copy(update={"strict": True})
    assert "strict" not in sent(make_adapter("groq"), make_request(tools=(strict,)))["tools"][0]["function"]


def test_openai_takes_1024_characters_of_description():
    long = ToolDefinition(name="t", description="x" * 1025)
    assert sent(make_adapter("openai"), make_request(tools=(long,)))["tools"][0]["function"]["description"] == (
        "x" * 1023 + "…"
    )
    assert len(sent(make_adapter("vllm"), make_request(tools=(long,)))["tools"][0]["function"]["description"]) == 1025


def test_names_outside_the_alphabet_go_out_mapped_and_come_back_as_ours():
    tools = (ToolDefinition(name="shop.orders/find"), ToolDefinition(name="shop_orders_find"))
    request = make_request(tools=tools, tool_choice=NamedTool(name="shop.orders/find"))
    body = sent(make_adapter(), request)
    wire = "shop_orders_find__f80bb2938acbaa7e"
    assert names(body) == [wire, "shop_orders_find"]
    assert body["tool_choice"]["function"]["name"] == wire
    answer = completion({"content": None, "tool_calls": [function(wire, "{}", id="a"), function("x.y", "{}", id="b")]})
    read = answered(make_adapter(), answer, request=request)
    assert [made.name for made in read.tool_calls] == ["shop.orders/find", "x.y"]


def test_long_names_and_names_that_look_mapped_never_meet():
    hostile = ["n" * 65, "n" * 66, "n" * 46 + "__" + "0" * 16, "shop_orders_find__f80bb2938acbaa7e", "shop.orders/find"]
    wire = names(sent(make_adapter(), make_request(tools=tuple(ToolDefinition(name=name) for name in hostile))))
    assert len(set(wire)) == 5
    assert max(map(len, wire)) <= 64
