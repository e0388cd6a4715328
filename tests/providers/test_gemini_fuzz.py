"""Whatever arrives: values, or ``ProviderError``. However it is cut: the same. Whatever was kept: it goes back."""

import json
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, Role
from llm_foundation.exceptions import ProviderStateError
from tests.chat.strategies import any_json, json_objects, messages, near_valid
from tests.providers.builders import HELLO, answered, calls_of, make_request, reasoning_of, sent, text_of
from tests.providers.corpus import exchanges, needs_corpus
from tests.providers.fuzzing import bytes_of, damaged, fed, only_values_or_provider_errors, outcome, written
from tests.providers.gemini_builders import (
    FLASH_2_5,
    answer,
    contents_sent,
    in_chunks,
    make_gemini,
    read,
    said,
    stored,
    stream_of,
)
from tests.providers.gemini_types import objections

ADAPTER = make_gemini()
ADAPTERS = [ADAPTER, make_gemini(FLASH_2_5), make_gemini("gemma-3-27b-it", options={"json_schema_fields": False})]

texts = st.text(max_size=6)
signatures = st.sampled_from(["", "c2ln", "YQ=="])
said_parts = st.builds(
    lambda text, signature, thought: said(text, signature=signature, thought=thought), texts, signatures, st.booleans()
)
calls = st.builds(
    lambda name, args, signature: (
        {"functionCall": {"name": name, "args": args}} | ({"thoughtSignature": signature} if signature else {})
    ),
    st.sampled_from(["ping", "pong"]),
    json_objects.filter(lambda args: "INVALID_JSON" not in args),
    signatures,
)
code = st.just({"executableCode": {"language": "PYTHON", "code": "1"}})
parts = st.lists(said_parts | calls | code, max_size=6)
recorded = st.deferred(lambda: st.sampled_from(exchanges("gemini")))


def with_ids(entries):
    """The parts with native ids that are one of a kind, so that none is replaced."""
    return [
        {**entry, "functionCall": {**entry["functionCall"], "id": f"fc-{place}"}} if "functionCall" in entry else entry
        for place, entry in enumerate(entries)
    ]


@given(parts.map(with_ids), st.data())
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(entries, draw):
    decoder = ADAPTER.stream()
    events = [event for piece in bytes_of(draw, in_chunks(*entries)) for event in decoder.feed(piece)]
    response = decoder.finish()
    assert response == read(ADAPTER, *entries)
    assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
    told = [(id, name, json.loads(arguments)) for id, name, arguments in calls_of(events)]
    assert told == [(made.id, made.name, made.arguments) for made in response.tool_calls]


@given(parts | parts.map(with_ids))
def test_what_was_kept_goes_back_unchanged_and_in_order(entries):
    spoken = read(ADAPTER, *entries).to_message()
    assume(spoken.provider_state is not None)
    kept = [entry for entry in entries if entry.get("text") != "" or entry.get("thoughtSignature")]
    for message in (spoken, stored(spoken)):
        again = contents_sent(ADAPTER, HELLO, message)[1]["parts"]
        assert json.dumps(again) == json.dumps(kept)


@needs_corpus
@given(recorded.filter(lambda exchange: exchange.is_stream), st.data())
def test_any_chunking_of_a_recorded_stream_gives_the_same_events(exchange, draw):
    assert outcome(exchange, bytes_of(draw, exchange.raw)) == outcome(exchange, [exchange.raw])


def goes_back(spoken: ChatMessage | None) -> None:
    """What was read of a hostile answer makes a next request that Google's types accept, or is refused before."""
    if spoken is None:
        return
    try:
        body = sent(ADAPTER, make_request(HELLO, spoken, HELLO))
    except ProviderStateError:
        ids = [item["functionCall"].get("id") for item in spoken.provider_state.items if "functionCall" in item]
        assert len(set(filter(None, ids))) not in (0, len(ids))
    else:
        assert body["contents"][-1]["role"] == "user"


@given(st.sampled_from([200, 400, 429, 500]), any_json | st.binary())
def test_any_body_is_a_value_or_a_provider_error(status, body):
    goes_back(only_values_or_provider_errors(ADAPTER, status, body if isinstance(body, bytes) else written(body)))


