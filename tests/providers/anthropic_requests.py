"""Recorded Messages requests, read into our own values and built anew by the adapter; and recorded sequences."""

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from llm_foundation.chat import ChatRequest
from llm_foundation.providers.recordings.anthropic import read_request
from llm_foundation.providers.recordings.replay import replayed
from tests.providers.corpus import Exchange, exchanges, sequences
from tests.providers.official_types import objections_of

ANTHROPIC = "https://api.anthropic.com"


def adapter_of(exchange: Exchange) -> Any:
    return exchange.adapter(base_url=ANTHROPIC)


def request_of(exchange: Exchange) -> ChatRequest:
    return read_request(exchange, adapter_of(exchange).owner)


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return json.loads(adapter_of(exchange).request(request_of(exchange)).body or b"")


def can_say(exchange: Exchange) -> bool:
    """Whether its request was recorded, and says nothing that we have no words for: tools that come and go between
    messages (a feature in beta).
    """
    return bool(exchange.request) and '"tool_addition"' not in json.dumps(exchange.request["messages"])


def recorded() -> list[Exchange]:
    return [exchange for exchange in exchanges("anthropic") if can_say(exchange)]


@cache
def _types(*, beta: bool, streams: bool) -> TypeAdapter[Any]:
    from anthropic.types import message_create_params as stable
    from anthropic.types.beta import message_create_params as betas

    params: Any = betas if beta else stable
    return TypeAdapter(params.MessageCreateParamsStreaming if streams else params.MessageCreateParamsNonStreaming)


def objections(body: dict[str, Any], *, beta: bool = False) -> list[str]:
    """What the official types have against a body. They know sampling parameters no more; the older API does.

    Those of features in beta know fewer keywords of a schema than the others, which take any.
    """
    known = {key: value for key, value in body.items() if key not in ("temperature", "top_p")}
    found = objections_of(_types(beta=beta, streams=bool(body.get("stream"))), known)
    return [words for words in found if not (beta and ".input_schema." in words)]


def objections_to(exchange: Exchange) -> list[str]:
    """What both the stable types and those of features in beta have against the request that the adapter builds.

    Keys that an operator added are the operator's.
    """
    extra = request_of(exchange).options.extra
    body = {key: value for key, value in rebuilt(exchange).items() if key not in extra or key == "tools"}
    return objections(body) and objections(body, beta=True)


def turns_of(body: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The assistant's turns in a request, block by block."""
    entries = [entry["content"] for entry in body["messages"] if entry["role"] == "assistant"]
    return [[{"type": "text", "text": entry}] if isinstance(entry, str) else entry for entry in entries]


def replay(steps: tuple[Exchange, ...]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """For each step after the first: the recorded request, and ours from the earlier answers and recorded results."""
    return [(step.request, body) for step, body in zip(steps[1:], replayed(steps), strict=True) if can_say(step)]


def all_sequences() -> dict[str, tuple[Exchange, ...]]:
    return sequences("anthropic")
