"""Streamed answers, as providers really send them."""

import json

import pytest

from llm_foundation.chat import FinishReason, Usage
from llm_foundation.exceptions import IncompleteStream, InvalidRequest, InvalidResponse, Overloaded, ServerError
from tests.providers.builders import (
    answered,
    chunks,
    completion,
    function,
    make_adapter,
    reasoning_of,
    sse,
    streamed,
    text_of,
)

ADAPTER = make_adapter()


def choice(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_a_plain_answer_in_pieces():
    stream = sse(
        {"id": "c-1", "model": "gpt-4o", **choice(role="assistant", content="")},
        choice(content="Hel"),
        choice(content="lo!"),
        choice(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    )
    events, response = streamed(ADAPTER, stream)
    assert [event.text for event in events] == ["Hel", "lo!"]
    assert response == answered(
        ADAPTER, completion({"content": "Hello!"}, usage={"prompt_tokens": 3, "completion_tokens": 2})
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_stream_equals_the_whole_answer_however_it_is_cut(size):
    stream = chunks(
        {"reasoning_content": "h"},
        {"reasoning_content": "m 🙂"},
        {"content": "Grü"},
        {"content": "ße"},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ping", "arguments": '{"ü'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '":1}'}}]},
        finish="tool_calls",
    )
    events, response = streamed(ADAPTER, stream, size=size)
    message = {
        "content": "Grüße",
        "reasoning_content": "hm 🙂",
        "tool_calls": [function("ping", '{"ü":1}', id="a")],
    }
    whole = answered(ADAPTER, completion(message, finish="tool_calls"))
    assert response == whole.model_copy(update={"model": "", "response_id": None})
    assert (text_of(events), reasoning_of(events)) == ("Grüße", "hm 🙂")


def test_content_chunks_and_plain_strings_may_mix():
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    stream = chunks(
        {"content": ""}, {"content": thinking}, {"content": [{"type": "text", "text": "1"}]}, {"content": "44"}
    )
    events, response = streamed(ADAPTER, stream)
    assert (response.content, response.reasoning) == ("144", "hm")
    assert (text_of(events), reasoning_of(events)) == ("144", "hm")


def test_the_last_usage_counts():
    counted = [choice(content="x") | {"usage": {"prompt_tokens": 12, "completion_tokens": n}} for n in range(3)]
    _, response = streamed(ADAPTER, sse(*counted, choice(finish="stop") | {"usage": None}))
    assert response.usage == Usage(input_tokens=12, output_tokens=2)


def test_usage_may_stand_in_the_choice_or_in_groqs_own_field():
    in_choice = choice(finish="stop")
    in_choice["choices"][0]["usage"] = {"prompt_tokens": 3}
    assert streamed(ADAPTER, sse(in_choice))[1].usage.input_tokens == 3
    groq = choice(finish="stop") | {"x_groq": {"usage": {"prompt_tokens": 4}}}
    assert streamed(ADAPTER, sse(groq))[1].usage.input_tokens == 4


def test_chunks_without_choices_or_delta_are_passed_over():
    filtered = {"choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}}]}
    stream = sse({"choices": [], "prompt_filter_results": []}, filtered, choice(content="x"), choice(finish="stop"))
    assert streamed(ADAPTER, stream)[1].content == "x"


def test_a_second_choice_does_not_mix_with_the_first():
    other = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}
    assert streamed(ADAPTER, sse(choice(content="A"), other, choice(finish="stop")))[1].content == "A"


def test_an_empty_reason_in_every_chunk_is_no_end():
    stream = sse(choice(content="x", finish=""), done=False)
    decoder = ADAPTER.stream()
    decoder.feed(stream)
    with pytest.raises(IncompleteStream):
        decoder.finish()
    assert streamed(ADAPTER, sse(choice(content="x", finish="")))[1].raw_finish_reason == ""


@pytest.mark.parametrize(("finish", "done"), [("stop", False), (None, True), ("stop", True)])
def test_a_finish_reason_or_done_is_an_end(finish, done):
    assert streamed(ADAPTER, chunks({"content": "x"}, finish=finish, done=done))[1].content == "x"


def test_a_stream_that_just_stops_is_incomplete_and_keeps_what_came():
    cut = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "refund", "arguments": ""}}]}
    decoder = ADAPTER.stream()
    decoder.feed(chunks({"content": "half"}, cut, finish=None, done=False))
    with pytest.raises(IncompleteStream, match="'shop' stopped in the middle") as caught:
        decoder.finish()
    assert caught.value.partial is not None
    assert caught.value.partial.content == "half"
    assert caught.value.partial.tool_calls[0].invalid_arguments == ""


