"""Recorded Gemini traffic: answers read as a second reader reads them, requests built anew, conversations gone on with.

Run it for the numbers::

    python -m tests.providers.test_gemini_recorded
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from llm_foundation.chat import ChatMessage, CompletionResponse, NamedTool
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContentRefused,
    InvalidRequest,
    ModelNotFound,
    ProviderError,
    RateLimited,
)
from llm_foundation.providers.recordings.gemini import camel
from llm_foundation.providers.recordings.replay import replayed
from tests.providers.agreement import Cut, at_random, by_byte, read, whole
from tests.providers.builders import FIND, call, calls_of, make_request, reasoning_of, sent, text_of
from tests.providers.corpus import exchanges, needs_corpus, sequences
from tests.providers.gemini_builders import make_gemini
from tests.providers.gemini_recorded import gemini_differences, rebuilt, recorded
from tests.providers.gemini_types import objections

DIFFERENCES = {
    "gemini-vertex/pai-test-google-model-armor-prompt-template-text-gets-blocked-1-10a059": (
        "a prompt that was blocked is an error here: content that was refused"
    ),
}


def unexplained(exchange, cut: Cut = whole) -> dict[str, Any]:
    return {} if exchange.id in DIFFERENCES else gemini_differences(exchange, cut)


def streams():
    return [exchange for exchange in exchanges("gemini") if exchange.is_stream]


@needs_corpus
def test_every_recorded_answer_is_read_as_expected():
    assert len(exchanges("gemini")) == 197
    assert {exchange.id: found for exchange in exchanges("gemini") if (found := unexplained(exchange))} == {}


@needs_corpus
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_streams_are_read_alike_in_random_pieces(seed):
    assert len(streams()) == 49
    assert {exchange.id: found for exchange in streams() if (found := unexplained(exchange, at_random(seed)))} == {}


@needs_corpus
def test_streams_are_read_alike_byte_by_byte():
    assert {exchange.id: found for exchange in streams() if (found := unexplained(exchange, by_byte))} == {}


@needs_corpus
def test_events_of_a_stream_tell_what_its_response_says():
    for exchange in streams():
        decoder = exchange.adapter().stream()
        events = decoder.feed(exchange.raw)
        response = decoder.finish()
        assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
        assert [(id, name) for id, name, _ in calls_of(events)] == [(c.id, c.name) for c in response.tool_calls]


@needs_corpus
def test_the_prompt_that_was_blocked_is_refused_with_what_was_told():
    [blocked] = [exchange for exchange in exchanges("gemini") if exchange.id in DIFFERENCES]
    error = read(blocked)[1]
    assert type(error) is ContentRefused
    assert (error.partial.raw_finish_reason, error.partial.model) == ("blocked:MODEL_ARMOR", "gemini-2.5-flash")


RECORDED_ERRORS = {
    "gemini/rubyllm-chat-error-handling-with-gemini-": AuthenticationFailed,
    "gemini/rubyllm-chat-real-error-scenarios-gemini-": RateLimited,
    "gemini/pai-test-model-name-suggestion-google-0": ModelNotFound,
    "gemini-vertex/otel-test-generate-content-invalid-role-0": InvalidRequest,
    "gemini-vertex/otel-test-generate-content-missing-model-0": ModelNotFound,
    "gemini-vertex/pai-test-google-model-armor-prompt-template-": ContentRefused,
    "gemini-vertex/pai-test-multimodal-tool-return-matrix--rn-content-url-image-google-vertex-3": InvalidRequest,
}


@needs_corpus
def test_recorded_errors_have_their_types():
    found = {exchange.id: error for exchange in exchanges("gemini") if (error := read(exchange)[1]) is not None}
    assert len(found) == len(RECORDED_ERRORS)
    for start, kind in RECORDED_ERRORS.items():
        [error] = [error for id, error in found.items() if id.startswith(start)]
        assert type(error) is kind
        assert isinstance(error, ProviderError)


@needs_corpus
def test_every_response_survives_storage():
    for exchange in exchanges("gemini"):
        response, _ = read(exchange)
        if response is not None:
            assert CompletionResponse.model_validate_json(response.model_dump_json()) == response


@needs_corpus
def test_every_rebuilt_request_is_accepted_by_the_official_types():
    assert len(recorded()) == 176
    assert {exchange.id: found for exchange in recorded() if (found := objections(rebuilt(exchange)))} == {}


@needs_corpus
def test_signed_parts_go_back_as_the_recorded_client_sent_them():
    compared = 0
    for exchange in recorded():
        told = signed(camel(exchange.request)["contents"])
        assert signed(rebuilt(exchange)["contents"]) == told, exchange.id
        compared += len(told)
    assert compared == 66


def signed(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    parts = [content["parts"] if isinstance(content["parts"], list) else [content["parts"]] for content in contents]
    return [part for listed in parts for part in listed if part.get("thoughtSignature")]


OWN_IDS = "the client makes ids up where Gemini sent none; we send none"
NO_IDS = "the client drops the ids that Gemini sent; we give them back"
NO_TEXT_SIGNATURES = "the client drops signatures on text; we give them back"
MOVED_SIGNATURE = "the client moves the signature from the text to the thought; we leave it where it was"
OWN_PLACEHOLDER = "the client signs what came unsigned; we give it back as it came"

MADE_UP = re.compile(r"pyd_ai_|call_[0-9a-f]{32}$")

SEQUENCE_DIFFERENCES: dict[str, tuple[str, ...]] = {
    "pai:": (OWN_IDS,),
    "pai:a96d0eb5": (OWN_IDS, OWN_PLACEHOLDER),
    "llm:1199116a": (OWN_IDS,),
    "ellmer:4cc9cd7a": (NO_IDS, NO_TEXT_SIGNATURES),
    "ellmer:": (NO_TEXT_SIGNATURES,),
    "rubyllm:33550261": (NO_IDS,),
    "rubyllm:bd160b29": (NO_IDS,),
    "rubyllm:7b2d93f2": (MOVED_SIGNATURE,),
    "chatlas:": (NO_TEXT_SIGNATURES,),
}
"""By the beginning of a recording's name, the longest first: what the recorded client does otherwise."""


