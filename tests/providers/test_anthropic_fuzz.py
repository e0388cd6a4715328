"""Whatever arrives: values, or ``ProviderError``. However it is cut: the same. Whatever was kept: it goes back."""

import json
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, Role
from tests.chat.strategies import any_json, json_objects, messages, near_valid
from tests.providers.anthropic_builders import FOUND, OPUS_4_8, OPUS_5_5, SEARCH, as_stream, make_claude, message, said
from tests.providers.builders import (
    HELLO,
    answered,
    calls_of,
    make_request,
    messages_sent,
    reasoning_of,
    sent,
    text_of,
)
from tests.providers.corpus import exchanges, needs_corpus
from tests.providers.fuzzing import bytes_of, damaged, fed, only_values_or_provider_errors, outcome, written

CLAUDE = make_claude()
ADAPTERS = [CLAUDE, make_claude(OPUS_4_8), make_claude(OPUS_5_5, options={"prompt_cache": "always"})]

texts = st.text(max_size=6)
thoughts = st.builds(lambda text, n: {"type": "thinking", "thinking": text, "signature": f"s{n}"}, texts, st.integers())
hidden = st.builds(lambda n: {"type": "redacted_thinking", "data": f"d{n}"}, st.integers())
calls = st.builds(
    lambda name, input: {"type": "tool_use", "name": name, "input": input},
    st.sampled_from(["ping", "a.b"]),
    json_objects,
)
blocks = st.builds(said, texts) | thoughts | hidden | calls | st.sampled_from([SEARCH, FOUND])
contents = st.lists(blocks, max_size=6)
recorded = st.deferred(lambda: st.sampled_from(exchanges("anthropic")))


def numbered(content):
    """The blocks with ids and signatures that are one of a kind, so that none is replaced or found to be doubled."""
    own = {"tool_use": "id", "server_tool_use": "id", "thinking": "signature", "web_search_tool_result": "tool_use_id"}
    return [
        {**entry, own[entry["type"]]: f"x{place}"} if entry["type"] in own else entry
        for place, entry in enumerate(content)
    ]


@given(contents.map(numbered), st.sampled_from(["end_turn", "tool_use", "max_tokens", "pause_turn"]), st.data())
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(content, stop, draw):
    whole = message(*content, stop=stop)
    assume(stop != "max_tokens" or not content or content[-1]["type"] != "tool_use")
    decoder = CLAUDE.stream()
    data = as_stream(whole, size=draw.draw(st.integers(min_value=1, max_value=5)))
    events = [event for piece in bytes_of(draw, data) for event in decoder.feed(piece)]
    response = decoder.finish()
    assert response == answered(CLAUDE, whole)
    assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
    told = [(id, name, json.loads(arguments)) for id, name, arguments in calls_of(events)]
    assert told == [(made.id, made.name, made.arguments) for made in response.tool_calls]


@given(contents)
def test_what_an_answer_kept_always_goes_back_in_its_order(content):
    spoken = answered(CLAUDE, message(*content)).to_message()
    stored = ChatMessage.from_dict(spoken.to_transcript())
    sent_now, sent_later = (messages_sent(CLAUDE, HELLO, turn, HELLO) for turn in (spoken, stored))
    assert sent_now == sent_later
    assert [entry["role"] for entry in sent_now] in (["user"], ["user", "assistant", "user"])


@given(contents.map(numbered))
def test_kept_context_goes_back_unchanged(content):
    spoken = answered(CLAUDE, message(*content)).to_message()
    assume(spoken.provider_state is not None)
    assume(not any(entry.get("name") == "a.b" for entry in content))
    visible = [entry for entry in content if entry["type"] != "text" or entry["text"].strip()]
    assert messages_sent(CLAUDE, HELLO, spoken, HELLO)[1]["content"] == visible


@needs_corpus
@given(recorded.filter(lambda exchange: exchange.is_stream), st.data())
def test_any_chunking_of_a_recorded_stream_gives_the_same_events(exchange, draw):
    assert outcome(exchange, bytes_of(draw, exchange.raw)) == outcome(exchange, [exchange.raw])


def goes_back(spoken: ChatMessage | None) -> None:
    """Whatever was read of a hostile answer does not stand in the way of the next request."""
    if spoken is not None:
        assert sent(CLAUDE, make_request(HELLO, spoken, HELLO))["messages"]


@given(st.sampled_from([200, 400, 429, 500, 529]), any_json | st.binary())
def test_any_body_is_a_value_or_a_provider_error(status, body):
    goes_back(only_values_or_provider_errors(CLAUDE, status, body if isinstance(body, bytes) else written(body)))


@given(near_valid(contents.map(lambda content: message(*numbered(content)))))
def test_a_damaged_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(CLAUDE, 200, written(body)))


@needs_corpus
@given(near_valid(recorded.filter(lambda exchange: not exchange.is_stream).map(lambda exchange: exchange.body)))
def test_a_damaged_recorded_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(CLAUDE, 200, written(body)))


@given(st.lists(any_json, max_size=5), st.data())
def test_any_stream_of_json_is_a_value_or_a_provider_error(payloads, draw):
    goes_back(fed(CLAUDE, bytes_of(draw, b"".join(b"data: %b\n\n" % written(payload) for payload in payloads))))


kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
)
odd_events = st.dictionaries(
    st.sampled_from(["index", "delta", "content_block", "message", "usage"]), any_json, max_size=4
)


@given(st.lists(st.builds(lambda kind, rest: {**rest, "type": kind}, kinds, odd_events), max_size=6))
def test_any_stream_of_known_events_is_a_value_or_a_provider_error(events):
    goes_back(fed(CLAUDE, [b"".join(b"data: %b\n\n" % written(event) for event in events)]))


@given(st.binary())
def test_any_bytes_are_a_value_or_a_provider_error(stream):
    fed(CLAUDE, [stream])


@needs_corpus
@given(recorded.filter(lambda exchange: exchange.is_stream), st.data())
def test_a_damaged_recorded_stream_is_a_value_or_a_provider_error(exchange, draw):
    goes_back(fed(CLAUDE, [damaged(draw, exchange)]))


@given(st.lists(messages, min_size=1, max_size=6))
def test_any_conversation_makes_a_request_that_takes_turns(conversation):
    assume(any(entry.role is not Role.TOOL for entry in conversation))
    for adapter in ADAPTERS:
        spoken = sent(adapter, make_request(*conversation))["messages"]
        roles = [entry["role"] for entry in spoken if entry["role"] != "system"]
        assert roles[0] == "user"
        assert all(role != following for role, following in pairwise(roles))
        open_calls: list[str] = []
        for entry in spoken:
            answers = [block["tool_use_id"] for block in entry["content"] if block["type"] == "tool_result"]
            assert answers == open_calls
            assert [block["type"] for block in entry["content"]][: len(answers)] == ["tool_result"] * len(answers)
            open_calls = [block["id"] for block in entry["content"] if block["type"] == "tool_use"]
        assert open_calls == []
