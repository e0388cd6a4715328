"""How a follower reads a run: look by look, each of them a query of its own, with nothing held in between."""

from time import monotonic
from typing import Final
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, Error, connections

from llm_foundation.exceptions import RunInsideTransaction
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Run
from llm_foundation.runs.events import EventKind
from llm_foundation.runs.releases import WAITING
from llm_foundation.runs.surroundings import drop_broken_connection
from llm_foundation.runs.updates import RunUpdate, read_updates

SHORTEST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0
"""Seconds between two looks at a run; each pause is twice as long as the one before, until something comes."""

PATIENCE: Final = 60.0
"""Seconds for which the database may be away before a follower gives up."""

_GRACE: Final = 60.0
"""Seconds for which a connection is used on when CONN_MAX_AGE calls it old: by default it does so at once."""

_PAGE: Final = 200

Page = list[RunUpdate]


def is_end(page: Page) -> bool:
    """Nothing follows a run's end."""
    return bool(page) and page[-1].kind == EventKind.FINISHED


class Reader:
    """How far one follower has come.

    What is visible is in order, and no gap fills later: a sequence is taken under the lock of the run's row, and can
    be seen only once the transaction that holds the lock is committed. Who has seen one event has seen all before it,
    or can no longer see them: pieces of an answer are deleted when the answer is stored, which is an event after them.
    """

    def __init__(self, run_id: UUID, *, after: int, stop_when_paused: bool) -> None:
        self.run_id = run_id
        self.last = after
        self.stop_when_paused = stop_when_paused
        self._pause = SHORTEST_PAUSE
        self._away_since: float | None = None

    def read(self) -> Page | None:
        """What is new; ``None`` where nothing will come any more."""
        _renew_connection()
        try:
            page = self._look()
        except Error:
            if not self._may_wait_for_database():
                raise
            return []
        self._away_since = None
        if page:
            self._pause = SHORTEST_PAUSE
        return page

    def pause(self) -> float:
        """How long to wait now, in seconds."""
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return pause

    def _look(self) -> Page | None:
        """First at the run's row: where there is nothing new, one short query says so.

        Status and counter are of one moment: where a run has ended, its last event is counted.
        """
        row = Run.objects.using(DEFAULT_DB_ALIAS).filter(pk=self.run_id)
        found = row.values_list("status", "next_event_sequence").first()
        if found is None:
            return None
        status, next_sequence = RunStatus(found[0]), found[1]
        if next_sequence <= self.last + 1:
            return self._nothing_new(status)
        page = read_updates(self.run_id, after=self.last, limit=_PAGE)
        self.last = page[-1].sequence if page else next_sequence - 1
        return page

    def _nothing_new(self, status: RunStatus) -> Page | None:
        if status.is_terminal or (self.stop_when_paused and status in WAITING):
            return None
        if connections[DEFAULT_DB_ALIAS].in_atomic_block:
            # A transaction sees the run as it was when it began, and on SQLite it keeps the run from going on.
            raise RunInsideTransaction(
                f"Run {self.run_id} is {status}, and what it does next cannot be seen inside this transaction: follow"
                " it after transaction.atomic() has ended."
            )
        return []

    def _may_wait_for_database(self) -> bool:
        """Whether the error is a matter of the connection: the next look opens another one."""
        if not drop_broken_connection():
            return False
        self._away_since = self._away_since or monotonic()
        return monotonic() - self._away_since < PATIENCE


def _renew_connection() -> None:
    """As Django does it around each request: a follower may be at it for hours. A transaction needs the one it has."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block:
        return
    if connection.close_at is not None and monotonic() - connection.close_at > _GRACE:
        connection.close_if_unusable_or_obsolete()
