"""Tools on offer and the choice among them, in the form of the Messages API."""

import pytest

from llm_foundation.chat import ChatMessage, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from tests.providers.anthropic_builders import (
    OPUS_5_5,
    SONNET_4_5,
    SONNET_4_6,
    SONNET_5_5,
    make_claude,
    message,
)
from tests.providers.builders import FIND, HELLO, REFUND, answered, call, make_request, sent

WIRE_FIND = {
    "name": "find_order",
    "description": "Find one order.",
    "input_schema": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
}
WIRE_REFUND = {"name": "refund_order", "input_schema": {"type": "object", "properties": {}}}


def offered(model: str = SONNET_4_5, *messages, spec=None, **fields) -> tuple[dict, list[str]]:
    """The tools and the choice among them, and what was left out."""
    adapter, request = (
        make_claude(model, **(spec or {})),
        make_request(*messages, **({"tools": (FIND, REFUND)} | fields)),
    )
    dropped = answered(adapter, message("x"), request=request).metadata.get("dropped_options", [])
    body = sent(adapter, request)
    return {key: body[key] for key in ("tools", "tool_choice") if key in body}, dropped


BOTH = [WIRE_FIND, WIRE_REFUND]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {}),
        ("none", {"tool_choice": {"type": "none"}}),
        ("required", {"tool_choice": {"type": "any"}}),
        (NamedTool(name="refund_order"), {"tool_choice": {"type": "tool", "name": "refund_order"}}),
    ],
)
def test_the_choices(choice, expected):
    assert offered(tool_choice=choice) == ({"tools": BOTH} | expected, [])


def test_without_tools_neither_key_is_sent():
    assert offered(tools=(), options={"parallel_tool_calls": False}) == ({}, [])


def test_a_choice_of_a_tool_that_is_not_on_offer_is_refused():
    with pytest.raises(InvalidMessage, match="'pay', which is not on offer"):
        offered(tool_choice=NamedTool(name="pay"))


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", {"type": "any", "disable_parallel_tool_use": True}),
        ("none", {"type": "none"}),
    ],
)
def test_one_call_at_a_time(choice, expected):
    body, dropped = offered(tool_choice=choice, options={"parallel_tool_calls": False})
    assert (body["tool_choice"], dropped) == (expected, [])


def test_a_model_without_parallel_calls_is_not_asked_about_them():
    spec = {"supports_parallel_tool_calls": False}
    assert offered(spec=spec, options={"parallel_tool_calls": False}) == ({"tools": BOTH}, ["parallel_tool_calls"])


def test_a_model_without_tools_gets_none():
    assert offered(spec={"supports_tools": False}) == ({}, ["tools"])


@pytest.mark.parametrize(
    ("model", "options"),
    [(SONNET_4_5, {"reasoning_effort": "low"}), (SONNET_5_5, {}), (OPUS_5_5, {}), ("claude-fable-5-1", {})],
    ids=["thinking with a budget", "sonnet 5.5", "opus 5.5", "fable 5.1"],
)
def test_where_no_call_can_be_forced_the_choice_is_free_and_a_named_tool_alone(model, options):
    assert offered(model, tool_choice="required", options=options) == ({"tools": BOTH}, ["tool_choice"])
    alone = offered(model, tool_choice=NamedTool(name="refund_order"), options=options)
    assert alone == ({"tools": [WIRE_REFUND]}, ["tool_choice"])


@pytest.mark.parametrize("model", [SONNET_4_6, "claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5"])
def test_thinking_left_to_the_model_goes_with_a_forced_call(model):
    body, dropped = offered(model, tool_choice="required", options={"reasoning_effort": "low"})
    assert (body["tool_choice"], dropped) == ({"type": "any"}, [])


CALLED = [HELLO, ChatMessage.assistant_tool_calls([call(id="1"), call("shop.pay", id="2"), call(id="3")])]


def test_a_history_with_calls_gets_definitions_although_nothing_is_on_offer():
    body, dropped = offered(SONNET_4_5, *CALLED, tools=())
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    assert [tool["name"] for tool in body["tools"]] == ["find_order", "shop_pay__" + body["tools"][1]["name"][-16:]]
    assert body["tools"][0] == {
        "name": "find_order",
        "description": "Not available any more.",
        "input_schema": schema,
    }
    assert (body["tool_choice"], dropped) == ({"type": "none"}, [])


def test_an_offer_is_not_added_to_for_the_sake_of_the_history():
    assert offered(SONNET_4_5, *CALLED, tools=(REFUND,)) == ({"tools": [WIRE_REFUND]}, [])


SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def test_tools_that_the_provider_runs_itself_are_added():
    assert offered(options={"extra": {"tools": [SEARCH]}}) == ({"tools": [*BOTH, SEARCH]}, [])
    assert offered(tools=(), options={"extra": {"tools": [SEARCH]}}) == ({"tools": [SEARCH]}, [])


@pytest.mark.parametrize("tools", ["web_search", [7], {"name": "x"}])
def test_added_tools_that_are_none_are_left_out(tools):
    assert offered(options={"extra": {"tools": tools}}) == ({"tools": BOTH}, ["extra.tools"])


STRICT = FIND.model_copy(update={"strict": True})


def test_a_strict_tool_goes_out_in_the_dialect_that_is_enforced():
    body, _ = offered(tools=(STRICT,))
    schema = WIRE_FIND["input_schema"] | {"additionalProperties": False}
    assert body["tools"] == [WIRE_FIND | {"input_schema": schema, "strict": True}]


def test_a_strict_tool_of_an_older_model_is_not_strict():
    assert offered("claude-sonnet-4-20250514", tools=(STRICT,))[0]["tools"] == [WIRE_FIND]


def test_what_cannot_be_enforced_goes_out_as_it_is():
    free = {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}}
    tool = ToolDefinition(name="label", parameters=free, strict=True)
    assert offered(tools=(tool,))[0]["tools"] == [{"name": "label", "input_schema": free}]


def test_more_than_a_request_may_have_enforced_goes_out_as_it_is():
    many = tuple(STRICT.model_copy(update={"name": f"find_{n}"}) for n in range(22))
    assert [tool.get("strict", False) for tool in offered(tools=many)[0]["tools"]] == [True] * 20 + [False] * 2
    optional = {"type": "object", "properties": {str(n): {"type": "string"} for n in range(13)}}
    two = tuple(ToolDefinition(name=name, parameters=optional, strict=True) for name in "ab")
    assert [tool.get("strict", False) for tool in offered(tools=two)[0]["tools"]] == [True, False]


def test_a_root_that_is_a_union_becomes_a_plain_object():
    union = {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]}
    tool = ToolDefinition(name="pick", parameters=union)
    assert offered(tools=(tool,))[0]["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }
