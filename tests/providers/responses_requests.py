"""Recorded Responses requests, read into our own values and built anew by the adapter."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from llm_foundation.chat import ChatRequest
from llm_foundation.providers.openai_responses.items import visible_text
from llm_foundation.providers.recordings.replay import Step, gone_through
from llm_foundation.providers.recordings.responses import CALLS, SERVERS_MEMORY
from tests.providers.corpus import Exchange, exchanges, sequences
from tests.providers.official_types import objections_of


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded, and holds the whole conversation."""
    return [
        exchange
        for exchange in exchanges("responses")
        if exchange.request and not any(exchange.request.get(key) for key in SERVERS_MEMORY)
    ]


def request_of(exchange: Exchange) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request, in the place of its recording."""
    return _steps()[exchange.id].request


@cache
def _steps() -> dict[str, Step]:
    """Every recorded step, gone through again with our own reading of the steps before it."""
    recordings = [*sequences("responses").values(), *((exchange,) for exchange in exchanges("responses"))]
    asked = [[step for step in recording if step.request] for recording in reversed(recordings)]
    return {
        exchange.id: step
        for recording in asked
        for exchange, step in zip(recording, gone_through(recording), strict=True)
        if isinstance(step, Step)
    }


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    body: dict[str, Any] = _steps()[exchange.id].body
    return body


def objections_to(exchange: Exchange) -> list[str]:
    """What the official types have against the request that the adapter builds, the operator's additions aside."""
    added = request_of(exchange).options.extra
    return objections({key: value for key, value in rebuilt(exchange).items() if key not in added})


@cache
def _types() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    return TypeAdapter(ResponseCreateParamsNonStreaming), TypeAdapter(ResponseCreateParamsStreaming)


def objections(body: dict[str, Any]) -> list[str]:
    """What the official package's own types for requests have against a body."""
    plain, streaming = _types()
    return objections_of(streaming if body.get("stream") else plain, body)


Word = tuple[str, ...]


def told(items: list[dict[str, Any]]) -> Iterator[Word]:
    """What a list of items tells the model, and what of it is the provider's own context, in order."""
    for item in items:
        kind = item.get("type", "message")
        if kind == "reasoning":
            yield kind, item.get("encrypted_content") or json.dumps(item.get("content"), sort_keys=True)
        elif kind in CALLS:
            yield "call", item["call_id"], item["name"]
        elif kind in CALLS.values():
            yield "result", item["call_id"]
        elif kind != "message":
            yield kind, item.get("id", "")
        elif item["role"] == "assistant":
            yield from [("text", text)] if (text := visible_text([{"type": "message", **item}])) else []
        else:
            yield ("said",)
