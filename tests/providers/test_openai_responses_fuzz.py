"""Whatever arrives: values, or ``ProviderError``. However it is cut: the same. Whatever is kept goes back."""

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, ProviderState, Role
from llm_foundation.exceptions import InvalidMessage, ProviderStateError
from tests.chat.strategies import any_json, messages, near_valid
from tests.providers.builders import HELLO, answered, calls_of, make_request, reasoning_of, sent, text_of
from tests.providers.corpus import exchanges, needs_corpus
from tests.providers.fuzzing import bytes_of, damaged, fed, only_values_or_provider_errors, outcome, pieces_of
from tests.providers.fuzzing import written as hostile
from tests.providers.responses_builders import called, end, events, output, responses_adapter, said, thought, written

ADAPTER = responses_adapter("custom")

texts = st.text(max_size=6)
arguments = st.dictionaries(texts, st.integers() | texts, max_size=2).map(json.dumps)
items = (
    st.builds(said, texts)
    | st.builds(thought, texts, summary=st.lists(texts, max_size=2).map(tuple))
    | st.builds(called, st.sampled_from(["ping", "pong"]), arguments)
    | st.builds(written, st.just("sql"), texts)
    | st.builds(lambda: {"id": "ws", "type": "web_search_call", "status": "completed"})
)
recorded = st.deferred(lambda: st.sampled_from(exchanges("responses")))
streams = recorded.filter(lambda exchange: exchange.is_stream)


