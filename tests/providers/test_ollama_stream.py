"""Streamed answers of Ollama."""

import json

import pytest

from llm_foundation.chat import FinishReason, Usage
from llm_foundation.exceptions import (
    IncompleteStream,
    InvalidResponse,
    ModelNotFound,
    Overloaded,
    ProviderError,
    ServerError,
)
from tests.providers.builders import calls_of, reasoning_of, sse, streamed, text_of
from tests.providers.ollama_builders import called, line, lines, make_ollama, read

OLLAMA = make_ollama()
COUNTS = {"prompt_eval_count": 3, "eval_count": 2}


def broken(stream, *, size=None):
    """The events that came before a stream broke, and the error."""
    decoder, events = OLLAMA.stream(), []
    size = size or len(stream) or 1
    try:
        for start in range(0, len(stream), size):
            events += decoder.feed(stream[start : start + size])
        decoder.finish()
    except ProviderError as error:
        return events, error
    pytest.fail("the stream did not break")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, None])
def test_a_stream_equals_the_whole_answer_however_it_is_cut(size):
    stream = lines(
        line(thinking="h"),
        line(thinking="m 🙂"),
        line("Grü"),
        line("ße"),
        line(calls=[called(id="a", ü=1)]),
        line(calls=[called(id="b"), called("refund_order", id="c")]),
        line(done=True, **COUNTS),
    )
    calls = [called(id="a", ü=1), called(id="b"), called("refund_order", id="c")]
    events, response = streamed(OLLAMA, stream, size=size)
    assert response == read(OLLAMA, "Grüße", thinking="hm 🙂", calls=calls, **COUNTS)
    assert (text_of(events), reasoning_of(events)) == ("Grüße", "hm 🙂")
    assert calls_of(events) == [
        ("a", "find_order", '{"ü": 1}'),
        ("b", "find_order", "{}"),
        ("c", "refund_order", "{}"),
    ]


def test_ids_that_are_ours_are_the_same_in_events_and_response():
    events, response = streamed(OLLAMA, lines(line(calls=[called(), called()]), line(done=True)))
    assert [id for id, _, _ in calls_of(events)] == [call.id for call in response.tool_calls]


def test_the_last_line_need_not_end():
    assert streamed(OLLAMA, lines(line("x"), line(done=True)).rstrip())[1].content == "x"


def test_blank_lines_carriage_returns_and_a_mark_at_the_start_do_not_matter():
    stream = b"\xef\xbb\xbf\r\n\n" + lines(line("x"), line(done=True)).replace(b"\n", b"\r\n\r\n")
    assert streamed(OLLAMA, stream, size=1)[1].content == "x"


def test_a_gateway_may_make_server_sent_events_of_it():
    assert streamed(OLLAMA, sse(line("x"), line(done=True)))[1].content == "x"


def test_a_whole_answer_is_a_stream_of_one_line():
    _, response = streamed(OLLAMA, json.dumps(line("x", done=True)).encode())
    assert (response.content, response.finish_reason) == ("x", FinishReason.STOP)


def test_what_follows_the_end_does_not_count():
    assert streamed(OLLAMA, lines(line("x", done=True), line("y"), {"error": "late"}))[1].content == "x"


def test_a_surrogate_pair_may_come_in_halves():
    halves = b'{"message":{"content":"\\ud83d"}}\n{"message":{"content":"\\ude42"}}\n'
    events, response = streamed(OLLAMA, halves + lines(line(done=True)))
    assert text_of(events) == response.content == "🙂"


@pytest.mark.parametrize("size", [1, 5, None])
def test_an_error_in_a_stream_comes_after_what_was_said(size):
    stream = lines(line("half"), {"error": "an error was encountered while running the model"})
    events, error = broken(stream, size=size)
    assert type(error) is ServerError
    assert text_of(events) == "half"
    assert error.partial.content == "half"


def test_an_error_line_may_say_its_status():
    _, error = broken(lines({"error": "no luck", "status": 503}))
    assert (type(error), error.status) == (Overloaded, 503)


def test_a_stream_that_starts_with_an_error_has_no_partial_answer():
    _, error = broken(lines({"error": "model 'x' not found"}))
    assert type(error) is ModelNotFound
    assert error.partial is None


@pytest.mark.parametrize("rest", [b"", b'{"message":{"cont', b"\n"])
def test_a_stream_without_an_end_is_incomplete(rest):
    events, error = broken(lines(line("half", eval_count=1)) + rest)
    assert type(error) is IncompleteStream
    assert (error.partial.content, error.partial.usage) == ("half", Usage(output_tokens=1))
    assert text_of(events) == "half"


def test_the_last_call_of_a_stream_without_an_end_is_not_executed():
    _, error = broken(lines(line(calls=[called(id="a", n=1), called(id="b", n=2)])))
    assert [call.invalid_arguments for call in error.partial.tool_calls] == [None, '{"n": 2}']


def test_a_call_that_text_followed_is_whole_where_the_limit_cut_the_text():
    stream = lines(line(calls=[called(id="a", n=1)]), line("and th"), line(done=True, reason="length"))
    [call] = streamed(OLLAMA, stream)[1].tool_calls
    assert (call.arguments, call.invalid_arguments) == ({"n": 1}, None)


def test_a_line_that_is_no_json_is_an_error_with_what_came_before():
    _, error = broken(lines(line("x")) + b"upstream timed out\n")
    assert type(error) is InvalidResponse
    assert error.partial.content == "x"


def test_a_page_instead_of_a_stream_is_an_error():
    _, error = broken(b"<html><title>Bad Gateway</title></html>")
    assert type(error) is InvalidResponse


def test_a_model_that_was_only_loaded_is_an_error_in_a_stream_too():
    _, error = broken(lines(line(done=True, reason="load")))
    assert "memory" in str(error)


def test_nothing_at_all_is_incomplete():
    _, error = broken(b"")
    assert type(error) is IncompleteStream
