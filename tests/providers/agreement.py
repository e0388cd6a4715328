"""How far an adapter reads recorded answers as a second reader does. ``numbers`` tells it for all."""

import random
from collections.abc import Iterator
from typing import Any

from llm_foundation.chat import CompletionResponse
from llm_foundation.exceptions import ProviderError
from llm_foundation.providers.base import Adapter
from llm_foundation.providers.recordings.answers import Cut, Outcome, read_answer, whole
from tests.providers.corpus import Exchange

COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")


def by_byte(stream: bytes) -> Iterator[bytes]:
    return (stream[place : place + 1] for place in range(len(stream)))


def at_random(seed: int) -> Cut:
    """Pieces of random lengths, many of them very short."""

    def cut(stream: bytes) -> Iterator[bytes]:
        chance, place = random.Random(f"{seed} {len(stream)}"), 0
        while place < len(stream):
            length = min(chance.randint(1, 400), chance.randint(1, 400), chance.randint(1, 400))
            yield stream[place : place + length]
            place += length

    return cut


def read(exchange: Exchange, cut: Cut = whole, *, adapter: Adapter | None = None) -> Outcome:
    """What came of an answer: a response, an error, or what had arrived before the error."""
    return read_answer(exchange, adapter or exchange.adapter(), cut=cut)


def facts(response: CompletionResponse | None, error: ProviderError | None) -> dict[str, Any]:
    """The outcome in the words of the second reader."""
    told: dict[str, Any] = {"kind": "message" if error is None else "partial" if response else "error"}
    if error is not None:
        told["error"] = error.message
    if response is not None:
        state = response.provider_state
        told |= {
            "text": response.content,
            "reasoning": response.reasoning or "",
            "refusal": response.refusal or "",
            "finish_reason": response.raw_finish_reason,
            "names": [call.name for call in response.tool_calls],
            "arguments": [None if call.invalid_arguments else dict(call.arguments) for call in response.tool_calls],
            "ids": [call.id for call in response.tool_calls],
            "provider_state": sorted(state.items[0]) if state and state.items else [],
            "model": response.model,
            "response_id": response.response_id or "",
            **{name: getattr(response.usage, name) for name in COUNTS},
        }
    return told


def expected_facts(exchange: Exchange) -> dict[str, Any]:
    seen = exchange.expected
    told: dict[str, Any] = {"kind": seen["kind"]}
    if seen["error"]:
        told["error"] = seen["error"]["message"]
    if seen["kind"] != "error":
        calls = seen["tool_calls"]
        told |= {
            "text": seen["text"],
            "reasoning": seen["reasoning"],
            "refusal": seen["refusal"] or "",
            "finish_reason": seen["finish_reason"],
            "names": [call["name"] for call in calls],
            "arguments": [call["arguments"] for call in calls],
            "ids": [call["id"] for call in calls],
            "provider_state": sorted(seen["provider_state"]),
            "model": seen["model"] or "",
            "response_id": seen["response_id"] or "",
            **{name: (seen["usage"] or {}).get(name) for name in COUNTS},
        }
    return told


def differences(exchange: Exchange, cut: Cut = whole) -> dict[str, tuple[Any, Any]]:
    """Where the two readers differ: ours and theirs, by fact."""
    return compared(facts(*read(exchange, cut)), expected_facts(exchange))


def compared(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Facts that differ. A missing id is ours to make up."""
    if "ids" in theirs and "ids" in ours:
        theirs["ids"] = [id or own for id, own in zip(theirs["ids"], ours["ids"], strict=False)]
    if theirs.get("error") and ours.get("error", "").startswith(theirs["error"][:200]):
        ours["error"] = theirs["error"]  # ours is shortened, and tells what a gateway passes on
    return {key: (ours.get(key), theirs.get(key)) for key in ours | theirs if ours.get(key) != theirs.get(key)}