@given(near_valid(parts.map(with_ids).map(lambda entries: answer(*entries, usageMetadata={"promptTokenCount": 1}))))
def test_a_damaged_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(ADAPTER, 200, written(body)))


@needs_corpus
@given(near_valid(recorded.filter(lambda exchange: not exchange.is_stream).map(lambda exchange: exchange.body)))
def test_a_damaged_recorded_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(ADAPTER, 200, written(body)))


pieces = st.builds(
    lambda call: {"functionCall": call},
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(["ping", "pong", ""]),
            "willContinue": st.booleans(),
            "args": json_objects,
            "partialArgs": st.lists(
                st.fixed_dictionaries(
                    {"jsonPath": st.sampled_from(["$.a", "$.a.b", "$.a[0]", "$.a[1].b", "$['a']", "$", "x", "$.b"])},
                    optional={
                        "stringValue": texts,
                        "numberValue": st.integers(),
                        "nullValue": st.just("NULL_VALUE"),
                        "willContinue": st.booleans(),
                    },
                ),
                max_size=3,
            ),
        },
    ),
)


@given(st.lists(pieces | said_parts, max_size=8), st.sampled_from(["STOP", "MAX_TOKENS", None]), st.data())
def test_calls_in_whatever_pieces_are_values_or_provider_errors(entries, finish, draw):
    stream = stream_of(*(answer(entry, finish=None) for entry in entries), answer(finish=finish))
    goes_back(fed(ADAPTER, bytes_of(draw, stream)))


@given(st.lists(any_json, max_size=5), st.data())
def test_any_stream_of_json_is_a_value_or_a_provider_error(payloads, draw):
    stream = b"".join(b"data: %b\n\n" % written(payload) for payload in payloads)
    goes_back(fed(ADAPTER, bytes_of(draw, stream)))


@given(st.binary())
def test_any_bytes_are_a_value_or_a_provider_error(stream):
    goes_back(fed(ADAPTER, [stream]))


@needs_corpus
@given(recorded.filter(lambda exchange: exchange.is_stream), st.data())
def test_a_damaged_recorded_stream_is_a_value_or_a_provider_error(exchange, draw):
    goes_back(fed(ADAPTER, [damaged(draw, exchange)]))


@given(near_valid(parts.filter(bool)), st.sampled_from(["a", "b"]))
def test_any_damaged_state_goes_back_or_is_refused(items, id):
    spoken = read(ADAPTER, {"functionCall": {"name": "ping", "args": {"n": 1}}}, said("x")).to_message()
    try:
        state = spoken.provider_state.from_dict(
            spoken.provider_state.to_dict() | {"items": items, "tool_call_bindings": {id: id}}
        )
        body = sent(ADAPTER, make_request(HELLO, spoken.model_copy(update={"provider_state": state})))
    except ProviderStateError:
        return
    assert len(body["contents"]) == 3


@given(st.lists(messages, min_size=1, max_size=6))
def test_any_conversation_makes_a_request_in_the_order_that_gemini_insists_on(conversation):
    assume(any(message.role is not Role.TOOL and (message.text or message.tool_calls) for message in conversation))
    for adapter in ADAPTERS:
        body = sent(adapter, make_request(*conversation))
        assert objections(body) == []
        contents = body["contents"]
        assert called_in(contents[0]) == []
        assert contents[-1]["role"] == "user"
        for content, following in pairwise(contents):
            assert not called_in(following) or content["role"] == "user"
            if names := called_in(content):
                results = [part["functionResponse"]["name"] for part in following["parts"]]
                assert results == names


def called_in(content) -> list[str]:
    return [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]


def test_endless_nesting_is_an_error():
    assert only_values_or_provider_errors(ADAPTER, 200, b"[" * 200_000) is None
    assert fed(ADAPTER, [b'data: {"candidates":' + b"[" * 200_000 + b"\n\n"]) is None


def test_a_hostile_number_is_an_error():
    body = json.dumps(answer({"functionCall": {"name": "x", "args": {"n": 10**4000}}})).encode()
    assert only_values_or_provider_errors(ADAPTER, 200, body) is None
    assert answered(ADAPTER, answer(said("x"))).content == "x"
