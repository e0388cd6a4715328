"""A model call whose pieces are kept while they arrive, so that others can read along.

What is kept is for reading along only. The answer is what ``StreamCompleted`` carries: the very response of a call
without a stream.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import attrgetter
from time import monotonic
from typing import Final

from asgiref.sync import sync_to_async

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.stream import ReasoningDelta, StreamCompleted, StreamEvent, TextDelta
from llm_foundation.exceptions import InvalidRequest
from llm_foundation.pipeline.call import ModelCall
from llm_foundation.runs.drivers import Operation
from llm_foundation.runs.events import Delta, EventKind
from llm_foundation.runs.ticks import with_ticks

ASK_EVERY: Final = 1.0
"""Seconds between two questions whether the run is to be cancelled, while there is nothing to keep."""

_STREAM: Final = re.compile(r"\bstream", re.IGNORECASE)

Keep = Callable[[Sequence[Delta]], None]


def streamed(call: ModelCall, keep: Keep, interval: float) -> Operation:
    """The call as an operation that keeps its pieces every ``interval`` seconds; the plain call where that is 0."""
    return StreamedCall(call, keep, interval) if interval and call.target.adapter.capabilities.streaming else call


@dataclass(frozen=True, slots=True)
class StreamedCall:
    """``keep`` is given the newest pieces, or none where it shall only look for a cancel.

    What it raises closes the connection and comes through. The last pieces are not kept: the message is stored right
    after.
    """

    call: ModelCall
    keep: Keep
    interval: float

    def perform(self) -> CompletionResponse:
        """Pieces that arrived shortly before a stall wait for its end: there is no second thread to write them."""
        try:
            return self._read()
        except InvalidRequest as refusal:
            if not _refuses_streams(refusal):
                raise
        return self.call.perform()

    async def aperform(self) -> CompletionResponse:
        batch = _Batch()

        async def tick() -> None:
            if batch.pieces or batch.silence >= ASK_EVERY:
                await sync_to_async(self.keep)(batch.take())

        try:
            return await with_ticks(self._aread(batch), tick, every=min(self.interval, ASK_EVERY))
        except InvalidRequest as refusal:
            if not _refuses_streams(refusal):
                raise
        return await self.call.aperform()

    def _read(self) -> CompletionResponse:
        batch = _Batch()
        with closing(self.call.stream()) as events:
            for event in events:
                if isinstance(event, StreamCompleted):
                    return event.response
                batch.add(event)
                if (batch.pieces and batch.age >= self.interval) or batch.silence >= ASK_EVERY:
                    self.keep(batch.take())
        raise RuntimeError(_NO_END)

    async def _aread(self, batch: "_Batch") -> CompletionResponse:
        async with aclosing(self.call.astream()) as events:
            async for event in events:
                if isinstance(event, StreamCompleted):
                    return event.response
                batch.add(event)
        raise RuntimeError(_NO_END)


_NO_END: Final = "A stream ended without its last event."
_KINDS: Final = {TextDelta: EventKind.TEXT, ReasoningDelta: EventKind.REASONING}


class _Batch:
    """What has arrived and is not kept yet."""

    def __init__(self) -> None:
        self.pieces: list[Delta] = []
        self._taken_at = monotonic()
        self._first_at = inf

    @property
    def age(self) -> float:
        """Seconds since the last batch. The first one counts from its first piece: what comes all at once, as an
        answer in plain JSON does, is stored right after and need not be kept before.
        """
        return monotonic() - max(self._taken_at, self._first_at)

    @property
    def silence(self) -> float:
        """Seconds since anybody was told anything."""
        return monotonic() - self._taken_at

    def add(self, event: StreamEvent) -> None:
        """Pieces of calls are left out: nobody can read along there, and the whole call is soon stored."""
        if isinstance(event, TextDelta | ReasoningDelta) and event.text:
            self._first_at = min(self._first_at, monotonic())
            self.pieces.append(Delta(_KINDS[type(event)], event.text))

    def take(self) -> list[Delta]:
        """The pieces, neighbours of one kind as one."""
        pieces, self.pieces = self.pieces, []
        self._taken_at = monotonic()
        return [Delta(kind, "".join(one.text for one in some)) for kind, some in groupby(pieces, attrgetter("kind"))]


def _refuses_streams(error: InvalidRequest) -> bool:
    """OpenAI streams some models only to organizations that it has verified, and answers everybody (crush#422)."""
    return error.partial is None and _STREAM.search(error.message) is not None
