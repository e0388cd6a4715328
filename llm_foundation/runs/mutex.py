"""The mutex of a run: its row.

Every transaction that touches a run begins with an UPDATE of its row, before any SELECT. On SQLite a read-then-write
transaction fails at once under contention, whatever the timeout; on PostgreSQL and MariaDB the row lock puts segments,
deciders and sweeps in a line. Then the calls are read, then written: run first, calls second.

A segment takes the mutex with the token of its lease (``take``), everybody else without one (``lock``). All of them
count the run's revision, so a segment that finds the revision it knows need not read what it knows as well.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import models
from django.db.models import F

from llm_foundation.conf import settings
from llm_foundation.exceptions import RunLost
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Run
from llm_foundation.models.compiled import CompiledQuery, Parameter
from llm_foundation.models.compiled_writes import CompiledUpdate, execute_together
from llm_foundation.runs import clock
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.rows import First, require_moves, write_rows, writes_of

LET_GO: Final[dict[str, Any]] = {"lease_owner": "", "lease_expires_at": None}


class Standing(NamedTuple):
    """How the run's row stands after it was taken, column by column: nobody else counts on until the transaction ends.

    Whether a cancel was requested is among them, or who is shown the rest would find nothing new, and no cancel.
    """

    revision: int
    next_message_sequence: int
    next_event_sequence: int
    cancel_requested_at: datetime | None

    @property
    def is_cancel_requested(self) -> bool:
        return self.cancel_requested_at is not None

    def first(self, changes: Changes) -> First:
        """Where the rows go that are counted already."""
        return First(self.next_message_sequence - len(changes.messages), self.next_event_sequence - len(changes.events))

    def show(self, run: Run) -> None:
        """Once it is committed: the next one is taken from here."""
        show(run, self._asdict())


def take(run: Run, changes: Changes, *, seconds: float | None = None, more_events: int = 0, **fields: Any) -> Standing:
    """The segment's way: true only while the lease is ours. Raises ``RunLost``.

    ``seconds`` is what the next operations may take: the lease is set to cover them. Without it the lease stays.
    """
    known, unknown, values = _ways(run, changes, seconds, more_events)
    columns = {**changes.fields, **fields}
    if known.execute(columns, **values, revision=run.revision):
        return _counted(run, values)
    if not unknown.execute(columns, **values):
        raise RunLost(f"Run {run.pk} is no longer held by this segment; nothing was written.")
    return _standing(run.pk)


class Moved(Exception):
    """Somebody else has counted on since this segment last knew: its rows would go where others are."""


def take_and_write(run: Run, changes: Changes, *, seconds: float | None = None, **fields: Any) -> Standing:
    """``take`` and ``write_rows`` at once, where nobody else has written since; the database is waited for once.

    Raises ``Moved``; or ``IntegrityError``, where rows were in the way before it was known. Then nothing may be
    committed, and ``take`` says how the run stands.
    """
    known, _, values = _ways(run, changes, seconds, more_events=0)
    standing = _counted(run, values)
    taking = known.write({**changes.fields, **fields}, **values, revision=run.revision)
    taken, *counts = execute_together([taking, *writes_of(run, changes, standing.first(changes))])
    if not taken:
        raise Moved
    require_moves(changes, counts)
    return standing


def _ways(
    run: Run, changes: Changes, seconds: float | None, more_events: int
) -> tuple[CompiledUpdate, CompiledUpdate, dict[str, Any]]:
    """How to take a run of a known revision, and one of any other; and the values for both."""
    values: dict[str, Any] = {
        "run": run.pk,
        "token": run.lease_token,
        "messages": len(changes.messages),
        "events": len(changes.events) + more_events,
    }
    if seconds is None:
        return _TAKE, _TAKE_MOVED, values
    values["seconds"] = timedelta(seconds=seconds + settings.LEASE_MARGIN)
    return _TAKE_AND_RENEW, _TAKE_MOVED_AND_RENEW, values


def _counted(run: Run, values: Mapping[str, Any]) -> Standing:
    """How a run of a known revision stands once it is taken with these values."""
    return Standing(
        run.revision + 1,
        run.next_message_sequence + values["messages"],
        run.next_event_sequence + values["events"],
        run.cancel_requested_at,
    )


def lock(run_id: UUID) -> Run:
    """The way of deciders, cancels and sweeps: take the mutex, and read the run as it is now."""
    _LOCK.execute(run=run_id)
    return read(run_id)


def read(run_id: UUID) -> Run:
    """The run with its people and its configuration. Raises ``Run.DoesNotExist``."""
    found = _RUN.fetch(run=run_id)
    if not found:
        raise Run.DoesNotExist(f"There is no run {run_id}.")
    return found[0]


def write(run: Run, changes: Changes, **fields: Any) -> None:
    """Write changes to a run that was read in this transaction, under the mutex."""
    standing = Standing(
        run.revision + 1,
        run.next_message_sequence + len(changes.messages),
        run.next_event_sequence + len(changes.events),
        run.cancel_requested_at,
    )
    Run.objects.filter(pk=run.pk).update(
        revision=standing.revision,
        next_message_sequence=standing.next_message_sequence,
        next_event_sequence=standing.next_event_sequence,
        **{**changes.fields, **fields},
    )
    write_rows(run, changes, standing.first(changes))
    standing.show(run)


def _standing(run_id: UUID) -> Standing:
    return Standing(*Run.objects.values_list(*Standing._fields).get(pk=run_id))


def show(run: Run, fields: Mapping[str, Any]) -> None:
    """Let the object say what its row says now."""
    for name, value in fields.items():
        setattr(run, name, value)


def _taking(*, moved: bool, renews: bool) -> CompiledUpdate:
    def build() -> tuple[Any, Mapping[str, Any]]:
        held = Run.objects.filter(
            pk=Parameter("run", models.UUIDField()),
            lease_token=Parameter("token", models.BigIntegerField()),
            status=RunStatus.RUNNING,
        )
        counted: dict[str, Any] = {
            "revision": F("revision") + 1,
            "next_message_sequence": F("next_message_sequence") + Parameter("messages", models.IntegerField()),
            "next_event_sequence": F("next_event_sequence") + Parameter("events", models.IntegerField()),
        }
        lease = {"lease_expires_at": clock.now() + Parameter("seconds", models.DurationField())}
        unmoved = {} if moved else {"revision": Parameter("revision", models.BigIntegerField())}
        return held.filter(**unmoved), counted | (lease if renews else {})

    return CompiledUpdate(build)


_TAKE: Final = _taking(moved=False, renews=False)
_TAKE_AND_RENEW: Final = _taking(moved=False, renews=True)
_TAKE_MOVED: Final = _taking(moved=True, renews=False)
_TAKE_MOVED_AND_RENEW: Final = _taking(moved=True, renews=True)
_LOCK: Final = CompiledUpdate(
    lambda: (Run.objects.filter(pk=Parameter("run", models.UUIDField())), {"revision": F("revision") + 1})
)
_RUN: Final = CompiledQuery(
    lambda: Run.objects.select_related("owner", "starter", "configuration").filter(
        pk=Parameter("run", models.UUIDField())
    )
)
