"""Tools and the choice among them, as they stand on Gemini's wire."""

import pytest

from llm_foundation.chat import ChatMessage, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from tests.providers.builders import FIND, HELLO, REFUND, answered, call, make_request, sent
from tests.providers.gemini_builders import FLASH_2, FLASH_2_5, answer, called, make_gemini, said

STRICT = FIND.model_copy(update={"strict": True})


def dropped(adapter, request) -> list[str]:
    return answered(adapter, answer(said("x")), request=request).metadata.get("dropped_options", [])


def mode(choice, *tools, adapter=None, **options):
    body = sent(adapter or make_gemini(), make_request(tools=tools or (FIND, REFUND), tool_choice=choice, **options))
    return body.get("toolConfig", {}).get("functionCallingConfig")


def test_a_tool_as_gemini_wants_it():
    assert sent(make_gemini(), make_request(tools=(FIND, REFUND)))["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "find_order",
                    "description": "Find one order.",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {"number": {"type": "string"}},
                        "required": ["number"],
                    },
                },
                {"name": "refund_order"},
            ]
        }
    ]


@pytest.mark.parametrize(
    "adapter",
    [
        make_gemini(options={"json_schema_fields": False}),
        make_gemini(base_url="https://generativelanguage.googleapis.com/v1"),
    ],
    ids=["option", "stable version"],
)
def test_where_the_field_for_json_schema_is_missing_the_older_one_serves(adapter):
    [declared] = sent(adapter, make_request(tools=(FIND,)))["tools"][0]["functionDeclarations"]
    assert declared["parameters"]["required"] == ["number"]
    assert "parametersJsonSchema" not in declared


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NamedTool(name="refund_order"), {"mode": "ANY", "allowedFunctionNames": ["refund_order"]}),
    ],
)
def test_choices_are_modes(choice, expected):
    assert mode(choice) == expected


def test_strict_tools_have_their_calls_validated_where_the_model_can():
    assert mode("auto", STRICT) == {"mode": "VALIDATED"}
    assert mode("auto", STRICT, adapter=make_gemini(FLASH_2_5)) == {"mode": "VALIDATED"}
    assert mode("auto", STRICT, REFUND) is None
    assert mode("auto", STRICT, adapter=make_gemini(FLASH_2)) is None


def test_definitions_stay_on_the_wire_while_the_history_holds_calls():
    body = sent(
        make_gemini(),
        make_request(HELLO, ChatMessage.assistant_tool_calls([call()]), tools=(FIND,), tool_choice="none"),
    )
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "find_order"
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}


@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedTool(name="x")])
def test_without_tools_nothing_speaks_of_tools(choice):
    assert set(sent(make_gemini(), make_request(tool_choice=choice))) == {"contents"}


def test_a_choice_that_is_not_on_offer_is_a_mistake():
    with pytest.raises(InvalidMessage, match="tool_choice: names 'x', which is not on offer"):
        mode(NamedTool(name="x"))


def test_a_model_without_tools_is_not_sent_any():
    adapter, request = make_gemini(supports_tools=False), make_request(tools=(FIND,), tool_choice="required")
    assert set(sent(adapter, request)) == {"contents"}
    assert dropped(adapter, request) == ["tools"]


@pytest.mark.parametrize(("parallel", "names"), [(False, ["parallel_tool_calls"]), (True, []), (None, [])])
def test_parallel_calls_cannot_be_forbidden(parallel, names):
    assert dropped(make_gemini(), make_request(tools=(FIND,), options={"parallel_tool_calls": parallel})) == names


def test_googles_own_tools_stand_beside_ours_and_its_settings_beside_the_choice():
    extra = {
        "tools": [{"googleSearch": {}}],
        "toolConfig": {"includeServerSideToolInvocations": True},
    }
    body = sent(make_gemini(), make_request(tools=(REFUND,), tool_choice="required", options={"extra": extra}))
    assert body["tools"] == [{"functionDeclarations": [{"name": "refund_order"}]}, {"googleSearch": {}}]
    assert body["toolConfig"] == {
        "functionCallingConfig": {"mode": "ANY"},
        "includeServerSideToolInvocations": True,
    }


@pytest.mark.parametrize("tools", [[{"functionDeclarations": [{"name": "x"}]}], "googleSearch", [], ["x"]])
def test_functions_are_offered_by_us_alone(tools):
    request = make_request(options={"extra": {"tools": tools}})
    assert set(sent(make_gemini(), request)) == {"contents"}
    assert dropped(make_gemini(), request) == ["extra.tools"]


def test_names_outside_the_alphabet_go_out_mapped_and_come_back_as_ours():
    names = ["shop.orders/find", "1st_order", "-x", "n" * 65, "_ok", "find_order"]
    tools = tuple(ToolDefinition(name=name) for name in names)
    request = make_request(tools=tools, tool_choice=NamedTool(name="1st_order"))
    body = sent(make_gemini(), request)
    wire = [declared["name"] for declared in body["tools"][0]["functionDeclarations"]]
    assert wire[:2] == ["shop_orders_find__f80bb2938acbaa7e", "_st_order__d3781236011ee462"]
    assert wire[4:] == ["_ok", "find_order"]
    assert len(set(wire)) == 6
    assert max(map(len, wire)) <= 64
    assert all(name[0].isalpha() or name[0] == "_" for name in wire)
    assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [wire[1]]
    response = answered(make_gemini(), answer(*(called(name) for name in [*wire, "x.y"])), request=request)
    assert [made.name for made in response.tool_calls] == [*names, "x.y"]
