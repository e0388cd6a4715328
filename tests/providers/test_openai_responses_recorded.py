"""Recorded Responses traffic: answers read as a second reader reads them, requests built anew."""

from itertools import zip_longest
from typing import Any

import pytest

from llm_foundation.chat import ChatMessage, CompletionResponse
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContextLengthExceeded,
    InvalidRequest,
    ModelNotFound,
    QuotaExhausted,
    RateLimited,
)
from llm_foundation.providers.recordings.responses import SERVERS_MEMORY, items_of
from tests.providers.agreement import at_random, by_byte, compared, expected_facts, facts, read, whole
from tests.providers.builders import calls_of, make_request, reasoning_of, text_of
from tests.providers.corpus import Exchange, exchanges, needs_corpus, sequences
from tests.providers.responses_requests import (
    objections_to,
    rebuilt,
    recorded,
    told,
)

pytestmark = needs_corpus

FREE_TEXT = "free text for a custom tool is the one argument of our call; the second reader has no word for it"
DIFFERENCES = {"openai-responses/vercel-openai-custom-tool-1-0-10854c": (FREE_TEXT, {"arguments"})}


def kept(response: CompletionResponse | None) -> list[str]:
    """The context that has to go back, in the words of the second reader."""
    items = (response and response.provider_state and response.provider_state.items) or ()
    return sorted(name for item in items if (name := _context_in(item)))


def _context_in(item: dict[str, Any]) -> str:
    if item["type"] == "reasoning":
        return "reasoning.encrypted_content" if item.get("encrypted_content") else "reasoning.id"
    return "compaction" if item["type"] == "compaction" else ""


def differences(exchange: Exchange, cut=whole) -> dict[str, tuple[Any, Any]]:
    response, error = read(exchange, cut)
    ours = facts(response, error) | ({"provider_state": kept(response)} if response else {})
    return compared(ours, expected_facts(exchange))


def unexplained(exchange: Exchange, cut=whole) -> dict[str, Any]:
    _, named = DIFFERENCES.get(exchange.id, ("", set()))
    return {fact: sides for fact, sides in differences(exchange, cut).items() if fact not in named}


def test_every_recorded_answer_is_read_as_expected():
    assert len(exchanges("responses")) == 293
    assert {exchange.id: found for exchange in exchanges("responses") if (found := unexplained(exchange))} == {}
    assert sum(1 for exchange in exchanges("responses") if not differences(exchange)) == 292


@pytest.mark.parametrize("cut", [at_random(1), at_random(2), by_byte], ids=["random 1", "random 2", "bytes"])
def test_streams_are_read_alike_in_any_pieces(cut):
    streams = [exchange for exchange in exchanges("responses") if exchange.is_stream]
    assert len(streams) == 76
    assert {exchange.id: found for exchange in streams if (found := unexplained(exchange, cut))} == {}


def test_events_of_a_stream_tell_what_its_response_says():
    for exchange in exchanges("responses"):
        if exchange.is_stream and exchange.expected["kind"] == "message":
            decoder = exchange.adapter().stream()
            events = decoder.feed(exchange.raw)
            response = decoder.finish()
            assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or ""), exchange.id
            assert [(id, name) for id, name, _ in calls_of(events)] == [(c.id, c.name) for c in response.tool_calls]


RECORDED_ERRORS = {
    "openai-responses/rubyllm-chat-real-error-scenarios-openai-": ContextLengthExceeded,
    "openai-responses/rubyllm-context-context-chat-operations-": AuthenticationFailed,
    "openai-responses/msaf-response-0-6706e4": InvalidRequest,
    "openai-responses/otel-test-responses-create-api-error-": ModelNotFound,
    "openai-responses/chatlas-test-parallel-chat-error-stop-": AuthenticationFailed,
    "openai-responses/chatlas-test-parallel-chat-structured-error-": AuthenticationFailed,
    "openai-responses/prism-stream-rate-limited-1-0": RateLimited,
    "openai-responses/pai-test-openai-responses-thinking-with-modified-history-1": InvalidRequest,
    "openai-responses/vercel-openai-error-1-0": QuotaExhausted,
    "xai-responses/rubyllm-chat-error-handling-with-xai-": AuthenticationFailed,
}


def test_recorded_errors_have_their_types():
    read_so = {e.id: error for e in exchanges("responses") if (error := read(e)[1]) is not None}
    found = {start: type(error) for id, error in read_so.items() for start in RECORDED_ERRORS if id.startswith(start)}
    assert (found, len(read_so)) == (RECORDED_ERRORS, len(RECORDED_ERRORS))


def test_every_response_survives_storage_and_goes_back_to_its_owner():
    for exchange in exchanges("responses"):
        adapter = exchange.adapter()
        response, error = read(exchange, adapter=adapter)
        if response is not None and error is None:
            assert CompletionResponse.model_validate_json(response.model_dump_json()) == response
            assert response.provider_state is not None, exchange.id
            message = ChatMessage.from_dict(response.to_message().to_transcript())
            assert adapter.request(make_request(ChatMessage.user("Go on"), message)).body


