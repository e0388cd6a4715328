"""Recorded requests, read into our own values and built anew by the adapter."""

import json
from typing import Any

from llm_foundation.chat import ChatRequest
from llm_foundation.providers.recordings.chat import STATE_FIELDS, read_request
from tests.providers.corpus import Exchange, exchanges
from tests.providers.official_types import objections


def request_of(exchange: Exchange) -> ChatRequest:
    return read_request(exchange, exchange.adapter().owner)


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return json.loads(exchange.adapter().request(request_of(exchange)).body or b"")


def objections_to(exchange: Exchange, *, vendors_own: bool = True) -> list[str]:
    """What the official types have against the request that the adapter builds, the operator's additions aside.

    With ``vendors_own=False`` also what only its vendor takes is taken away before.
    """
    request = request_of(exchange)
    body = {key: value for key, value in rebuilt(exchange).items() if key not in request.options.extra}
    return objections(body if vendors_own else without_vendors_own(body))


def without_vendors_own(body: dict[str, Any]) -> dict[str, Any]:
    """The body in OpenAI's words: without context that goes back to its owner, and without a vendor's names."""
    kept = {key: value for key, value in body.items() if key not in ("reasoning", "thinking")}
    if "random_seed" in kept:
        kept["seed"] = kept.pop("random_seed")
    if kept.get("tool_choice") == "any":
        kept["tool_choice"] = "required"
    return kept | {"messages": [_without_context(message) for message in kept["messages"]]}


def _without_context(message: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key not in STATE_FIELDS}
    if message["role"] == "assistant" and isinstance(message["content"], list):
        kept["content"] = [chunk for chunk in message["content"] if chunk["type"] != "thinking"]
    return kept


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded, in this format."""
    return [exchange for exchange in exchanges() if exchange.request and "messages" in exchange.request]
