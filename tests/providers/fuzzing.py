"""Hostile input for any adapter: only values, or ``ProviderError``, may come out; however bytes are cut, the same."""

import json
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, CompletionResponse
from llm_foundation.exceptions import ProviderError
from llm_foundation.providers.base import Adapter
from tests.chat.strategies import near_valid
from tests.providers.builders import calls_of, reasoning_of, text_of
from tests.providers.corpus import Exchange


def pieces_of(draw: st.DataObject, text: str) -> list[str]:
    cuts = sorted(draw.draw(st.sets(st.integers(min_value=0, max_value=len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def bytes_of(draw: st.DataObject, stream: bytes) -> list[bytes]:
    cuts = sorted(draw.draw(st.sets(st.integers(min_value=0, max_value=len(stream)), max_size=12)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def written(payload: Any) -> bytes:
    """JSON as a hostile server would write it; what Python cannot write nests too deeply, and has a test of its own."""
    try:
        return json.dumps(payload).encode("utf-8", "replace")
    except RecursionError:
        reject()


def outcome(exchange: Exchange, pieces: list[bytes]) -> Any:
    """Joined events and response; ids that are missing are ours to make up, so their places count only."""
    decoder = exchange.adapter().stream()
    events: list[Any] = []
    error, response = None, None
    try:
        for piece in pieces:
            events += decoder.feed(piece)
        response = decoder.finish()
    except ProviderError as raised:
        error, response = type(raised), decoder.partial()
    told = (text_of(events), reasoning_of(events), [call[1:] for call in calls_of(events)])
    return error, told, response and response.model_dump(exclude={"tool_calls": {"__all__": {"id"}}})


def only_values_or_provider_errors(adapter: Adapter, status: int, body: bytes) -> ChatMessage | None:
    """The turn that a body is, as stored and read again; ``None`` where it is an error."""
    try:
        response = adapter.response(status, {}, body)
    except ProviderError:
        return None
    assert isinstance(response, CompletionResponse)
    return ChatMessage.from_dict(response.to_message().to_transcript())


def fed(adapter: Adapter, pieces: list[bytes]) -> ChatMessage | None:
    """The same for a stream."""
    decoder = adapter.stream()
    try:
        for piece in pieces:
            decoder.feed(piece)
        response = decoder.finish()
    except ProviderError:
        decoder.partial()
        return None
    return ChatMessage.from_dict(response.to_message().to_transcript())


def damaged(draw: st.DataObject, exchange: Exchange) -> bytes:
    """A recorded stream with one event spoilt, lost, doubled, cut in two, or with its halves exchanged."""
    lines = [line for line in exchange.raw.splitlines() if line.startswith(b"data: {")][:40]
    place = draw.draw(st.integers(min_value=0, max_value=len(lines) - 1))
    spoilt = draw.draw(near_valid(st.just(json.loads(lines[place][6:]))))
    deed = draw.draw(st.sampled_from(["replace", "drop", "double", "cut", "swap"]))
    broken = {
        "replace": [*lines[:place], b"data: " + written(spoilt), *lines[place + 1 :]],
        "drop": [*lines[:place], *lines[place + 1 :]],
        "double": [*lines[: place + 1], *lines[place:]],
        "cut": [*lines[:place], lines[place][: len(lines[place]) // 2]],
        "swap": [*lines[place:], *lines[:place]],
    }[deed]
    return b"\n\n".join([*broken, b"", b""])
