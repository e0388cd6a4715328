"""Tools on their way to Ollama, and the choice among them, for which it has no words."""

import pytest

from llm_foundation.chat import ChatMessage, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from tests.providers.builders import FIND, HELLO, REFUND, call, make_request, sent
from tests.providers.ollama_builders import called, line, lines, make_ollama, read
from tests.providers.ollama_types import objections

OLLAMA = make_ollama()
CALLED = ChatMessage.assistant_tool_calls([call(number="A1")])
FOUND = ChatMessage.tool_result("call_1", "Shipped")


def parameters_of(schema):
    tool = ToolDefinition(name="t", parameters=schema)
    body = sent(OLLAMA, make_request(tools=(tool,)))
    assert objections(body) == []
    return body["tools"][0]["function"]["parameters"]


def offered(request):
    return [tool["function"]["name"] for tool in sent(OLLAMA, request).get("tools", ())]


def test_a_tool_as_it_goes_out():
    assert sent(OLLAMA, make_request(tools=(FIND, REFUND)))["tools"] == [
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
        },
        {"type": "function", "function": {"name": "refund_order", "parameters": {"type": "object", "properties": {}}}},
    ]


def test_without_tools_nothing_is_said_of_them():
    assert "tools" not in sent(OLLAMA, make_request())


def test_a_model_without_tools_gets_none_and_that_is_told():
    adapter = make_ollama("gemma2", supports_tools=False)
    request = make_request(tools=(FIND,), tool_choice="required")
    assert "tools" not in sent(adapter, request)
    assert adapter.dropped_options(request) == ("tools",)


@pytest.mark.parametrize(
    ("choice", "history", "names", "dropped"),
    [
        ("auto", (), ["find_order", "refund_order"], ()),
        ("none", (), [], ()),
        ("none", (CALLED, FOUND), ["find_order", "refund_order"], ("tool_choice",)),
        ("required", (), ["find_order", "refund_order"], ("tool_choice",)),
        (NamedTool(name="refund_order"), (), ["refund_order"], ("tool_choice",)),
    ],
)
def test_the_choice_is_kept_as_far_as_the_offer_can_keep_it(choice, history, names, dropped):
    request = make_request(HELLO, *history, tools=(FIND, REFUND), tool_choice=choice)
    assert offered(request) == names
    assert OLLAMA.dropped_options(request) == dropped
    assert "tool_choice" not in sent(OLLAMA, request)


def test_a_choice_of_a_tool_that_is_not_on_offer_is_refused():
    with pytest.raises(InvalidMessage, match="'other'"):
        OLLAMA.request(make_request(tools=(FIND,), tool_choice=NamedTool(name="other")))


def test_nothing_forbids_parallel_calls_and_that_is_told():
    request = make_request(tools=(FIND,), options={"parallel_tool_calls": False})
    assert OLLAMA.dropped_options(request) == ("parallel_tool_calls",)
    assert OLLAMA.dropped_options(make_request(tools=(FIND,), options={"parallel_tool_calls": True})) == ()


def test_names_that_others_refuse_come_back_as_ours():
    dotted = ToolDefinition(name="shop.find/order")
    request = make_request(tools=(dotted,))
    [name] = offered(request)
    assert name.startswith("shop_find_order__")
    body = lines(line(calls=[called(name)]), line(done=True))
    [made] = OLLAMA.response(200, {}, body, chat_request=request).tool_calls
    assert made.name == "shop.find/order"


def test_references_are_resolved_because_the_server_passes_over_them():
    schema = {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/Address", "description": "Where to"}, "tree": {"$ref": "#/$defs/Tree"}},
        "$defs": {
            "Address": {"type": "object", "properties": {"city": {"type": "string"}}},
            "Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}},
        },
    }
    assert parameters_of(schema) == {
        "type": "object",
        "properties": {
            "to": {"type": "object", "properties": {"city": {"type": "string"}}, "description": "Where to"},
            "tree": {"type": "object", "properties": {"left": {"type": "object"}}},
        },
    }


def test_the_same_is_said_in_words_that_the_server_reads():
    schema = {
        "type": "object",
        "properties": {
            "kind": {"const": "a"},
            "size": {"oneOf": [{"type": "integer"}, {"const": "all"}]},
            "both": {"allOf": [{"type": "string"}], "description": "d"},
            "rows": {"type": "array", "items": {"const": 1}},
            "any": True,
        },
    }
    assert parameters_of(schema)["properties"] == {
        "kind": {"enum": ["a"]},
        "size": {"anyOf": [{"type": "integer"}, {"enum": ["all"]}]},
        "both": {"type": "string", "description": "d"},
        "rows": {"type": "array", "items": {"enum": [1]}},
        "any": {},
    }


def test_the_tools_own_schema_never_changes():
    schema = {"type": "object", "properties": {"a": {"const": 1}}}
    tool = ToolDefinition(name="t", parameters=schema)
    sent(OLLAMA, make_request(tools=(tool,)))
    assert tool.parameters == {"type": "object", "properties": {"a": {"const": 1}}}


def test_an_unknown_tool_is_read_like_any_other():
    assert [made.name for made in read(OLLAMA, calls=[called("multi_tool_use.parallel")]).tool_calls] == [
        "multi_tool_use.parallel"
    ]
