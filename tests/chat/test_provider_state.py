"""Opaque context: kept as it is, told apart from its absence, and never shown."""

import json
import logging
import traceback

import pytest
from hypothesis import given

from llm_foundation.chat import ChatMessage, CompletionResponse, ProviderState, StateOwner, ToolCall
from llm_foundation.exceptions import ProviderStateError
from tests.chat import strategies

OWNER = StateOwner(
    adapter="gemini",
    base_url="https://g.example",
    model_family="gemini-3",
    credential_fingerprint="0123456789abcdef",
)
FIXED_TEXT = "The stored provider context of this conversation cannot be replayed; nothing was sent."


def written(**changes):
    return {**ProviderState(owner=OWNER, items=({"a": 1},), tool_call_bindings={"a": "x"}).to_dict(), **changes}


def through_storage(message):
    return ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript())))


def test_no_state_no_items_and_empty_items_are_three_facts():
    states = [None, ProviderState(owner=OWNER), ProviderState(owner=OWNER, items=())]
    read = [through_storage(ChatMessage.assistant("hi", provider_state=state)).provider_state for state in states]
    assert read == states
    assert read[0] is None
    assert read[1].items is None
    assert read[2].items == ()
    assert read[1] != read[2]


def test_items_keep_key_order_and_number_forms_through_storage():
    text = '[{"z": 1, "a": 1.0, "m": {"y": 10.50, "b": -0.0}}, 1e2, true, 1, "s", null, [], {}]'
    items = json.loads(text)
    state = ProviderState.from_dict(written(items=items))
    stored = through_storage(ChatMessage.assistant("", provider_state=state)).provider_state
    assert json.dumps(stored.to_dict()["items"]) == json.dumps(items)
    assert json.dumps(list(stored.items)) == json.dumps(items)


@given(strategies.provider_states)
def test_any_state_survives_storage(state):
    assert ProviderState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "state",
        {},
        written(owner=None),
        written(owner={}),
        written(owner={**OWNER.model_dump(), "adapter": ""}),
        written(owner={**OWNER.model_dump(), "region": "eu"}),
        {key: value for key, value in written().items() if key != "owner"},
        written(version=2),
        written(version=0),
        written(version="1"),
        written(version=True),
        written(version=None),
        written(items={"a": 1}),
        written(items="abc"),
        written(items=[float("nan")]),
        written(items=[strategies.nested(70)]),
        written(items=[strategies.nested(50_000)]),
        written(tool_call_bindings=None),
        written(tool_call_bindings=[]),
        written(tool_call_bindings={"a": 1}),
        written(tool_call_bindings={"a": None}),
        written(signature="opaque-bytes"),
    ],
)
def test_malformed_state_is_refused_with_a_fixed_text(data):
    with pytest.raises(ProviderStateError) as caught:
        ProviderState.from_dict(data)
    assert str(caught.value) == FIXED_TEXT


def test_a_refusal_shows_nothing_of_the_content_even_in_a_log(caplog):
    secrets = ["opaque-bytes", "sig-key", "opaque-too"]
    data = written(items={secrets[1]: secrets[0]}, extra=secrets[2])
    try:
        ProviderState.from_dict(data)
    except ProviderStateError as error:
        logging.getLogger(__name__).exception("refused")
        shown = "".join(traceback.format_exception(error)) + caplog.text
    assert FIXED_TEXT in shown
    for secret in secrets:
        assert secret not in shown


def test_no_way_of_printing_shows_the_content():
    state = ProviderState(owner=OWNER, items=({"sig-key": "opaque-bytes"},), tool_call_bindings={"call_1": "native-1"})
    message = ChatMessage.assistant_tool_calls([ToolCall(id="call_1", name="f")], "", state)
    response = CompletionResponse(tool_calls=message.tool_calls, provider_state=state)
    shown = [f"{value} {value!r} {value!s}" for value in (state, message, response, [message], {"m": message})]
    shown.append(repr(list(state.__repr_args__())) + repr(list(state.__rich_repr__())))
    for text in shown:
        for secret in ("opaque-bytes", "sig-key", "native-1", "0123456789abcdef"):
            assert secret not in text


def test_a_direct_construction_that_fails_shows_nothing():
    with pytest.raises(ValueError, match="ProviderState") as caught:
        ProviderState(owner=OWNER, items=("opaque-bytes", float("nan")))
    assert "opaque-bytes" not in str(caught.value)


def test_state_that_is_one_already_stays():
    state = ProviderState(owner=OWNER)
    assert ProviderState.from_dict(state) is state


def test_bindings_follow_a_call_whose_id_changed():
    state = ProviderState(owner=OWNER, tool_call_bindings={"call_0": "native-0", "call_1": "native-1"})
    assert state.rebound({"call_0": "call_new"}).tool_call_bindings == {"call_new": "native-0", "call_1": "native-1"}


def test_an_id_that_was_the_providers_own_is_bound_when_ours_replaces_it():
    state = ProviderState(owner=OWNER, items=())
    assert state.rebound({"call_0": "call_new"}).tool_call_bindings == {"call_new": "call_0"}


def test_rebinding_changes_neither_the_original_nor_the_items():
    state = ProviderState(owner=OWNER, items=({"b": 1, "a": 2.0},), tool_call_bindings={"a": "x"})
    changed = state.rebound({"a": "b"})
    assert state.tool_call_bindings == {"a": "x"}
    assert json.dumps(changed.to_dict()["items"]) == '[{"b": 1, "a": 2.0}]'
    with pytest.raises(TypeError):
        changed.tool_call_bindings["c"] = "y"


def test_state_survives_a_rewriting_of_the_text():
    state = ProviderState(owner=OWNER, items=({"signature": "abc"},))
    message = ChatMessage.assistant("My card is 4111 1111.", provider_state=state)
    redacted = through_storage(message.model_copy(update={"content": "My card is [redacted]."}))
    assert redacted == ChatMessage.assistant("My card is [redacted].", provider_state=state)
