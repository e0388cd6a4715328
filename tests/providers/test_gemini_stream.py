"""Streamed Gemini answers."""

import json

import pytest

from llm_foundation.chat import FinishReason, Usage
from llm_foundation.exceptions import ContentRefused, IncompleteStream, InvalidResponse, Overloaded
from tests.providers.builders import answered, calls_of, reasoning_of, streamed, text_of
from tests.providers.gemini_builders import answer, called, in_chunks, make_gemini, read, said, stream_of

ADAPTER = make_gemini()


def piece(*args, **call):
    """A part with some of the arguments of a call in it."""
    return {"functionCall": ({"partialArgs": list(args)} if args else {}) | call}


def at(path: str, value=None, *, more: bool = False, **kind):
    told = {"jsonPath": path} | ({"stringValue": value} if value is not None else {}) | kind
    return told | ({"willContinue": True} if more else {})


def only_call(*parts, **envelope):
    events, response = streamed(ADAPTER, in_chunks(*parts, **envelope))
    [made] = response.tool_calls
    return events, made


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, None])
def test_a_stream_equals_the_whole_answer_however_it_is_cut(size):
    parts = [
        said("h", thought=True),
        said("m 🙂", thought=True),
        said("Grü"),
        said("ße", signature="c2ln"),
        called(id="a", signature="c2ln", ü=1),
        called(id="b"),
    ]
    counts = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    events, response = streamed(ADAPTER, in_chunks(*parts, usageMetadata=counts), size=size)
    assert response == read(ADAPTER, *parts, usageMetadata=counts)
    assert (text_of(events), reasoning_of(events)) == ("Grüße", "hm 🙂")
    assert calls_of(events) == [("a", "find_order", '{"ü": 1}'), ("b", "find_order", "{}")]


def test_the_last_usage_counts():
    chunks = [answer(said("x"), finish=None, usageMetadata={"candidatesTokenCount": n}) for n in range(3)]
    last = answer(usageMetadata={"trafficType": "ON_DEMAND"})
    assert streamed(ADAPTER, stream_of(*chunks, last))[1].usage == Usage(output_tokens=2)


def test_a_chunk_may_hold_no_candidate():
    chunks = [{"usageMetadata": {"promptTokenCount": 3}}, answer(said("x"))]
    _, response = streamed(ADAPTER, stream_of(*chunks))
    assert (response.content, response.usage.input_tokens) == ("x", 3)


def test_a_second_candidate_does_not_mix_with_the_first():
    other = {"candidates": [{"index": 1, "content": {"parts": [said("B")]}, "finishReason": "STOP"}]}
    assert streamed(ADAPTER, stream_of(answer(said("A"), finish=None), other, answer()))[1].content == "A"


def test_an_unspecified_reason_in_every_chunk_is_no_end():
    decoder = ADAPTER.stream()
    decoder.feed(stream_of(answer(said("x"), finish=0)))
    with pytest.raises(IncompleteStream) as caught:
        decoder.finish()
    assert caught.value.partial.content == "x"


def test_a_stream_that_just_stops_is_incomplete_and_its_last_call_is_never_executed():
    decoder = ADAPTER.stream()
    decoder.feed(stream_of(answer(said("half"), called(number="11"), finish=None)))
    with pytest.raises(IncompleteStream, match="'shop' stopped in the middle") as caught:
        decoder.finish()
    assert caught.value.partial.content == "half"
    assert caught.value.partial.tool_calls[0].invalid_arguments == '{"number": "11"}'


@pytest.mark.parametrize("stream", [b"", b"\n\n", b": ping\n\n", b"data: {}\n\n"])
def test_a_stream_with_nothing_in_it_is_incomplete(stream):
    decoder = ADAPTER.stream()
    decoder.feed(stream)
    with pytest.raises(IncompleteStream):
        decoder.finish()
    assert decoder.partial() is None


def test_an_error_in_a_stream_is_raised_and_what_came_before_is_kept():
    decoder = ADAPTER.stream()
    assert text_of(decoder.feed(stream_of(answer(said("half"), finish=None)))) == "half"
    with pytest.raises(Overloaded) as caught:
        decoder.feed(stream_of({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}))
    assert caught.value.partial.content == "half"


