"""Whatever arrives: values, or ``ProviderError``. However it is cut: the same."""

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from llm_foundation.chat import Role
from tests.chat.strategies import any_json, messages, near_valid
from tests.providers.builders import (
    answered,
    calls_of,
    completion,
    function,
    make_adapter,
    make_request,
    reasoning_of,
    sse,
    text_of,
)
from tests.providers.corpus import exchanges, needs_corpus
from tests.providers.fuzzing import bytes_of, damaged, fed, only_values_or_provider_errors, outcome, pieces_of, written

ADAPTER = make_adapter("custom")

texts = st.text(max_size=6)
signatures = st.none() | st.fixed_dictionaries({"google": st.fixed_dictionaries({"thought_signature": texts})})
whole_calls = st.lists(
    st.builds(
        lambda name, arguments, extra: function(name, json.dumps(arguments), extra_content=extra),
        st.sampled_from(["ping", "pong"]),
        st.dictionaries(texts, st.integers() | texts, max_size=2),
        signatures,
    ),
    max_size=3,
)
whole_messages = st.fixed_dictionaries({"content": texts, "reasoning_content": texts, "tool_calls": whole_calls})
recorded = st.deferred(lambda: st.sampled_from(exchanges()))


def numbered(message: dict[str, Any]) -> dict[str, Any]:
    """The message with ids that are one of a kind, so that none is replaced."""
    calls = [{**entry, "id": f"id-{place}"} for place, entry in enumerate(message["tool_calls"])]
    return {**message, "tool_calls": calls}


def deltas_of(draw: st.DataObject, message: dict[str, Any]) -> list[dict[str, Any]]:
    """The message in pieces, as a server would stream it."""
    deltas: list[Any] = [{"reasoning_content": piece} for piece in pieces_of(draw, message["reasoning_content"])]
    deltas += [{"content": piece} for piece in pieces_of(draw, message["content"])]
    for index, entry in enumerate(message["tool_calls"]):
        first, *rest = pieces_of(draw, entry["function"]["arguments"])
        head = {**entry, "index": index, "function": {"name": entry["function"]["name"], "arguments": first}}
        deltas.append({"tool_calls": [head]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in rest]
    return deltas


@given(whole_messages.map(numbered), st.data())
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(message, draw):
    choices = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas_of(draw, message)]
    end = {"id": "c-1", "model": "gpt-4o", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    decoder = ADAPTER.stream()
    events = [event for piece in bytes_of(draw, sse(*choices, end)) for event in decoder.feed(piece)]
    response = decoder.finish()
    assert response == answered(ADAPTER, completion(message))
    assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
    told = [(id, name, json.loads(arguments)) for id, name, arguments in calls_of(events)]
    assert told == [(made.id, made.name, made.arguments) for made in response.tool_calls]


@needs_corpus
@given(recorded.filter(lambda exchange: exchange.is_stream), st.data())
def test_any_chunking_of_a_recorded_stream_gives_the_same_events(exchange, draw):
    assert outcome(exchange, bytes_of(draw, exchange.raw)) == outcome(exchange, [exchange.raw])


@given(st.sampled_from([200, 400, 429, 500]), any_json | st.binary())
def test_any_body_is_a_value_or_a_provider_error(status, body):
    only_values_or_provider_errors(ADAPTER, status, body if isinstance(body, bytes) else written(body))


@given(near_valid(whole_messages.map(lambda message: completion(numbered(message), usage={"prompt_tokens": 1}))))
def test_a_damaged_answer_is_a_value_or_a_provider_error(body):
    only_values_or_provider_errors(ADAPTER, 200, written(body))


@needs_corpus
@given(near_valid(recorded.filter(lambda exchange: not exchange.is_stream).map(lambda exchange: exchange.body)))
def test_a_damaged_recorded_answer_is_a_value_or_a_provider_error(body):
    only_values_or_provider_errors(ADAPTER, 200, written(body))


@given(st.lists(any_json, max_size=5), st.data())
def test_any_stream_of_json_is_a_value_or_a_provider_error(payloads, draw):
    fed(ADAPTER, bytes_of(draw, b"".join(b"data: %b\n\n" % written(payload) for payload in payloads)))


@given(st.binary())
def test_any_bytes_are_a_value_or_a_provider_error(stream):
    fed(ADAPTER, [stream])


@needs_corpus
@given(recorded.filter(lambda exchange: exchange.is_stream), st.data())
def test_a_damaged_recorded_stream_is_a_value_or_a_provider_error(exchange, draw):
    fed(ADAPTER, [damaged(draw, exchange)])


@given(st.lists(messages, min_size=1, max_size=6))
def test_any_conversation_makes_a_request_that_is_json(conversation):
    assume(any(message.role is not Role.TOOL for message in conversation))
    for profile in ("openai", "mistral", "custom"):
        body = json.loads(make_adapter(profile).request(make_request(*conversation)).body)
        open_calls: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                assert message["tool_call_id"] == open_calls.pop(0)
            else:
                assert open_calls == []
            open_calls += [call["id"] for call in message.get("tool_calls", ())]
        assert open_calls == []