# --- Requests ---------------------------------------------------------------------------------------------------------
NOT_OURS = "openai-responses/pai-test-tool-availability-portability-matrix-r5-t3-native-search-0-45e3b5"
"""Holds the result of a search for tools that the client had made itself: no tool of ours."""

OWN_KEYS = ["body.input.2.item_id: unknown", "body.input.2.output_index: unknown"]
"""An endpoint gets the keys back that it alone puts on an item."""


def test_every_rebuilt_request_is_accepted_by_the_official_types():
    asked = [exchange for exchange in recorded() if exchange.id != NOT_OURS]
    assert len(asked) == 216
    [(refused, objections)] = [(exchange, found) for exchange in asked if (found := objections_to(exchange))]
    assert refused.id.startswith("openai-compatible-responses/rubyllm-providers-bedrock-mantle-")
    assert objections == OWN_KEYS


ITEM_IDS = "the recorded client sends the id of the item in the place of the call's"
REUSED = "the recorded client makes ids unique in a manner of its own"
CLIENTS_TOOLS = "items that the recorded client put between the turns: no tools and no messages of ours"
LEFT_OUT = "the recorded client left out an item that the provider sent"
MEMORY = "the provider remembers the conversation; the request does not hold it"
OTHER_TURN = "the recorded client put another answer in the place of the model's"

NAMED = {
    "pai:5ee93f1c": CLIENTS_TOOLS,
    "pai:b6df9973": CLIENTS_TOOLS,
    "pai:259e88d6": CLIENTS_TOOLS,
    "pai:7c1a4147": CLIENTS_TOOLS,
    "pai:5204a813": CLIENTS_TOOLS,
    "pai:89101621": CLIENTS_TOOLS,
    "rubyllm:aae0baa7": LEFT_OUT,
    "pai:4f012f49": LEFT_OUT,
    "pai:dc3d86ef": LEFT_OUT,
    "pai:693a0513": LEFT_OUT,
    "pai:3433dfcd": REUSED,
    "pai:7a95c1dc": REUSED,
    "chatlas:115805e4": ITEM_IDS,
    "chatlas:38c701a8": ITEM_IDS,
    "pai:035fc6a4": ITEM_IDS,
    "ellmer:65005027": ITEM_IDS,
    "pai:b2d65a2b": OTHER_TURN,
    "oi:b709a8f2": MEMORY,
    "pai:823db933": MEMORY,
    "pai:3a085283": MEMORY,
    "pai:36a4ebbe": MEMORY,
    "pai:be8d5dad": MEMORY,
    "pai:deb270ca": MEMORY,
}


def laid_beside(step: Exchange) -> list[tuple[Any, Any]]:
    """Where the recorded request and ours differ: in what they tell, in the context, in the ids or in the order."""
    ours = list(told(rebuilt(step)["input"]))
    ours = ours[1:] if step.request.get("instructions") else ours
    return [pair for pair in zip_longest(told(items_of(step)), ours) if pair[0] != pair[1]]


def is_whole(step: Exchange) -> bool:
    return bool(step.request) and not any(step.request.get(key) for key in SERVERS_MEMORY)


def test_later_steps_are_rebuilt_with_the_same_context_ids_and_order():
    assert len(sequences("responses")) == 60
    rebuilt_alike = [
        name
        for name, steps in sequences("responses").items()
        if all(is_whole(step) and not laid_beside(step) for step in steps[1:])
    ]
    assert sorted({*sequences("responses")} - {*rebuilt_alike}) == sorted(NAMED)
    assert len(rebuilt_alike) == 37


@pytest.mark.parametrize("reason", [ITEM_IDS, REUSED])
def test_where_clients_change_ids_all_but_the_ids_is_the_same(reason):
    for name in (name for name, why in NAMED.items() if why is reason):
        for step in sequences("responses")[name][1:]:
            differing = laid_beside(step)
            assert all(theirs[0] == ours[0] in ("call", "result") for theirs, ours in differing), name
            assert [theirs[2:] for theirs, _ in differing] == [ours[2:] for _, ours in differing]


def test_where_clients_leave_an_item_out_it_is_only_more_that_goes_back():
    for name in (name for name, why in NAMED.items() if why is LEFT_OUT):
        for step in sequences("responses")[name][1:]:
            theirs = [word for word in told(items_of(step)) if word[0] != "tool_search_call"]
            ours = list(told(rebuilt(step)["input"]))
            assert [word for word in ours if word in theirs] == theirs, name


def test_encrypted_reasoning_goes_back_as_the_recorded_clients_sent_it():
    compared_so_far = 0
    for exchange in recorded():
        sent = [item["encrypted_content"] for item in items_of(exchange) if item.get("encrypted_content")]
        if sent and NAMED.get(_sequence_of(exchange)) is not OTHER_TURN:
            again = rebuilt(exchange)["input"]
            assert [item["encrypted_content"] for item in again if item.get("encrypted_content")] == sent, exchange.id
            compared_so_far += len(sent)
    assert compared_so_far >= 50


def _sequence_of(exchange: Exchange) -> str:
    return next((name for name, steps in sequences("responses").items() if exchange in steps), "")