def reasons_for(name: str) -> tuple[str, ...]:
    starts = sorted((start for start in SEQUENCE_DIFFERENCES if name.startswith(start)), key=len)
    return SEQUENCE_DIFFERENCES[starts[-1]] if starts else ()


def trace(contents: list[dict[str, Any]], reasons: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    """Calls, results and signatures of a conversation in order, without what the reasons are about."""
    found: list[tuple[Any, ...]] = []
    for place, content in enumerate(contents):
        listed = content["parts"] if isinstance(content["parts"], list) else [content["parts"]]
        for part in listed:
            found += _traced(place, part, reasons)
    return found


def _traced(place: int, part: dict[str, Any], reasons: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    signature = "" if OWN_PLACEHOLDER in reasons else standard(part.get("thoughtSignature", ""))
    for kind in ("functionCall", "functionResponse"):
        if kind in part:
            id = part[kind].get("id")
            if NO_IDS in reasons or (OWN_IDS in reasons and MADE_UP.match(id or "")):
                id = None
            yield place, kind, part[kind]["name"], str(part[kind].get("args")), id, signature
            return
    if signature and not (NO_TEXT_SIGNATURES in reasons and "text" in part):
        yield place, "text" if MOVED_SIGNATURE not in reasons else "", signature


def standard(signature: str) -> str:
    """Google's own client writes base64 in the form for addresses when it sends a signature back."""
    return signature.replace("-", "+").replace("_", "/")


def steps_of_sequences() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for name, steps in sequences("gemini").items():
        for step, body in zip(steps[1:], replayed(steps), strict=True):
            yield name, step, body


@needs_corpus
def test_recorded_conversations_go_on_with_the_same_calls_ids_and_signatures_in_the_same_order():
    compared = 0
    for name, step, body in steps_of_sequences():
        reasons = reasons_for(name)
        assert trace(body["contents"], reasons) == trace(camel(step.request)["contents"], reasons), step.id
        compared += 1
    assert compared == 66


@needs_corpus
def test_where_the_client_keeps_everything_nothing_is_left_out_of_the_comparison():
    exact = sum(
        trace(body["contents"]) == trace(camel(step.request)["contents"]) for _, step, body in steps_of_sequences()
    )
    assert exact == 34


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-flash-preview"])
@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedTool(name="find_order")])
@pytest.mark.parametrize("options", [{}, {"json_schema_fields": False}])
def test_what_a_full_request_has_is_what_the_official_package_would_send(model, choice, options):
    turn = ChatMessage.assistant_tool_calls([call(), call(id="call_2")], "I look it up.")
    asked = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ("END",),
        "seed": 1,
        "reasoning_effort": "low",
        "response_schema": {"schema": {"type": "object", "properties": {"n": {"type": ["string", "null"]}}}},
        "extra": {"generationConfig": {"topK": 3}, "tools": [{"googleSearch": {}}]},
    }
    strict = FIND.model_copy(update={"strict": True})
    request = make_request(ChatMessage.system("S"), turn, tools=(strict,), tool_choice=choice, options=asked)
    assert objections(sent(make_gemini(model, options=options), request)) == []


def test_the_official_types_object_to_what_they_do_not_know():
    body = sent(make_gemini(), make_request())
    assert objections(body | {"unheardOf": 1}) != []
    assert objections(body | {"generationConfig": {"unheardOf": 1}}) != []


def report() -> Iterator[str]:
    """The numbers, in words."""
    for name, cut, subjects in (
        ("answers read alike, whole", whole, exchanges("gemini")),
        ("streams read alike in random pieces", at_random(1), streams()),
        ("streams read alike byte by byte", by_byte, streams()),
    ):
        yield f"{sum(not gemini_differences(exchange, cut) for exchange in subjects)} of {len(subjects)} {name}"
    accepted = sum(not objections(rebuilt(exchange)) for exchange in recorded())
    yield f"{accepted} of {len(recorded())} rebuilt requests accepted by the official types"
    steps = list(steps_of_sequences())
    exact = sum(trace(body["contents"]) == trace(camel(step.request)["contents"]) for _, step, body in steps)
    yield f"{exact} of {len(steps)} later requests rebuilt exactly"
    named = [(reasons_for(name), body["contents"], camel(step.request)["contents"]) for name, step, body in steps]
    alike = sum(trace(ours, reasons) == trace(theirs, reasons) for reasons, ours, theirs in named)
    yield f"{alike} of {len(steps)} but for what the recorded client drops or adds"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
