"""What a tool says while it works, and how it hears of a cancel, in a stored run.

A tool may speak from anywhere: from the thread of the run's steps, which owns the database connection; from an event
loop, which must not wait for a database; from a thread of its own; inside a transaction of its own. Only from the
first of these is anything written at once. From the others a line waits until the steps' thread is free to write it.

Speaking never harms the call. Where a line cannot be written, the tool goes on all the same: an exception in the
middle of a write would leave half of it done, and a call in doubt that would have succeeded.
- The run is lost: nothing more is written, and the tool is told that it is cancelled, since nobody waits for its
  result. It may still come to its end: then its late result settles the call that is in doubt because of it.
- The database fails: that is logged, and for some seconds no line is written. The step after the tool meets the same
  database, and decides what becomes of the run.
"""

import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from math import inf
from threading import Lock, get_ident
from time import monotonic
from typing import Any, Final, TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async

from llm_foundation.exceptions import RunLost
from llm_foundation.models.fields import readable
from llm_foundation.runs.events import Delta, EventKind
from llm_foundation.runs.streaming import ASK_EVERY
from llm_foundation.runs.surroundings import drop_broken_connection, is_inside_event_loop, is_inside_transaction
from llm_foundation.runs.ticks import with_ticks
from llm_foundation.vocabulary import Effect

T = TypeVar("T")

MAX_LINE: Final = 2_000
"""Characters. What a tool says beyond that is cut off."""

_REST: Final = 10.0
"""Seconds without a line after the database failed: it may keep a tool waiting each time that it is asked."""

logger = logging.getLogger("llm_foundation.runs")


class Reporter:
    """For the tools of one segment; made in the thread of its steps.

    ``keep`` writes lines, none to only ask, and gives whether the run is to be cancelled. ``interval``, in seconds, is
    the least time between two of them; 0 if nobody shall follow: then nothing is written, but a cancel is heard of.
    """

    def __init__(self, keep: Callable[[Sequence[Delta]], bool], interval: float) -> None:
        self._keep = keep
        self._interval = interval
        self._thread = get_ident()
        self._lock = Lock()
        self._lines: dict[UUID, str] = {}
        self._working: set[UUID] = set()
        self._asked_at = -inf
        self._is_watched = False
        self._is_cancel_requested = False
        self._is_lost = False

    def hooks(self, call: UUID, effect: Effect) -> tuple[Callable[[str], None], Callable[[], bool]]:
        """``report`` and ``is_cancelled`` for the context of a call that is about to run.

        A transactional tool says nothing: before its commit nothing may be written beside it, and after it there is
        the result. It hears of a cancel that was known before it began.
        """
        if effect is Effect.TRANSACTIONAL_WRITE:
            return lambda text: None, lambda: self._is_cancel_requested
        self._working.add(call)
        return partial(self._report, call), self._ask

    async def beside(self, work: Coroutine[Any, Any, T]) -> T:
        """Perform calls in an event loop, and write meanwhile what they say."""
        return await with_ticks(work, self._tick, every=self._interval or ASK_EVERY)

    def close(self) -> None:
        """The calls have ended. What they said last is not written any more: their results say it better."""
        with self._lock:
            self._working.clear()
            self._lines.clear()

    def _report(self, call: UUID, text: str) -> None:
        with self._lock:
            if call not in self._working or not self._interval:
                return
            self._lines[call] = readable(str(text), length=MAX_LINE)  # over an older one, which says less
        if self._may_write() and self._is_due:
            self._exchange()

    def _ask(self) -> bool:
        self._is_watched = True
        if self._may_write() and not self._is_lost and self._silence >= ASK_EVERY:
            self._exchange()
        return self._is_cancel_requested or self._is_lost

    async def _tick(self) -> None:
        if self._is_due:
            await sync_to_async(self._exchange)()

    @property
    def _silence(self) -> float:
        """Seconds since the last exchange; less than none while the database is left alone."""
        return monotonic() - self._asked_at

    @property
    def _is_due(self) -> bool:
        if self._is_lost:
            return False
        if self._lines:
            return self._silence >= self._interval
        return self._is_watched and self._silence >= ASK_EVERY

    def _may_write(self) -> bool:
        """A tool's own transaction would roll the line back with it, and keep everybody from the run until its end."""
        return get_ident() == self._thread and not is_inside_event_loop() and not is_inside_transaction()

    def _exchange(self) -> None:
        """Write what was said, and hear whether the run is to be cancelled."""
        with self._lock:
            lines, self._lines = self._lines, {}
        try:
            deltas = [Delta(EventKind.PROGRESS, text, call) for call, text in lines.items()]
            self._is_cancel_requested |= self._keep(deltas)
            self._asked_at = monotonic()
        except RunLost:
            self._is_lost = True
        except Exception as error:  # noqa: BLE001  # whatever a database raises
            # Without its words, which may hold a password.
            logger.warning("What a tool reports cannot be kept now: %s", type(error).__qualname__)
            self._asked_at = monotonic() + _REST
            drop_broken_connection()  # or it would be the tool that fails at it
