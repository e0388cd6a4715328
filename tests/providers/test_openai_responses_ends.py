"""How streamed Responses answers end: as they should, cut off, with an error, or not at all."""

import pytest

from llm_foundation.chat import FinishReason
from llm_foundation.exceptions import IncompleteStream, InvalidResponse, Overloaded, RateLimited, ServerError
from tests.providers.builders import streamed, text_of
from tests.providers.responses_builders import ADAPTER, called, delta, end, events, output, said, streaming, thought


@pytest.mark.parametrize("kind", ["completed", "incomplete", "done"])
def test_an_end_is_an_end_by_any_name(kind):
    status = "incomplete" if kind == "incomplete" else "completed"
    stream = events(*streaming(said("x")), (kind, {"response": output(said("x"), status=status)}))
    assert streamed(ADAPTER, stream)[1].raw_finish_reason == status


def test_an_end_without_an_answer_in_it_says_by_its_name_what_it_is():
    assert streamed(ADAPTER, events(*streaming(said("x")), ("completed", {})))[1].finish_reason is FinishReason.STOP
    assert streamed(ADAPTER, events(*streaming(said("x")), ("incomplete", {})))[1].finish_reason is FinishReason.LENGTH


def test_a_stream_that_the_limit_ended_is_a_truncation():
    cut = [("output_item.added", {"output_index": 0, "item": called(arguments="", status="in_progress")})]
    cut += [("function_call_arguments.delta", {"output_index": 0, "delta": '{"n":'})]
    item = called(arguments='{"n":', status="incomplete")
    response = streamed(ADAPTER, events(*cut, end(item, status="incomplete")))[1]
    assert response.finish_reason is FinishReason.LENGTH
    assert response.tool_calls[0].invalid_arguments == '{"n":'


@pytest.mark.parametrize("last", [b"", b"data: [DONE]\n\n"])
def test_a_stream_that_just_stops_is_incomplete_and_keeps_what_came(last):
    told = [
        *streaming(thought(summary=("hm",)), said("half")),
        ("output_item.added", {"output_index": 2, "item": called(arguments="", status="in_progress")}),
    ]
    decoder = ADAPTER.stream()
    decoder.feed(events(*told) + last)
    with pytest.raises(IncompleteStream, match="'shop' stopped in the middle") as caught:
        decoder.finish()
    partial = caught.value.partial
    assert (partial.content, partial.reasoning) == ("half", "hm")
    assert partial.tool_calls[0].invalid_arguments == ""
    assert partial.provider_state is None


@pytest.mark.parametrize("stream", [b"", b"\n\n", b": ping\n\n", b"data: [DONE]\n\n", events(("created", {}))])
def test_a_stream_with_nothing_in_it_is_incomplete(stream):
    decoder = ADAPTER.stream()
    decoder.feed(stream)
    with pytest.raises(IncompleteStream) as caught:
        decoder.finish()
    assert caught.value.partial is None


FAILED = {"code": "rate_limit_exceeded", "message": "Slow down."}


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (("failed", {"response": output(status="failed", error=FAILED)}), RateLimited),
        (("failed", {"response": output(status="failed")}), ServerError),
        (("failed", {}), ServerError),
        (("error", {"code": "rate_limit_exceeded", "message": "Slow down.", "param": None}), RateLimited),
        (("error", {"error": {"type": "tokens", "code": "rate_limit_exceeded", "message": "x"}}), RateLimited),
        (("error", {"error": {"type": "overloaded_error", "message": "busy"}}), Overloaded),
        (("error", {"message": "broken"}), ServerError),
    ],
)
def test_an_error_in_a_stream_is_raised_and_what_came_before_is_kept(last, kind):
    decoder = ADAPTER.stream()
    assert text_of(decoder.feed(events(*streaming(said("half"))))) == "half"
    with pytest.raises(kind) as caught:
        decoder.feed(events(last))
    assert type(caught.value) is kind
    assert caught.value.partial.content == decoder.partial().content == "half"
    with pytest.raises(kind):
        decoder.finish()


@pytest.mark.parametrize(
    "last", [b'data: {"error": {"message": "busy", "code": 503}}\n\n', b'event: error\ndata: {"code": 503}\n\n']
)
def test_an_error_of_another_shape_is_one_too(last):
    decoder = ADAPTER.stream()
    with pytest.raises(Overloaded):
        decoder.feed(last)


def test_a_line_that_is_broken_is_an_error():
    decoder = ADAPTER.stream()
    decoder.feed(events(*streaming(said("half"))))
    with pytest.raises(InvalidResponse) as caught:
        decoder.feed(b'event: response.output_text.delta\ndata: {"typ: keepalive\n\n')
    assert caught.value.partial.content == "half"


def test_nothing_after_the_end_counts():
    stream = events(
        *streaming(said("x")), end(said("x")), delta("y"), ("failed", {"response": output(status="failed")})
    )
    assert streamed(ADAPTER, stream)[1].content == "x"
