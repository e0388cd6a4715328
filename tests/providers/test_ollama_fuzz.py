"""Whatever arrives: values, or ``ProviderError``. However it is cut: the same. Whatever was kept: it goes back."""

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, Role
from llm_foundation.exceptions import ProviderStateError
from tests.chat.strategies import any_json, json_objects, messages, near_valid
from tests.providers.builders import HELLO, calls_of, make_request, reasoning_of, sent, text_of
from tests.providers.corpus import exchanges, needs_corpus
from tests.providers.fuzzing import bytes_of, fed, only_values_or_provider_errors, outcome, pieces_of, written
from tests.providers.ollama_builders import (
    CLOUD,
    GPT_OSS,
    called,
    line,
    lines,
    make_ollama,
    messages_sent,
    read,
    stored,
)
from tests.providers.ollama_types import objections

ADAPTER = make_ollama()
ADAPTERS = [ADAPTER, make_ollama(GPT_OSS, context_window=8192), make_ollama(CLOUD, supports_tools=False)]

texts = st.text(max_size=6)
arguments = json_objects.filter(lambda given: "INVALID_JSON" not in given)
calls = st.lists(st.builds(lambda name, given: (name, given), st.sampled_from(["ping", "pong"]), arguments), max_size=4)
recorded = st.deferred(lambda: st.sampled_from(exchanges("ollama")))
recorded_streams = recorded.filter(lambda exchange: exchange.is_stream)


def with_ids(made):
    """The calls with ids that are one of a kind, so that none is replaced."""
    return [
        {"id": f"call_{place}", "function": {"name": name, "arguments": given}}
        for place, (name, given) in enumerate(made)
    ]


@given(texts, texts, calls.map(with_ids), st.data())
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(thinking, text, made, draw):
    thought = [line(thinking=piece) for piece in pieces_of(draw, thinking)]
    said = [line(piece) for piece in pieces_of(draw, text)]
    stream = lines(*thought, *said, *(line(calls=[entry]) for entry in made), line(done=True))
    decoder = ADAPTER.stream()
    events = [event for piece in bytes_of(draw, stream) for event in decoder.feed(piece)]
    response = decoder.finish()
    assert response == read(ADAPTER, text, thinking=thinking, calls=made)
    assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
    told = [(id, name, json.loads(given)) for id, name, given in calls_of(events)]
    assert told == [(call.id, call.name, call.arguments) for call in response.tool_calls]


@given(texts, texts, calls.map(with_ids))
def test_what_was_kept_goes_back_unchanged_and_in_order(thinking, text, made):
    spoken = read(ADAPTER, text, thinking=thinking, calls=made).to_message()
    expected = {"role": "assistant", "content": text}
    expected |= ({"thinking": thinking} if thinking else {}) | ({"tool_calls": made} if made else {})
    for message in (spoken, stored(spoken)):
        assert json.dumps(messages_sent(ADAPTER, HELLO, message)[1]) == json.dumps(expected)


@needs_corpus
@given(recorded_streams, st.data())
def test_any_chunking_of_a_recorded_stream_gives_the_same_events(exchange, draw):
    assert outcome(exchange, bytes_of(draw, exchange.raw)) == outcome(exchange, [exchange.raw])


def goes_back(spoken: ChatMessage | None) -> None:
    """What was read of a hostile answer makes a next request that the official types accept."""
    if spoken is not None:
        assert objections(sent(ADAPTER, make_request(HELLO, spoken, HELLO))) == []


@given(st.sampled_from([200, 400, 429, 500]), any_json | st.binary())
def test_any_body_is_a_value_or_a_provider_error(status, body):
    goes_back(only_values_or_provider_errors(ADAPTER, status, body if isinstance(body, bytes) else written(body)))


whole = st.builds(
    lambda text, thinking, made: line(text, thinking=thinking, calls=made, done=True, eval_count=1),
    texts,
    texts,
    calls.map(with_ids),
)


@given(near_valid(whole))
def test_a_damaged_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(ADAPTER, 200, written(body)))


@needs_corpus
@given(near_valid(recorded.filter(lambda exchange: not exchange.is_stream).map(lambda exchange: exchange.body)))
def test_a_damaged_recorded_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(ADAPTER, 200, written(body)))


@given(st.lists(any_json, max_size=5), st.data())
def test_any_stream_of_json_is_a_value_or_a_provider_error(payloads, draw):
    goes_back(fed(ADAPTER, bytes_of(draw, b"".join(b"%b\n" % written(payload) for payload in payloads))))


@given(st.binary() | st.binary().map(lambda rest: b"{" + rest))
def test_any_bytes_are_a_value_or_a_provider_error(stream):
    goes_back(fed(ADAPTER, [stream]))


@needs_corpus
@given(recorded_streams, st.data())
def test_a_damaged_recorded_stream_is_a_value_or_a_provider_error(exchange, draw):
    entries = exchange.raw.splitlines()[:40]
    place = draw.draw(st.integers(min_value=0, max_value=len(entries) - 1))
    spoilt = written(draw.draw(near_valid(st.just(json.loads(entries[place])))))
    broken = draw.draw(
        st.sampled_from(
            [
                [*entries[:place], spoilt, *entries[place + 1 :]],
                [*entries[:place], *entries[place + 1 :]],
                [*entries[: place + 1], *entries[place:]],
                [*entries[:place], entries[place][: len(entries[place]) // 2]],
                [*entries[place:], *entries[:place]],
            ]
        )
    )
    goes_back(fed(ADAPTER, bytes_of(draw, b"\n".join([*broken, b""]))))


@given(near_valid(st.just([{"thinking": "hm", "calls": [{"x": 1}]}])), st.sampled_from(["a", "b"]))
def test_any_damaged_state_goes_back_or_is_refused(items, id):
    spoken = read(ADAPTER, thinking="hm", calls=[called(id="a", extra={"x": 1})]).to_message()
    try:
        state = spoken.provider_state.from_dict(
            spoken.provider_state.to_dict() | {"items": items, "tool_call_bindings": {id: id}}
        )
        body = sent(ADAPTER, make_request(HELLO, spoken.model_copy(update={"provider_state": state})))
    except ProviderStateError:
        return
    assert objections(body) == []


@given(st.lists(messages, min_size=1, max_size=6))
def test_any_conversation_makes_a_request_that_the_official_types_accept(conversation):
    assume(any(message.role is not Role.TOOL for message in conversation))
    for adapter in ADAPTERS:
        body = sent(adapter, make_request(*conversation))
        assert objections(body) == []
        open_calls: list[tuple[str, str]] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                assert (message["tool_call_id"], message["tool_name"]) == open_calls.pop(0)
            else:
                assert open_calls == []
            open_calls += [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", ())]
        assert open_calls == []
        assert any(message["role"] != "system" for message in body["messages"])


def test_a_list_of_lines_is_no_stream():
    assert only_values_or_provider_errors(ADAPTER, 200, b"[1]\n{}\n{}\n") is None
    assert fed(ADAPTER, [b"[1]\n{}\n{}\n"]) is None


def test_endless_nesting_is_an_error():
    assert only_values_or_provider_errors(ADAPTER, 200, b'{"message":' + b"[" * 200_000) is None
    assert fed(ADAPTER, [b'{"message":' + b"[" * 200_000 + b"\n"]) is None


def test_a_hostile_number_makes_the_call_invalid():
    entry = {"function": {"name": "x", "arguments": {"n": 10**4000}}}
    [call] = read(ADAPTER, calls=[entry]).tool_calls
    assert (call.arguments, call.invalid_arguments) == ({}, f'{{"n": {10**4000}}}')
