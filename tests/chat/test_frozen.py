"""Frozen is true: what goes in is copied, what is out cannot be changed from there."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from pydantic import ValidationError

from llm_foundation.chat import ChatMessage, CompletionResponse, ProviderState, TextPart, ToolCall, ToolDefinition
from llm_foundation.chat.frozen import MAX_DEPTH, freeze
from tests.chat import strategies

OWNER = {"adapter": "openai", "base_url": "https://a.example", "model_family": "m", "credential_fingerprint": "f"}


def make_call():
    return ToolCall(id="a", name="f", arguments={"lines": [{"sku": "cup"}], "note": {"to": "Ada"}})


def test_changing_what_was_passed_in_changes_nothing():
    arguments = {"lines": [{"sku": "cup"}]}
    calls = [ToolCall(id="a", name="f", arguments=arguments)]
    parts = [TextPart(text="hi")]
    message, asked = ChatMessage.assistant_tool_calls(calls, parts), ChatMessage.user(parts)
    arguments["lines"][0]["sku"] = "pot"
    arguments["more"] = 1
    calls.clear()
    parts.clear()
    assert message.tool_calls[0].arguments == {"lines": [{"sku": "cup"}]}
    assert message.text == asked.text == "hi"


def test_changing_a_dict_that_was_read_changes_nothing():
    written = ChatMessage.assistant_tool_calls([make_call()], "hi").to_transcript()
    written["provider_state"] = {"owner": dict(OWNER), "items": [{"a": [1]}], "tool_call_bindings": {"a": "x"}}
    message = ChatMessage.from_dict(written)
    before = json.dumps(message.to_transcript())
    written["provider_state"]["items"][0]["a"].append(2)
    written["provider_state"]["tool_call_bindings"]["b"] = "y"
    written["tool_calls"][0]["function"]["arguments"]["lines"][0]["sku"] = "pot"
    assert json.dumps(message.to_transcript()) == before


def test_changing_what_was_written_changes_nothing():
    state = ProviderState(owner=OWNER, items=({"a": [1]},), tool_call_bindings={"a": "x"})
    message = ChatMessage.assistant_tool_calls([make_call()], "hi", state)
    before = json.dumps(message.to_transcript())
    written = message.to_transcript()
    written["tool_calls"][0]["function"]["arguments"]["lines"][0]["sku"] = "pot"
    written["provider_state"]["items"][0]["a"].append(2)
    written["provider_state"]["tool_call_bindings"].clear()
    written["provider_state"]["owner"]["adapter"] = "other"
    assert json.dumps(message.to_transcript()) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda arguments: arguments.update(x=1),
        lambda arguments: arguments.__setitem__("x", 1),
        lambda arguments: arguments.pop("note"),
        lambda arguments: arguments.popitem(),
        lambda arguments: arguments.setdefault("x", 1),
        lambda arguments: arguments.clear(),
        lambda arguments: arguments.__ior__({"x": 1}),
        lambda arguments: arguments.__delitem__("note"),
        lambda arguments: arguments["note"].update(to="Bob"),
        lambda arguments: arguments["lines"].append(1),
        lambda arguments: arguments["lines"].__iadd__([1]),
        lambda arguments: arguments["lines"].__imul__(2),
        lambda arguments: arguments["lines"].__setitem__(0, 1),
        lambda arguments: arguments["lines"].__delitem__(0),
        lambda arguments: arguments["lines"].sort(),
        lambda arguments: arguments["lines"].reverse(),
        lambda arguments: arguments["lines"].extend([1]),
        lambda arguments: arguments["lines"].insert(0, 1),
        lambda arguments: arguments["lines"].pop(),
        lambda arguments: arguments["lines"].remove({"sku": "cup"}),
        lambda arguments: arguments["lines"].clear(),
        lambda arguments: arguments["lines"][0].update(sku="pot"),
    ],
)
def test_arguments_refuse_change_at_every_depth(change):
    call = make_call()
    with pytest.raises(TypeError, match="frozen"):
        change(call.arguments)
    assert call == make_call()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (ChatMessage.user("hi"), "content"),
        (make_call(), "arguments"),
        (CompletionResponse(), "metadata"),
        (ToolDefinition(name="f"), "parameters"),
        (ProviderState(owner=OWNER), "items"),
    ],
)
def test_no_attribute_can_be_set(value, field):
    with pytest.raises(ValidationError):
        setattr(value, field, None)
    with pytest.raises(ValidationError):
        delattr(value, field)


def test_metadata_and_parameters_are_closed_too():
    response = CompletionResponse(metadata={"a": []}).with_metadata(dropped_options=["seed"])
    definition = ToolDefinition(name="f", parameters={"type": "object", "required": []})
    for closed in (response.metadata["a"], response.metadata["dropped_options"], definition.parameters["required"]):
        with pytest.raises(TypeError):
            closed.append("x")


def test_a_deep_copy_of_a_value_is_as_closed_as_the_value():
    message = ChatMessage.assistant_tool_calls([make_call()], "hi")
    copied = copy.deepcopy(message)
    assert copied == message
    with pytest.raises(TypeError):
        copied.tool_calls[0].arguments["lines"].append(1)


def test_a_deep_copy_of_arguments_may_be_changed():
    call = make_call()
    mine = copy.deepcopy(call.arguments)
    mine["lines"][0]["sku"] = "pot"
    assert mine == {"lines": [{"sku": "pot"}], "note": {"to": "Ada"}}
    assert call == make_call()
    assert type(mine) is dict
    assert type(copy.copy(call.arguments)) is dict
    assert type(copy.copy(call.arguments["lines"])) is list


@given(strategies.messages)
def test_any_message_survives_pickle_and_copies(message):
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message
    assert copy.copy(message) == message


def test_what_comes_out_of_pickle_is_closed():
    call = pickle.loads(pickle.dumps(make_call()))
    with pytest.raises(TypeError):
        call.arguments["lines"].append(1)


def test_a_deep_copy_with_a_change_leaves_the_original_alone():
    message = ChatMessage.user("hi")
    changed = message.model_copy(update={"content": "bye"}, deep=True)
    assert (message.text, changed.text) == ("hi", "bye")


@given(strategies.json_values)
def test_a_frozen_value_is_equal_and_encodes_alike(value):
    frozen = freeze(value)
    assert frozen == value
    assert json.dumps(frozen) == json.dumps(value)


def test_json_is_frozen_down_to_a_depth_of_64():
    assert freeze(strategies.nested(MAX_DEPTH)) == strategies.nested(64)
    with pytest.raises(ValueError, match="64 levels"):
        freeze(strategies.nested(65))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 1 << 5000])
def test_numbers_that_json_cannot_carry_are_refused(number):
    with pytest.raises(ValueError, match="number"):
        freeze({"n": [number]})


@pytest.mark.parametrize("value", [{1: "a"}, {"a": {1, 2}}, [b"bytes"], object()])
def test_what_is_not_json_is_refused(value):
    with pytest.raises(ValueError, match=r"not JSON|not a string"):
        freeze(value)


def test_numbers_keep_their_form():
    assert json.dumps(freeze([1, 1.0, True, 0, -0.0, False, 10**30])) == (
        "[1, 1.0, true, 0, -0.0, false, 1000000000000000000000000000000]"
    )