def numbered(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items with ids that are one of a kind, so that none is replaced."""
    return [
        item | {"id": f"{item['id']}_{place}"} | ({"call_id": f"call_{place}"} if "call_id" in item else {})
        for place, item in enumerate(listed)
    ]


outputs = st.lists(items, max_size=4).map(numbered)


def told_in_pieces(draw: st.DataObject, listed: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    told: list[tuple[str, dict[str, Any]]] = []
    for index, item in enumerate(listed):
        head = item | {key: "" for key in ("arguments", "input") if key in item} | {"status": "in_progress"}
        head |= {key: [] for key in ("content", "summary") if key in item}
        told.append(("output_item.added", {"output_index": index, "item": head}))
        told += [(kind, {"output_index": index, "delta": piece, **more}) for kind, piece, more in _deltas(draw, item)]
        if draw.draw(st.booleans()):
            told.append(("output_item.done", {"output_index": index, "item": item}))
    return told


def _deltas(draw: st.DataObject, item: dict[str, Any]) -> list[tuple[str, str, dict[str, int]]]:
    whole: list[tuple[str, str, dict[str, int]]] = []
    if "arguments" in item:
        whole = [("function_call_arguments.delta", item["arguments"], {})]
    elif "input" in item:
        whole = [("custom_tool_call_input.delta", item["input"], {})]
    for place, part in enumerate(item.get("content", ())):
        whole.append(("output_text.delta", part["text"], {"content_index": place}))
    for place, part in enumerate(item.get("summary", ())):
        whole.append(("reasoning_summary_text.delta", part["text"], {"summary_index": place}))
    return [(kind, piece, more) for kind, text, more in whole for piece in pieces_of(draw, text)]


@given(outputs, st.data())
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(listed, draw):
    decoder = ADAPTER.stream()
    stream = events(*told_in_pieces(draw, listed), end(*listed))
    told = [event for piece in bytes_of(draw, stream) for event in decoder.feed(piece)]
    response = decoder.finish()
    assert response == answered(ADAPTER, output(*listed))
    assert (text_of(told), reasoning_of(told)) == (response.content, response.reasoning or "")
    assert [(id, name, json.loads(given)) for id, name, given in calls_of(told)] == [
        (made.id, made.name, made.arguments) for made in response.tool_calls
    ]


@given(outputs)
def test_what_is_kept_goes_back_as_it_came(listed):
    message = answered(ADAPTER, output(*listed)).to_message()
    kept = ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript())))
    results = [ChatMessage.tool_result(made.id, "x") for made in kept.tool_calls]
    back = sent(ADAPTER, make_request(HELLO, kept, *results))["input"][1:]
    while listed and listed[-1]["type"] == "reasoning":
        listed = listed[:-1]  # alone it would be refused
    assert back[: len(back) - len(results)] == listed


@needs_corpus
@given(streams, st.data())
def test_any_chunking_of_a_recorded_stream_gives_the_same_events(exchange, draw):
    assert outcome(exchange, bytes_of(draw, exchange.raw)) == outcome(exchange, [exchange.raw])


def goes_back(kept: ChatMessage | None) -> None:
    """A whole answer that was kept can be sent again, whatever it was."""
    if kept is not None:
        assert json.loads(ADAPTER.request(make_request(HELLO, kept)).body or b"")


@given(st.sampled_from([200, 400, 429, 500]), any_json | st.binary())
def test_any_body_is_a_value_or_a_provider_error(status, body):
    goes_back(only_values_or_provider_errors(ADAPTER, status, body if isinstance(body, bytes) else hostile(body)))


@given(near_valid(outputs.map(lambda listed: output(*listed, usage={"input_tokens": 1}))))
def test_a_damaged_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(ADAPTER, 200, hostile(body)))


@needs_corpus
@given(near_valid(recorded.filter(lambda exchange: not exchange.is_stream).map(lambda exchange: exchange.body)))
def test_a_damaged_recorded_answer_is_a_value_or_a_provider_error(body):
    goes_back(only_values_or_provider_errors(ADAPTER, 200, hostile(body)))


@given(st.lists(any_json, max_size=5), st.data())
def test_any_stream_of_json_is_a_value_or_a_provider_error(payloads, draw):
    goes_back(fed(ADAPTER, bytes_of(draw, b"".join(b"data: %b\n\n" % hostile(payload) for payload in payloads))))


KINDS = ["created", "output_item.added", "output_item.done", "output_text.delta", "output_text.done", "completed"]
KINDS += ["function_call_arguments.delta", "custom_tool_call_input.delta", "reasoning_summary_text.delta", "incomplete"]
FIELDS = ["output_index", "content_index", "summary_index", "item_id", "item", "delta", "text", "name", "response"]
typed = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, any_json | items))


@given(st.lists(st.tuples(st.sampled_from(KINDS), typed), max_size=6))
def test_any_events_are_a_value_or_a_provider_error(told):
    lines = [b"data: %b\n\n" % hostile({"type": f"response.{kind}", **fields}) for kind, fields in told]
    goes_back(fed(ADAPTER, [b"".join(lines)]))


@given(st.binary())
def test_any_bytes_are_a_value_or_a_provider_error(stream):
    goes_back(fed(ADAPTER, [stream]))


@needs_corpus
@given(streams, st.data())
def test_a_damaged_recorded_stream_is_a_value_or_a_provider_error(exchange, draw):
    goes_back(fed(ADAPTER, [damaged(draw, exchange)]))


@given(st.lists(messages, min_size=1, max_size=6))
def test_any_conversation_makes_a_request_that_is_json(conversation):
    assume(any(message.role is not Role.TOOL for message in conversation))
    for profile in ("openai", "custom"):
        body = json.loads(responses_adapter(profile).request(make_request(*conversation)).body)
        open_calls: list[str] = []
        for item in body["input"]:
            kind = item.get("type")
            if kind == "function_call_output":
                assert item["call_id"] == open_calls.pop(0)
            elif kind != "function_call" or open_calls == []:
                assert open_calls == []
            open_calls += [item["call_id"]] if kind == "function_call" else []
        assert open_calls == []


@given(near_valid(st.lists(items, max_size=3)), st.sampled_from([(), ("call_1",)]))
def test_any_context_of_our_own_goes_back_or_is_refused(listed, ids):
    """Nothing else is raised than ``ProviderStateError``, and that before there is a request."""
    try:
        state = ProviderState(owner=ADAPTER.owner, items=tuple(listed) if isinstance(listed, list) else ())
    except ValueError:
        return
    calls = [{"id": id, "type": "function", "function": {"name": "ping", "arguments": "{}"}} for id in ids]
    entry = {"role": "assistant", "content": "x"} | ({"tool_calls": calls} if calls else {})
    message = ChatMessage.from_dict(entry).model_copy(update={"provider_state": state})
    try:
        body = ADAPTER.request(make_request(HELLO, message)).body
    except (ProviderStateError, InvalidMessage):
        return
    assert json.loads(body or b"")
