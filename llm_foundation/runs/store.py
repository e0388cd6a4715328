"""What the holder of a run's lease writes, step by step.

Each function is one transaction, and each begins with the token of the lease: where the run is somebody else's by now,
``RunLost`` is raised and nothing is written. One transaction per step holds messages, call states and events together.

The lease covers the operations between two commits: each commit says how many seconds the next ones may take.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.conf import settings
from llm_foundation.loop.states import RUN_TRANSITIONS, CallState, RunStatus
from llm_foundation.models import Run, RunToolCall
from llm_foundation.models.compiled import takes_several
from llm_foundation.runs import announcements, clock, mutex
from llm_foundation.runs.changes import Changes, check_transition
from llm_foundation.runs.endings import end, ending
from llm_foundation.runs.events import Delta, Event
from llm_foundation.runs.repeating import repeated_on_conflict
from llm_foundation.runs.rows import write_deltas, write_rows, write_run


def insert(run: Run, messages: Sequence[ChatMessage], events: Sequence[Event], *, durable: bool) -> None:
    """Store a new run with its first messages. ``durable``: no surrounding transaction may take it back."""
    run.next_message_sequence += len(messages)
    run.next_event_sequence += len(events)
    with transaction.atomic(durable=durable):
        write_run(run, messages, events)
    run.lease_expires_at = run.enqueued_at = None  # the database has reckoned them; the object knows the terms only


def lease(seconds: float) -> dict[str, Any]:
    """The column of a lease that covers operations of so many seconds."""
    return {"lease_expires_at": clock.after(seconds + settings.LEASE_MARGIN)}


@repeated_on_conflict
def claim(run_id: UUID, *, owner: str, seconds: float) -> Run | None:
    """Take a queued run that is due; ``None`` where there is nothing to take, or another segment was faster."""
    due = Q(not_before=None) | Q(not_before__lte=clock.now())
    with transaction.atomic(durable=True):
        taken = Run.objects.filter(due, pk=run_id, status=RunStatus.QUEUED).update(
            revision=F("revision") + 1,
            status=RunStatus.RUNNING,
            lease_owner=owner,
            lease_token=F("lease_token") + 1,
            attempts=F("attempts") + 1,
            not_before=None,
            enqueued_at=None,
            resent=0,
            **lease(seconds),
        )
        return mutex.read(run_id) if taken else None


class Committed(NamedTuple):
    """``decided`` are calls that a person was faster with: what the step said of them was not written."""

    is_cancel_requested: bool
    decided: Mapping[UUID, RunToolCall]


@repeated_on_conflict
def commit(run: Run, changes: Changes, *, seconds: float) -> Committed:
    """Write one step; the next operations may take ``seconds``."""
    standing, decided = _write(run, changes, seconds=seconds)
    standing.show(run)
    return Committed(standing.is_cancel_requested, decided)


def _write(
    run: Run, changes: Changes, *, seconds: float | None = None, **fields: Any
) -> tuple[mutex.Standing, Mapping[UUID, RunToolCall]]:
    if _goes_at_once(changes):
        with suppress(mutex.Moved, IntegrityError), transaction.atomic(durable=True):
            return mutex.take_and_write(run, changes, seconds=seconds, **fields), {}
    with transaction.atomic(durable=True):
        standing = mutex.take(run, changes, seconds=seconds, **fields)
        decided = _decided(changes)
        write_rows(run, changes.without(decided), standing.first(changes))
    return standing, decided


def _goes_at_once(changes: Changes) -> bool:
    """Whether the database takes it in one go, and nothing has to be read or deleted under the mutex first."""
    has_pending = any(move.place["state"] == CallState.PENDING for move in changes.moves)
    return takes_several(connection) and not (has_pending or changes.forgets_deltas)


def _decided(changes: Changes) -> Mapping[UUID, RunToolCall]:
    """Deciders move pending calls while a segment runs; nobody else moves anything of a run that is held."""
    pending = [move.place["pk"] for move in changes.moves if move.place["state"] == CallState.PENDING]
    if not pending:
        return {}
    return RunToolCall.objects.exclude(state=CallState.PENDING).in_bulk(pending)


@repeated_on_conflict
def renew(run: Run, *, seconds: float) -> None:
    """Make the lease cover an operation that is longer than the last commit knew."""
    with transaction.atomic(durable=True):
        standing = mutex.take(run, Changes(), seconds=seconds)
    standing.show(run)


@repeated_on_conflict
def append_deltas(run: Run, deltas: Sequence[Delta]) -> bool:
    """Add pieces of what is being made to the timeline, and give whether a cancel was requested; none only asks."""
    if not deltas:
        return Run.objects.filter(pk=run.pk).exclude(cancel_requested_at=None).exists()
    with transaction.atomic(durable=True):
        standing = mutex.take(run, Changes(), more_events=len(deltas))
        write_deltas(run, deltas, first=standing.next_event_sequence - len(deltas))
    standing.show(run)
    return standing.is_cancel_requested


@repeated_on_conflict
def suspend(run: Run, changes: Changes, *, status: RunStatus, seen: Mapping[Any, tuple[str, str]]) -> bool:
    """Write the step and let go of the run, unless one of the calls that it waits for has moved since ``seen``.

    Then nothing is written: the segment goes on with what was decided. Where a cancel came first, the run ends.
    ``seen`` holds state and digest by the call's row: what a person adds to a call that waits changes its digest.
    """
    check_transition(RUN_TRANSITIONS[RunStatus.RUNNING], RunStatus.RUNNING, status)
    with transaction.atomic(durable=True):
        standing = mutex.take(run, changes)
        stored = RunToolCall.objects.filter(pk__in=seen).values_list("pk", "state", "digest")
        if {pk: (state, digest) for pk, state, digest in stored} != seen:
            transaction.set_rollback(True)
            return False
        write_rows(run, changes, standing.first(changes))
        announcements.waiting(run)
        left = _leave(run, standing, {"status": status, "error": "", **mutex.LET_GO})
    mutex.show(run, left)
    return True


@repeated_on_conflict
def requeue(run: Run, changes: Changes, *, delay: float, failures: int, is_told: bool) -> None:
    """Write the step and let go of the run, which is due again in ``delay`` seconds.

    ``is_told``: somebody has it in mind already, and no sweep needs to hand it out. A cancelled run ends.
    """
    due = clock.after(delay)
    changes.forgets_deltas = True
    leaving = {
        "status": RunStatus.QUEUED,
        "not_before": due,
        "enqueued_at": due if is_told else None,
        "failures": failures,
        **mutex.LET_GO,
    }
    with transaction.atomic(durable=True):
        standing = mutex.take(run, changes)
        write_rows(run, changes, standing.first(changes))
        left = _leave(run, standing, leaving)
    mutex.show(run, left)


def _leave(run: Run, standing: mutex.Standing, leaving: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the run out of the segment's hands; a cancelled one ends with that."""
    if standing.is_cancel_requested:
        return end(mutex.read(run.pk), status=RunStatus.CANCELLED, reason="cancelled")
    Run.objects.filter(pk=run.pk).update(**leaving)
    return leaving


@repeated_on_conflict
def complete(run: Run, changes: Changes, *, reason: str) -> None:
    """Write the last step of a run that has its answer. It has it also where a cancel came in the last moment."""
    columns = ending(RunStatus.RUNNING, RunStatus.COMPLETED, reason=reason, error="")
    _write(run, changes, **columns)
    mutex.show(run, columns)


@repeated_on_conflict
def finish(run: Run, changes: Changes, *, status: RunStatus, reason: str, error: str = "") -> None:
    """Write what is known of a run that goes no further, and end it, or leave it in doubt."""
    with transaction.atomic(durable=True):
        standing = mutex.take(run, changes)
        write_rows(run, changes, standing.first(changes))
        columns = end(mutex.read(run.pk), status=status, reason=reason, error=error)
    mutex.show(run, columns)
