"""Recorded answers of real providers are read as a second, independent reader reads them.

That reader tells what stands on the wire; where the design asks for more, ``DIFFERENCES`` says so.
"""

from typing import Any

import pytest

from llm_foundation.chat import CompletionResponse, StreamCompleted
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContentRefused,
    ContextLengthExceeded,
    InvalidRequest,
    InvalidResponse,
    ModelNotFound,
    RateLimited,
)
from tests.providers.agreement import at_random, by_byte, differences, read, whole
from tests.providers.builders import calls_of, reasoning_of, text_of
from tests.providers.corpus import exchanges, needs_corpus

pytestmark = needs_corpus

OTHER_NAMES = "counts under names that the second reader passes over, as the provider reports them"
THINKING_JOINS = "xAI counts thinking beside the completion; our output holds it"
THINKING_IS_KEPT = "Mistral's thinking goes back to it, so it is provider state"
READABLE = "thinking that stands in reasoning_details only is told as reasoning"

DIFFERENCES: dict[str, tuple[str, set[str]]] = {
    "openai-compatible/chatlas-test-databricks-": (OTHER_NAMES, {"cached_input_tokens", "cache_write_tokens"}),
    "openai-compatible/oi-test-async-chat-stream-0-3a3a72": (OTHER_NAMES, {"cached_input_tokens"}),
    "openai-compatible/oi-test-chat-with-tool-call-0-72bcbf": (OTHER_NAMES, {"cached_input_tokens"}),
    "openai-compatible/pai-test-hf-model-thinking-part-1-c4a83d": (OTHER_NAMES, {"cached_input_tokens"}),
    "openai-compatible/pai-test-max-completion-tokens-0-006da6": (OTHER_NAMES, {"cached_input_tokens"}),
    "openai-compatible/pai-test-simple-completion-0-4efe7e": (OTHER_NAMES, {"cached_input_tokens"}),
    "openai-compatible/vercel-moonshotai-reasoning-0-f348f0": (OTHER_NAMES, {"cached_input_tokens"}),
    "openai-compatible/vercel-xai-text-0-349a21": (THINKING_JOINS, {"output_tokens"}),
    "openai-compatible/vercel-xai-tool-call-0-039a1e": (THINKING_JOINS, {"output_tokens"}),
    "xai/prism-structured-basic-response-1-0-7337e1": (THINKING_JOINS, {"output_tokens"}),
    "xai/vercel-xai-text-0-6866e6": (THINKING_JOINS, {"output_tokens"}),
    "mistral/dd-mistral-v1-chat-completions-post-20aaaaf3-0-7f1c95": (THINKING_IS_KEPT, {"provider_state"}),
    "mistral/rubyllm-chat-mistral-hybrid-reasoning-": (THINKING_IS_KEPT, {"provider_state"}),
    "mistral/rubyllm-chat-with-extended-thinking-": (THINKING_IS_KEPT, {"provider_state"}),
    "mistral/prism-stream-reasoning-model-1-1-0-636721": (THINKING_IS_KEPT, {"provider_state"}),
    "mistral/pai-test-mistral-model-thinking-part-1-324cc6": (THINKING_IS_KEPT, {"provider_state"}),
    "mistral/vercel-mistral-reasoning-0-5a1c6d": (THINKING_IS_KEPT, {"provider_state"}),
    "openai-compatible/pai-test-snowflake-thinking-streaming-0-977d2b": (READABLE, {"reasoning"}),
    "openrouter/rubyllm-chat-web-search-with-openrouter-": (READABLE, {"reasoning"}),
}
RAW_CACHE_NAMES = ("cached_tokens", "num_cached_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def is_right(reason: str, expected: dict[str, Any], fact: str, ours: Any) -> bool:
    """Whether our side of a named difference is what the reason says."""
    usage = expected["usage_raw"]
    if reason is OTHER_NAMES:
        return ours in [usage.get(name) for name in RAW_CACHE_NAMES]
    if reason is THINKING_JOINS:
        return ours == usage["total_tokens"] - usage["prompt_tokens"]
    if reason is THINKING_IS_KEPT:
        return ours == ["content"] and expected["has_reasoning"]
    return bool(ours) and expected["provider_state"] == ["reasoning_details"]


def unexplained(exchange, cut=whole) -> dict[str, Any]:
    """The differences that no named reason explains."""
    reason, named = next((known for start, known in DIFFERENCES.items() if exchange.id.startswith(start)), ("", set()))
    return {
        fact: sides
        for fact, sides in differences(exchange, cut).items()
        if fact not in named or not is_right(reason, exchange.expected, fact, sides[0])
    }


def test_every_recorded_answer_is_read_as_expected():
    assert len(exchanges()) == 411
    assert {exchange.id: found for exchange in exchanges() if (found := unexplained(exchange))} == {}


def test_all_but_a_few_are_read_exactly_alike():
    exact = [exchange for exchange in exchanges() if not differences(exchange)]
    assert len(exact) == 378


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_streams_are_read_alike_in_random_pieces(seed):
    streams = [exchange for exchange in exchanges() if exchange.is_stream]
    assert {exchange.id: found for exchange in streams if (found := unexplained(exchange, at_random(seed)))} == {}


def test_streams_are_read_alike_byte_by_byte():
    streams = [exchange for exchange in exchanges() if exchange.is_stream]
    assert {exchange.id: found for exchange in streams if (found := unexplained(exchange, by_byte))} == {}


def test_events_of_a_stream_tell_what_its_response_says():
    for exchange in exchanges():
        if exchange.is_stream and exchange.expected["kind"] == "message":
            decoder = exchange.adapter().stream()
            events = decoder.feed(exchange.raw)
            response = decoder.finish()
            assert (text_of(events), reasoning_of(events)) == (response.content, response.reasoning or "")
            assert [(id, name) for id, name, _ in calls_of(events)] == [(c.id, c.name) for c in response.tool_calls]
            assert StreamCompleted(response=response).response is response


RECORDED_ERRORS = {
    "azure-openai-chat/ollmetry-test-chat-reasoning-1": ModelNotFound,
    "azure-openai-chat/ollmetry-test-prompt-content-filtering-0": ContentRefused,
    "deepseek/rubyllm-chat-error-handling-with-deepseek-": AuthenticationFailed,
    "groq/pai-test-tool-regular-error-0": ModelNotFound,
    "groq/pai-test-tool-use-failed-error-0": InvalidResponse,
    "groq/pai-test-tool-use-failed-error-streaming-with-text-0": InvalidResponse,
    "groq/pai-test-tool-use-failed-error-with-text-0": InvalidResponse,
    "mistral/rubyllm-chat-error-handling-with-mistral-": AuthenticationFailed,
    "ollama-openai/rubyllm-chat-error-handling-with-ollama-": AuthenticationFailed,
    "ollama-openai/rubyllm-chat-real-error-scenarios-ollama-": ContextLengthExceeded,
    "openai-chat/ollmetry-test-agents-and-tools-2": ModelNotFound,
    "openrouter/rubyllm-chat-error-handling-with-openroute-": AuthenticationFailed,
    "openrouter/pai-test-openrouter-errors-raised-0": RateLimited,
    "openrouter/pai-test-openrouter-stream-error-0": InvalidRequest,
}


def test_recorded_errors_have_their_types():
    found = [(exchange.id, type(error)) for exchange in exchanges() if (error := read(exchange)[1]) is not None]
    assert len(found) == len(RECORDED_ERRORS)
    for (id, kind), (start, expected) in zip(
        sorted(found, key=lambda error: error[0]), sorted(RECORDED_ERRORS.items()), strict=True
    ):
        assert (id.startswith(start), kind) == (True, expected), id


def test_every_response_survives_storage():
    for exchange in exchanges():
        response, _ = read(exchange)
        if response is not None:
            assert CompletionResponse.model_validate_json(response.model_dump_json()) == response
