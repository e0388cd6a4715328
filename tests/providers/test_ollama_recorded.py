"""Recorded Ollama traffic: answers read as a second reader reads them, requests built anew.

Run it for the numbers::

    python -m tests.providers.test_ollama_recorded
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from llm_foundation.chat import ChatMessage, ChatRequest, CompletionResponse
from llm_foundation.providers.recordings.ollama import read_request
from tests.providers.agreement import Cut, at_random, by_byte, compared, expected_facts, facts, read, whole
from tests.providers.builders import calls_of, make_request, reasoning_of, sent, text_of
from tests.providers.corpus import Exchange, exchanges, needs_corpus
from tests.providers.ollama_types import objections

OURS = {"truncate": False, "shift": False}
"""What every request says beside what the recorded client said."""


def ollama_differences(exchange: Exchange, cut: Cut = whole) -> dict[str, tuple[Any, Any]]:
    """Where the two readers differ. The second one does not count thinking as something that goes back."""
    expected = expected_facts(exchange)
    expected["provider_state"] = ["thinking"] if expected["reasoning"] else []
    return compared(facts(*read(exchange, cut)), expected)


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded."""
    return [exchange for exchange in exchanges("ollama") if exchange.request]


def streams() -> list[Exchange]:
    return [exchange for exchange in exchanges("ollama") if exchange.is_stream]


def request_of(exchange: Exchange) -> ChatRequest:
    return read_request(exchange, exchange.adapter().owner)


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return sent(exchange.adapter(), request_of(exchange))


@needs_corpus
def test_every_recorded_answer_is_read_as_expected():
    assert len(exchanges("ollama")) == 16
    assert {exchange.id: found for exchange in exchanges("ollama") if (found := ollama_differences(exchange))} == {}


@needs_corpus
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_streams_are_read_alike_in_random_pieces(seed):
    assert len(streams()) == 7
    assert {stream.id: found for stream in streams() if (found := ollama_differences(stream, at_random(seed)))} == {}


@needs_corpus
def test_streams_are_read_alike_byte_by_byte():
    assert {stream.id: found for stream in streams() if (found := ollama_differences(stream, by_byte))} == {}


@needs_corpus
def test_events_of_a_stream_tell_what_its_response_says():
    for exchange in streams():
        decoder = exchange.adapter().stream()
        events = decoder.feed(exchange.raw)
        response = decoder.finish()
        assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
        assert [(id, name) for id, name, _ in calls_of(events)] == [(c.id, c.name) for c in response.tool_calls]


@needs_corpus
def test_a_stream_that_nobody_asked_for_is_read_all_the_same():
    for exchange in streams():
        asked = exchange.adapter().response(200, {}, exchange.raw)
        decoder = exchange.adapter().stream()
        decoder.feed(exchange.raw)
        unasked = decoder.finish()
        assert asked.model_dump(exclude={"tool_calls"}) == unasked.model_dump(exclude={"tool_calls"})


@needs_corpus
def test_every_response_survives_storage():
    for exchange in exchanges("ollama"):
        response, _ = read(exchange)
        assert CompletionResponse.model_validate_json(response.model_dump_json()) == response


@needs_corpus
def test_requests_are_built_as_they_were_recorded():
    assert len(recorded()) == 7
    for exchange in recorded():
        recorded_body = {key: value for key, value in exchange.request.items() if value not in (None, "", [], {})}
        assert rebuilt(exchange) == recorded_body | OURS


@needs_corpus
def test_every_rebuilt_request_is_accepted_by_the_official_types():
    assert {exchange.id: found for exchange in recorded() if (found := objections(rebuilt(exchange)))} == {}


@needs_corpus
def test_a_recorded_call_goes_back_with_its_id_and_the_thinking_before_it():
    [exchange] = [exchange for exchange in recorded() if "chat-with-tool-call" in exchange.id]
    spoken = read(exchange)[0].to_message()
    answered = ChatMessage.tool_result("call_gsiiy8py", "18 degrees")
    body = sent(exchange.adapter(), make_request(*request_of(exchange).messages, spoken, answered))
    message = exchange.body["message"]
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "thinking": message["thinking"],
            "tool_calls": [
                {"id": "call_gsiiy8py", "function": {"name": "get_current_weather", "arguments": {"city": "Paris"}}}
            ],
        },
        {
            "role": "tool",
            "content": "18 degrees",
            "tool_name": "get_current_weather",
            "tool_call_id": "call_gsiiy8py",
        },
    ]
    assert objections(body) == []


def report() -> Iterator[str]:
    """The numbers, in words."""
    everything = exchanges("ollama")
    for name, subjects, cut in (
        ("whole", everything, whole),
        ("random pieces", streams(), at_random(1)),
        ("single bytes", streams(), by_byte),
    ):
        agreed = sum(1 for exchange in subjects if not ollama_differences(exchange, cut))
        yield f"{agreed} of {len(subjects)} answers read as expected ({name})"
    accepted = sum(1 for exchange in recorded() if not objections(rebuilt(exchange)))
    yield f"{accepted} of {len(recorded())} rebuilt requests accepted by the official types"


if __name__ == "__main__":
    sys.stdout.writelines(f"{told}\n" for told in report())