@pytest.mark.parametrize("stream", [b"", b"\n\n", b": ping\n\n", b"data: [DONE]\n\n", b"data: {}\n\ndata: [DONE]\n\n"])
def test_a_stream_with_nothing_in_it_is_incomplete(stream):
    decoder = ADAPTER.stream()
    decoder.feed(stream)
    with pytest.raises(IncompleteStream) as caught:
        decoder.finish()
    assert caught.value.partial is None
    assert decoder.partial() is None


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ('data: {"error": {"message": "busy", "type": "overloaded_error"}}', Overloaded),
        ('data: {"error": "broken"}', ServerError),
        ('data: {"error": {"code": 400, "message": "no"}, "choices": [{"delta": {"content": ""}}]}', InvalidRequest),
        ('event: error\ndata: {"message": "broken"}', ServerError),
        ("event: error\ndata: broken", ServerError),
        ('data: {"object": "error", "message": "no", "code": 400}', InvalidRequest),
        ('data: {"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 502}}]}', ServerError),
        ('data: {"choices": [{"delta": {}, "finish_reason": "error"}]}', InvalidResponse),
        ('data: {"choi: keepalive', InvalidResponse),
        ("data: ping", InvalidResponse),
    ],
)
def test_an_error_in_a_stream_is_raised_and_what_came_before_is_kept(last, kind):
    decoder = ADAPTER.stream()
    assert text_of(decoder.feed(chunks({"content": "half"}, finish=None, done=False))) == "half"
    with pytest.raises(kind) as caught:
        decoder.feed(f"{last}\n\n".encode())
    assert type(caught.value) is kind
    assert decoder.partial().content == "half"
    if isinstance(caught.value, InvalidResponse):
        assert caught.value.partial.content == "half"


def test_events_before_an_error_are_told_even_if_all_came_in_one_piece():
    decoder = ADAPTER.stream()
    stream = chunks({"content": "half"}, finish=None, done=False) + b'data: {"error": "broken"}\n\n'
    assert text_of(decoder.feed(stream)) == "half"
    with pytest.raises(ServerError):
        decoder.feed(b"data: [DONE]\n\n")
    with pytest.raises(ServerError):
        decoder.finish()


def test_a_model_made_error_is_no_outage():
    decoder = ADAPTER.stream()
    with pytest.raises(InvalidResponse, match="no valid call"):
        decoder.feed(
            b'event: error\ndata: {"error":{"message":"no valid call","type":"invalid_request_error",'
            b'"code":"tool_use_failed","failed_generation":"","status_code":400}}\n\n'
        )


def test_nothing_after_done_counts():
    assert streamed(ADAPTER, chunks({"content": "x"}) + sse(choice(content="y")))[1].content == "x"


def test_pings_are_passed_over():
    stream = b': ping\n\nevent: ping\ndata: {"type": "ping"}\n\ndata: null\n\n' + chunks({"content": "x"})
    assert streamed(ADAPTER, stream)[1].content == "x"


def test_a_last_chunk_without_a_blank_line_is_read():
    stream = chunks({"content": "x"}, finish=None, done=False) + b'data: {"choices":[{"finish_reason":"stop"}]}'
    assert streamed(ADAPTER, stream)[1].finish_reason is FinishReason.STOP


@pytest.mark.parametrize("size", [None, 1])
def test_an_answer_in_one_piece_although_a_stream_was_asked_for_is_read(size):
    body = b" \n" + json.dumps(completion({"content": "x"})).encode()
    events, response = streamed(ADAPTER, body, size=size)
    assert (events, response.content) == ([], "x")


def test_an_error_in_one_piece_although_a_stream_was_asked_for_is_raised():
    decoder = ADAPTER.stream()
    decoder.feed(b'{"error": {"message": "busy", "code": 503}}')
    with pytest.raises(Overloaded):
        decoder.finish()
    decoder = ADAPTER.stream()
    decoder.feed(b"<html>")
    with pytest.raises(InvalidResponse):
        decoder.finish()


def test_halves_of_a_surrogate_pair_in_two_chunks_are_one_character():
    events, response = streamed(ADAPTER, chunks({"content": "a\ud83d"}, {"content": "\ude42b"}))
    assert response.content == text_of(events) == "a🙂b"


def test_a_half_that_stays_alone_is_replaced_in_events_and_response_alike():
    events, response = streamed(ADAPTER, chunks({"content": "a\ud83d"}))
    assert response.content == text_of(events) == "a\ufffd"


def test_a_whole_message_in_a_chunk_counts_only_where_there_is_no_delta():
    both = {"choices": [{"delta": {"content": "x"}, "message": {"content": "xyz"}, "finish_reason": "stop"}]}
    assert streamed(ADAPTER, sse(both))[1].content == "x"
    alone = {"choices": [{"message": {"content": "xyz"}, "finish_reason": "stop"}]}
    assert streamed(ADAPTER, sse(alone))[1].content == "xyz"
