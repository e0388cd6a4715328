"""How far the adapter reads recorded answers as a second reader does; run it for the numbers.

::

    python -m tests.providers.agreement
"""

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

from llm_foundation.chat import CompletionResponse
from llm_foundation.exceptions import ProviderError
from llm_foundation.providers.base import Adapter
from tests.providers.corpus import Exchange, exchanges

Cut = Callable[[bytes], Iterator[bytes]]
COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")


def whole(stream: bytes) -> Iterator[bytes]:
    yield stream


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


def read(
    exchange: Exchange, cut: Cut = whole, *, adapter: Adapter | None = None
) -> tuple[CompletionResponse | None, ProviderError | None]:
    """What came of an answer: a response, an error, or what had arrived before the error."""
    adapter = adapter or exchange.adapter()
    if not exchange.is_stream:
        try:
            return adapter.response(exchange.status, exchange.headers, exchange.raw), None
        except ProviderError as error:
            return None, error
    decoder = adapter.stream()
    try:
        for piece in cut(exchange.raw):
            decoder.feed(piece)
        return decoder.finish(), None
    except ProviderError as error:
        return decoder.partial(), error


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


def report() -> Iterator[str]:
    """The numbers, in words."""
    from tests.providers.recorded_requests import summary
    from tests.providers.test_recorded_answers import unexplained

    recorded = exchanges()
    streams = [exchange for exchange in recorded if exchange.is_stream]
    agreed = [exchange for exchange in recorded if not differences(exchange)]
    yield f"{len(agreed)} of {len(recorded)} answers read exactly as the second reader does (whole)"
    for name, cut in (("whole", whole), ("random pieces", at_random(1)), ("single bytes", by_byte)):
        subjects = recorded if cut is whole else streams
        fine = sum(1 for exchange in subjects if not unexplained(exchange, cut))
        yield f"{fine} of {len(subjects)} read as expected, named differences aside ({name})"
    yield summary()


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
