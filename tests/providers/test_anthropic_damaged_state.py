"""Context of our own that is not what we once kept is refused before any request."""

from typing import Any

import pytest

from llm_foundation.chat import ChatMessage, ProviderState, ToolCall
from llm_foundation.exceptions import ProviderStateError
from tests.providers.anthropic_builders import (
    SEARCH,
    THOUGHT,
    assistant,
    make_claude,
    replayed,
    result,
    said,
    turn,
    used,
)
from tests.providers.builders import HELLO, make_request, messages_sent

CLAUDE = make_claude()
OTHER = make_claude("claude-opus-4-5")
CALLS = [ToolCall(id="1", name="find_order", arguments={"number": "7"})]
CALLED = used(id="1", number="7")

DAMAGED: dict[str, list[Any]] = {
    "two items": [{"content": [THOUGHT, CALLED]}, {"content": [THOUGHT, CALLED]}],
    "no object": ["text"],
    "unknown field": [{"content": [CALLED], "else": 1}],
    "content is no list": [{"content": "x"}],
    "block is no object": [{"content": ["x", CALLED]}],
    "block without a type": [{"content": [{"text": "x"}, CALLED]}],
    "thinking is no text": [{"content": [THOUGHT | {"thinking": 7}, CALLED]}],
    "signature is no text": [{"content": [THOUGHT | {"signature": 7}, CALLED]}],
    "redacted without data": [{"content": [{"type": "redacted_thinking"}, CALLED]}],
    "text is no text": [{"content": [{"type": "text", "text": None}, CALLED]}],
    "input is no object": [{"content": [SEARCH | {"input": "x"}, CALLED]}],
    "a block of a user": [{"content": [result("1"), CALLED]}],
    "the same thought twice": [{"content": [THOUGHT, THOUGHT, CALLED]}],
    "the same call twice": [{"content": [CALLED, CALLED]}],
    "the same server call twice": [{"content": [SEARCH, SEARCH, CALLED]}],
    "a call is missing": [{"content": [THOUGHT]}],
    "a call too many": [{"content": [CALLED, used(id="2")]}],
    "another call": [{"content": [used("refund_order", id="1", number="7")]}],
    "other arguments": [{"content": [used(id="1", number="8")]}],
    "another id": [{"content": [used(id="2", number="7")]}],
    "sandbox without an id": [{"content": [CALLED], "container": {}}],
    "sandbox is no object": [{"container": "container_1"}],
}


@pytest.mark.parametrize("items", DAMAGED.values(), ids=DAMAGED)
def test_damaged_context_of_our_own_is_refused_before_any_request(items):
    state = ProviderState(owner=CLAUDE.owner, items=tuple(items))
    spoken = ChatMessage.assistant_tool_calls(CALLS, "x", state)
    with pytest.raises(ProviderStateError, match="nothing was sent"):
        CLAUDE.request(make_request(HELLO, spoken))
    assert messages_sent(OTHER, HELLO, spoken)[1] == assistant("x", CALLED)


def test_context_of_another_version_is_refused():
    state = ProviderState(owner=CLAUDE.owner, version=2, items=())
    with pytest.raises(ProviderStateError):
        CLAUDE.request(make_request(HELLO, ChatMessage.assistant("x", provider_state=state)))


def test_bindings_that_are_not_one_to_one_are_ambiguous():
    calls = [ToolCall(id=id, name="find_order") for id in ("1", "2")]
    content = [THOUGHT, used(id="a"), used(id="b")]
    state = ProviderState(
        owner=CLAUDE.owner, items=({"content": content},), tool_call_bindings={"1": "a", "2": "b", "3": "b"}
    )
    with pytest.raises(ProviderStateError):
        CLAUDE.request(make_request(HELLO, ChatMessage.assistant_tool_calls(calls, "", state)))


@pytest.mark.parametrize("items", [None, (), ({},)], ids=["none", "empty", "empty object"])
def test_no_items_and_an_empty_list_are_nothing_to_give_back(items):
    state = ProviderState(owner=CLAUDE.owner, items=items, tool_call_bindings={"a": "b"})
    spoken = ChatMessage.assistant("x", provider_state=state)
    assert replayed(CLAUDE, spoken) == [said("x")]
    assert ChatMessage.from_dict(spoken.to_transcript()).provider_state.items == items


@pytest.mark.parametrize(
    "content",
    [
        [SEARCH, SEARCH],
        [THOUGHT, THOUGHT, said("x")],
        [{"type": "redacted_thinking"}, said("x")],
        [{"type": "tool_result", "tool_use_id": "1"}, said("x")],
        [{"type": "novelty", "id": 7}, said("x")],
        [SEARCH | {"input": "no object"}, said("x")],
    ],
)
def test_an_answer_whose_context_could_not_go_back_does_not_keep_it(content):
    spoken = turn(CLAUDE, *content)
    assert messages_sent(CLAUDE, HELLO, spoken, HELLO)


def test_names_that_the_model_made_up_go_back_in_an_alphabet_that_fits():
    spoken = turn(CLAUDE, THOUGHT, used("multi_tool_use.parallel"))
    assert spoken.tool_calls[0].name == "multi_tool_use.parallel"
    assert replayed(CLAUDE, spoken)[1]["name"].startswith("multi_tool_use_parallel__")