def test_a_prompt_that_was_blocked_is_refused_in_a_stream_too():
    decoder = ADAPTER.stream()
    with pytest.raises(ContentRefused, match="PROHIBITED_CONTENT"):
        decoder.feed(stream_of({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))


def test_a_malformed_call_fails_after_the_events_that_came_with_it():
    decoder = ADAPTER.stream()
    events = decoder.feed(stream_of(answer(said("I will"), finish="MALFORMED_FUNCTION_CALL"), answer(said("never"))))
    assert text_of(events) == "I will"
    with pytest.raises(InvalidResponse, match="a call that cannot be read") as caught:
        decoder.finish()
    assert caught.value.partial.content == "I will"


def test_a_filtered_stream_ends_with_what_came_before():
    _, response = streamed(ADAPTER, stream_of(answer(said("half"), finish=None), answer(finish="SAFETY")))
    assert (response.content, response.finish_reason) == ("half", FinishReason.CONTENT_FILTER)


@pytest.mark.parametrize("size", [None, 1])
def test_an_answer_in_one_piece_although_a_stream_was_asked_for_is_read(size):
    body = [answer(said("Hel"), finish=None), answer(said("lo"))]
    events, response = streamed(ADAPTER, b" \n" + json.dumps(body).encode(), size=size)
    assert (events, response.content) == ([], "Hello")


def test_arguments_that_come_value_by_value_are_put_together():
    events, made = only_call(
        {**piece(name="cook", id="fc-1", willContinue=True), "thoughtSignature": "c2ln"},
        piece(at("$.recipe.steps[0].text", "Bo", more=True), willContinue=True),
        piece(at("$.recipe.steps[0].text", "il", more=True), willContinue=True),
        piece(at("$.recipe.steps[0].text", ""), willContinue=True),
        piece(willContinue=True),
        piece(at("$.recipe.steps[1].minutes", numberValue=0.5), at("$.hot", boolValue=True), willContinue=True),
        piece(at("$['sea salt'][0]", nullValue="NULL_VALUE"), at('$["a\\"b"]', "x"), willContinue=True),
        piece(),
    )
    assert (made.id, made.name) == ("fc-1", "cook")
    assert made.arguments == {
        "recipe": {"steps": [{"text": "Boil"}, {"minutes": 0.5}]},
        "hot": True,
        "sea salt": [None],
        'a"b': "x",
    }
    [(_, _, told)] = calls_of(events)
    assert json.loads(told) == made.arguments


def test_the_last_piece_may_be_the_one_that_does_not_go_on():
    _, made = only_call(piece(name="ping", willContinue=True), piece(at("$.n", numberValue=3)), said(""))
    assert made.arguments == {"n": 3}


def test_calls_that_come_in_pieces_follow_each_other():
    parts = [
        called("first"),
        piece(name="same", willContinue=True),
        piece(at("$.id", "A"), willContinue=True),
        piece(),
        piece(name="same", willContinue=True),
        piece(at("$.id", "B"), willContinue=True),
        piece(),
    ]
    _, response = streamed(ADAPTER, in_chunks(*parts))
    assert [(made.name, made.arguments) for made in response.tool_calls] == [
        ("first", {}),
        ("same", {"id": "A"}),
        ("same", {"id": "B"}),
    ]


def test_a_name_in_every_piece_is_one_call():
    parts = [piece(name="ping", willContinue=True), piece(at("$.id", "A"), name="ping", willContinue=True), piece()]
    assert only_call(*parts)[1].arguments == {"id": "A"}


def test_a_call_whose_end_never_came_is_never_executed():
    events, made = only_call(
        piece(name="refund", willContinue=True), piece(at("$.n", "1", more=True), willContinue=True)
    )
    assert (made.arguments, made.invalid_arguments) == ({}, '{"n": "1"}')
    assert calls_of(events)[0][2] == ""


@pytest.mark.parametrize(
    "args",
    [
        at("", "x"),
        at("$", "x"),
        at("n", "x"),
        at("$..n", "x"),
        at("$.n[1]", "x"),
        at("$[0]", "x"),
        at("$.n[*]", "x"),
        at("$.n[99999999]", "x"),
        at("$.n", "x", numberValue=1),
        at("$" + ".n" * 65, "x"),
    ],
)
def test_a_value_without_a_place_makes_the_call_invalid(args):
    _, made = only_call(piece(name="refund", willContinue=True), piece(args))
    assert made.invalid_arguments is not None


def test_a_path_that_leads_into_a_text_makes_the_call_invalid():
    _, made = only_call(piece(name="x", willContinue=True), piece(at("$.n", "a"), at("$.n.m", "b")))
    assert made.invalid_arguments == '{"n": "a"}'


def test_a_call_in_pieces_is_kept_as_the_part_that_it_would_have_been():
    parts = [
        {**piece(name="ping", id="fc-1", willContinue=True), "thoughtSignature": "c2ln"},
        piece(at("$.n", numberValue=3)),
    ]
    _, response = streamed(ADAPTER, in_chunks(*parts))
    assert response.provider_state.to_dict()["items"] == [
        {"functionCall": {"name": "ping", "id": "fc-1", "args": {"n": 3}}, "thoughtSignature": "c2ln"}
    ]
    assert response.provider_state == read(ADAPTER, called("ping", id="fc-1", signature="c2ln", n=3)).provider_state


def test_a_signature_may_come_with_a_later_piece():
    parts = [piece(name="ping", willContinue=True), {**piece(), "thoughtSignature": "c2ln"}]
    _, response = streamed(ADAPTER, in_chunks(*parts))
    [item] = response.provider_state.to_dict()["items"]
    assert item["thoughtSignature"] == "c2ln"


def test_halves_of_a_surrogate_pair_in_two_chunks_are_one_character():
    events, response = streamed(ADAPTER, in_chunks(said("a\ud83d"), said("\ude42b")))
    assert response.content == text_of(events) == "a🙂b"


def test_gateways_may_say_done():
    assert streamed(ADAPTER, stream_of(answer(said("x"))) + b"data: [DONE]\n\n")[1].content == "x"


def test_a_stream_gives_what_the_list_of_its_chunks_gives():
    chunks = [answer(said("Hel"), finish=None), answer(said("lo"), called(id="a"))]
    assert streamed(ADAPTER, stream_of(*chunks))[1] == answered(ADAPTER, chunks)
