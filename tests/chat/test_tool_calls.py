"""A call's arguments and id, whatever the model made of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.chat import ToolCall
from llm_foundation.chat.tool_calls import decode_arguments, new_call_id
from llm_foundation.exceptions import InvalidMessage
from tests.chat import strategies


def from_text(arguments):
    return ToolCall.from_model(id="call_1", name="find_order", arguments=arguments)


def test_arguments_are_the_decoded_object():
    assert from_text('{"number": "2026-1138"}').arguments == {"number": "2026-1138"}
    assert from_text({"number": "2026-1138"}).arguments == {"number": "2026-1138"}


@pytest.mark.parametrize("blank", [None, "", "  ", "\n\t", {}, "{}"])
def test_blank_arguments_mean_none_and_are_valid(blank):
    call = from_text(blank)
    assert call.arguments == {}
    assert call.invalid_arguments is None


@pytest.mark.parametrize(
    "text",
    [
        '{"number": "2026',
        "[1, 2]",
        '"number"',
        "null",
        "5",
        '{"q":"A"}{"q":"B"}',
        '{"n": NaN}',
        '{"n": 1e999}',
        "{'n': 1}",
        "find_order(2026)",
        "[" * 100_000,
        '{"n": ' + "9" * 5_000 + "}",
        '{"n":' + "[" * 70 + "]" * 70 + "}",
    ],
)
def test_what_is_no_json_object_is_kept_as_raw_text_and_never_as_arguments(text):
    call = from_text(text)
    assert call.arguments == {}
    assert call.invalid_arguments == text


@pytest.mark.parametrize(("value", "kept"), [([1], "[1]"), (5, "5"), (True, "true"), (1.5, "1.5")])
def test_arguments_of_another_type_are_kept_as_json_text(value, kept):
    assert from_text(value).invalid_arguments == kept


def test_an_object_that_json_cannot_say_is_invalid():
    assert from_text({"n": float("nan")}).invalid_arguments == '{"n": NaN}'
    assert from_text({1: "a"}).invalid_arguments == '{"1": "a"}'
    assert from_text({"when": object()}).invalid_arguments == "<dict>"


def test_raw_control_characters_inside_strings_are_accepted_and_encoded_again():
    call = from_text('{"text": "two\nlines"}')
    assert call.arguments == {"text": "two\nlines"}
    assert call.to_wire()["function"]["arguments"] == '{"text":"two\\nlines"}'


def test_a_model_that_imitates_its_own_invalid_call_makes_an_invalid_call_again():
    call = from_text('{"INVALID_JSON": "{"}')
    assert call.arguments == {}
    assert call.invalid_arguments == "{"


def test_arguments_must_be_empty_beside_invalid_ones():
    with pytest.raises(ValueError, match="must be empty"):
        ToolCall(name="f", arguments={"a": 1}, invalid_arguments="{")
    with pytest.raises(InvalidMessage, match="must be empty"):
        ToolCall.from_dict({"function": {"name": "f", "arguments": {"a": 1}}, "invalid_arguments": "{"})


def test_keys_that_differ_only_in_broken_characters_are_not_merged():
    arguments = dict.fromkeys(["\ud800", "\ud801"], 1)
    assert from_text(arguments).invalid_arguments is not None


@pytest.mark.parametrize("blank", [None, "", "   "])
def test_a_missing_or_blank_id_is_replaced_by_one_of_ours(blank):
    first, second = (ToolCall.from_model(id=blank, name="f", arguments=None) for _ in range(2))
    assert first.id.startswith("call_")
    assert first.id != second.id
    assert ToolCall(name="f").id != ToolCall(name="f").id


def test_our_ids_fit_every_limit_of_chat_completions():
    assert len(new_call_id()) <= 40
    assert new_call_id().replace("_", "").isalnum()


def test_a_given_id_is_kept():
    assert from_text("{}").id == "call_1"


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_call_has_a_name(name):
    with pytest.raises(InvalidMessage) as caught:
        ToolCall.from_dict({"id": "a", "function": {"name": name, "arguments": "{}"}})
    assert caught.value.field == "function.name"


def test_to_dict_keeps_the_decoded_map():
    call = from_text('{"a": {"b": [1, 1.0]}}')
    assert call.to_dict() == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "find_order", "arguments": {"a": {"b": [1, 1.0]}}},
    }


def test_to_dict_gives_a_copy_that_may_be_changed():
    call = from_text('{"a": {"b": [1]}}')
    call.to_dict()["function"]["arguments"]["a"]["b"].append(2)
    assert call.arguments == {"a": {"b": [1]}}


@pytest.mark.parametrize("arguments", ['{"n": 1}', {"n": 1}])
def test_from_dict_reads_arguments_as_text_or_object(arguments):
    call = ToolCall.from_dict({"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}})
    assert call == ToolCall(id="a", name="f", arguments={"n": 1})


def test_from_dict_reads_a_call_without_arguments():
    assert ToolCall.from_dict({"id": "a", "function": {"name": "f"}}) == ToolCall(id="a", name="f")


def test_a_call_of_another_type_is_refused():
    custom = {"id": "a", "type": "custom", "custom": {"name": "calculator", "input": "4 + 4"}}
    with pytest.raises(InvalidMessage) as caught:
        ToolCall.from_dict(custom)
    assert caught.value.field == "type"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "tool_call"),
        ([], "tool_call"),
        ({}, "function"),
        ({"function": "f"}, "function"),
        ({"id": 5, "function": {"name": "f"}}, "id"),
        ({"function": {"name": "f"}, "invalid_arguments": 5}, "invalid_arguments"),
        ({"function": {"name": "f", "strict": True}}, "function.strict"),
        ({"function": {"name": "f"}, "priority": 1}, "priority"),
    ],
)
def test_a_wrong_shape_names_the_field(data, field):
    with pytest.raises(InvalidMessage) as caught:
        ToolCall.from_dict(data)
    assert caught.value.field == field


def test_what_the_official_client_adds_to_a_call_does_no_harm():
    dumped = {
        "id": "a",
        "type": "function",
        "index": 0,
        "function": {"name": "f", "arguments": '{"n":1}', "parsed_arguments": {"n": 1}},
        "extra_content": {"google": {"thought_signature": "abc"}},
    }
    assert ToolCall.from_dict(dumped) == ToolCall(id="a", name="f", arguments={"n": 1})


@given(strategies.tool_calls)
def test_any_call_survives_both_written_forms(call):
    assert ToolCall.from_dict(call.to_dict()) == call
    assert ToolCall.from_dict(call.to_wire()) == call
    assert ToolCall.from_dict(json.loads(json.dumps(call.to_dict()))) == call


@given(strategies.hostile_texts | strategies.any_json)
def test_any_arguments_whatsoever_become_an_object_or_a_text(arguments):
    decoded, invalid = decode_arguments(arguments)
    assert isinstance(decoded, dict)
    assert invalid is None or (decoded == {} and isinstance(invalid, str))
    call = from_text(arguments)
    json.dumps(call.to_wire(), ensure_ascii=False, allow_nan=False).encode()


@given(st.text(), st.text())
def test_any_id_and_name_make_a_call_that_can_be_sent(call_id, name):
    call = ToolCall(id=call_id, name=name + "f")
    assert call.id.strip()
    assert ToolCall.from_dict(call.to_wire()) == call
