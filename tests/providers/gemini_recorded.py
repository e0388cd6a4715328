"""Recorded Gemini traffic: answers in the words of the second reader, and conversations read back into our values."""

import json
from typing import Any

from llm_foundation.chat import ChatRequest, CompletionResponse
from llm_foundation.exceptions import ProviderError
from llm_foundation.providers.recordings.gemini import read_request
from tests.providers.agreement import Cut, compared, expected_facts, facts, read, whole
from tests.providers.corpus import Exchange, exchanges


def gemini_facts(response: CompletionResponse | None, error: ProviderError | None) -> dict[str, Any]:
    told = facts(response, error)
    if response is not None:
        state = response.provider_state
        is_signed = any(part.get("thoughtSignature") for part in state.items or ()) if state else False
        told["provider_state"] = ["thoughtSignature"] if is_signed else []
    return told


def gemini_expected(exchange: Exchange) -> dict[str, Any]:
    """What the second reader saw, with its counts in our meaning: it tells them as they stand on the wire."""
    told = expected_facts(exchange)
    if told["kind"] != "error":
        told["finish_reason"] = None if told["finish_reason"] is None else str(told["finish_reason"])
        usage = exchange.expected["usage_raw"] or {}
        told["output_tokens"] = _sum(usage, "candidatesTokenCount", "thoughtsTokenCount")
        told["input_tokens"] = _sum(usage, "promptTokenCount", "toolUsePromptTokenCount")
    return told


def _sum(usage: dict[str, Any], *names: str) -> int | None:
    counts = [usage[name] for name in names if usage.get(name) is not None]
    return sum(counts) if counts else None


def gemini_differences(exchange: Exchange, cut: Cut = whole) -> dict[str, tuple[Any, Any]]:
    """Where the two readers differ: ours and theirs, by fact."""
    return compared(gemini_facts(*read(exchange, cut)), gemini_expected(exchange))


def request_of(exchange: Exchange) -> ChatRequest:
    return read_request(exchange, exchange.adapter().owner)


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return json.loads(exchange.adapter().request(request_of(exchange)).body or b"")


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded."""
    return [exchange for exchange in exchanges("gemini") if exchange.request and exchange.request.get("contents")]
