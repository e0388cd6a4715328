"""Recorded traffic of Claude: answers are read as a second reader reads them, requests are built as they were sent."""

from typing import Any

import pytest

from llm_foundation.chat import CompletionResponse, FinishReason
from llm_foundation.exceptions import AuthenticationFailed, ContextLengthExceeded, InvalidRequest
from tests.providers.agreement import at_random, by_byte, compared, expected_facts, facts, read, whole
from tests.providers.anthropic_requests import (
    all_sequences,
    can_say,
    objections_to,
    recorded,
    replay,
    turns_of,
)
from tests.providers.builders import calls_of, reasoning_of, text_of
from tests.providers.corpus import exchanges, needs_corpus

pytestmark = needs_corpus

SAYS_WHY = "what the provider says of its refusal is our refusal"
DIFFERENCES = {
    "anthropic/anthsdk-refusal-response-0-b4f7e8": (SAYS_WHY, {"refusal"}),
    "anthropic/vercel-anthropic-refusal-0-0fe278": (SAYS_WHY, {"refusal"}),
    "anthropic/vercel-anthropic-refusal-0-75bd62": (SAYS_WHY, {"refusal"}),
}


def own_facts(response: CompletionResponse | None, error: Any) -> dict[str, Any]:
    """Our side; of the context, the second reader names what is signed."""
    told = facts(response, error)
    if response is not None:
        state = response.provider_state
        content = state.items[0].get("content", []) if state is not None and state.items else []
        signed = ["thinking.signature" for block in content if block.get("signature")]
        hidden = ["redacted_thinking" for block in content if block["type"] == "redacted_thinking"]
        told["provider_state"] = sorted([*signed, *hidden])
    return told


def their_facts(exchange) -> dict[str, Any]:
    """The other side, which tells counts as they stand on the wire: input without the cache."""
    told = expected_facts(exchange)
    if told.get("input_tokens") is not None:
        told["input_tokens"] += (told["cached_input_tokens"] or 0) + (told["cache_write_tokens"] or 0)
    return told


def differences(exchange, cut=whole) -> dict[str, tuple[Any, Any]]:
    return compared(own_facts(*read(exchange, cut)), their_facts(exchange))


def unexplained(exchange, cut=whole) -> dict[str, Any]:
    _, named = DIFFERENCES.get(exchange.id, ("", set()))
    return {fact: sides for fact, sides in differences(exchange, cut).items() if fact not in named}


def streams():
    return [exchange for exchange in exchanges("anthropic") if exchange.is_stream]


def test_every_recorded_answer_is_read_as_expected():
    assert len(exchanges("anthropic")) == 167
    assert {exchange.id: found for exchange in exchanges("anthropic") if (found := unexplained(exchange))} == {}


def test_all_but_three_are_read_exactly_alike_and_those_say_why_they_refuse():
    exact = [exchange for exchange in exchanges("anthropic") if not differences(exchange)]
    assert len(exact) == 164
    for id in DIFFERENCES:
        exchange = next(exchange for exchange in exchanges("anthropic") if exchange.id == id)
        response, _ = read(exchange)
        assert response.finish_reason is FinishReason.REFUSAL
        assert response.refusal == response.metadata["stop_details"]["explanation"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_streams_are_read_alike_in_random_pieces(seed):
    assert len(streams()) == 51
    assert {exchange.id: found for exchange in streams() if (found := unexplained(exchange, at_random(seed)))} == {}


def test_streams_are_read_alike_byte_by_byte():
    assert {exchange.id: found for exchange in streams() if (found := unexplained(exchange, by_byte))} == {}


def test_events_of_a_stream_tell_what_its_response_says():
    for exchange in streams():
        decoder = exchange.adapter().stream()
        events = decoder.feed(exchange.raw)
        response = decoder.finish()
        assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
        assert [(id, name) for id, name, _ in calls_of(events)] == [(c.id, c.name) for c in response.tool_calls]


def test_recorded_errors_have_their_types():
    found = {exchange.id[10:40]: type(error) for exchange in exchanges("anthropic") if (error := read(exchange)[1])}
    assert found == {
        "rubyllm-chat-error-handling-wi": AuthenticationFailed,
        "rubyllm-chat-real-error-scenar": ContextLengthExceeded,
        "pai-test-anthropic-explicit-ef": InvalidRequest,
    }


def test_recorded_pauses_are_pauses():
    paused = [exchange for exchange in exchanges("anthropic") if exchange.expected["finish_reason"] == "pause_turn"]
    assert [read(exchange)[0].finish_reason for exchange in paused] == [FinishReason.PAUSE] * 2


def test_every_response_survives_storage():
    for exchange in exchanges("anthropic"):
        response, _ = read(exchange)
        if response is not None:
            assert CompletionResponse.model_validate_json(response.model_dump_json()) == response


def test_every_rebuilt_request_is_accepted_by_the_official_types():
    assert len(recorded()) == 119
    assert {exchange.id: found for exchange in recorded() if (found := objections_to(exchange))} == {}


def test_the_few_requests_that_we_have_no_words_for_add_tools_between_messages():
    silent = [exchange for exchange in exchanges("anthropic") if exchange.request and not can_say(exchange)]
    assert len(silent) == 4
    assert all("tool_addition" in str(exchange.request["messages"]) for exchange in silent)


RECORDER_FORGOT = {
    "pai:4d031acf": "its client lost the citations of the text",
    "ellmer:a7e15359": "its client lost the thinking",
}


def bare(value: Any) -> Any:
    """Without fields that say nothing: null, and that a call was made directly."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if item not in (None, {"type": "direct"})}
    return [bare(item) for item in value] if isinstance(value, list) else value


def ids_of(body: dict[str, Any]) -> list[list[str]]:
    """The calls and results of each message, in their order."""
    contents = [entry["content"] for entry in body["messages"] if isinstance(entry["content"], list)]
    named = [[block.get("id") or block.get("tool_use_id") for block in content] for content in contents]
    return [[id for id in ids if id] for ids in named if any(ids)]


def test_later_requests_of_recorded_sequences_are_rebuilt_with_their_context_calls_and_order():
    pairs = [(name, *pair) for name, steps in all_sequences().items() for pair in replay(steps)]
    assert (len(all_sequences()), len(pairs)) == (26, 34)
    assert [name for name, theirs, ours in pairs if ids_of(theirs) != ids_of(ours)] == []
    missed = {name for name, theirs, ours in pairs if bare(turns_of(theirs)) != bare(turns_of(ours))}
    assert missed == RECORDER_FORGOT.keys()


def test_where_a_recorder_forgot_something_ours_only_holds_more():
    for name in RECORDER_FORGOT:
        for theirs, ours in replay(all_sequences()[name]):
            for given, built in zip(turns_of(theirs), turns_of(ours), strict=True):
                rest = [{k: v for k, v in block.items() if k != "citations"} for block in bare(built)]
                said = [{k: v for k, v in block.items() if k != "citations"} for block in bare(given)]
                assert [block for block in rest if block["type"] != "thinking"] == [
                    block for block in said if block["type"] != "thinking"
                ]
