"""Writing runs.

One mutex: the run's row. Every transaction here begins with an UPDATE of it, before any SELECT. On SQLite a
read-then-write transaction fails at once under contention, whatever the timeout; on PostgreSQL and MariaDB the row
lock puts segments and deciders in a line. Then the calls are read, then written: run first, calls second.

What a segment writes carries its lease token. An UPDATE that changes no row means that the run is somebody else's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.conf import settings
from llm_foundation.exceptions import InvalidTransition, RunLost
from llm_foundation.loop.states import CALL_TRANSITIONS, RUN_TRANSITIONS, CallState, RunStatus
from llm_foundation.models import Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.models.fields import readable
from llm_foundation.models.runs import MAX_REASON
from llm_foundation.runs.events import Event, EventKind, event

_LEASE_MARGIN: Final = timedelta(seconds=60)
_LET_GO: Final[dict[str, Any]] = {"lease_owner": "", "lease_expires_at": None}
_ANSWERED: Final = tuple(state for state in CallState if state.is_answered)
_IN_DOUBT: Final = frozenset({CallState.EXECUTING, CallState.IN_DOUBT})
_NOT_EXECUTED: Final = "Error: the run ended before this call was executed."


@dataclass(frozen=True, slots=True)
class Move:
    """One call's way out of ``source``. A call that executes is settled only by its own attempt."""

    place: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(slots=True)
class Changes:
    """What one step writes, all of it or nothing."""

    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[ChatMessage] = field(default_factory=list)
    new_calls: list[RunToolCall] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def move(self, row: RunToolCall, target: CallState, **columns: Any) -> None:
        """Put the row where the call goes; a row that is not stored yet is simply stored there."""
        source = CallState(row.state)
        check_transition(CALL_TRANSITIONS[source], source, target)
        place = {"pk": row.pk, "state": source}
        if source is CallState.EXECUTING:
            place |= {"attempt": row.attempt, "attempt_token": row.attempt_token}
        values = {"state": target, **columns}
        for name, value in values.items():
            setattr(row, name, value)
        if row not in self.new_calls:
            self.moves.append(Move(place, values))


def check_transition(allowed: Iterable[Any], source: object, target: object) -> None:
    if target not in allowed:
        raise InvalidTransition(f"Nothing goes from {source} to {target}.")


def lease_end() -> Any:
    """The lease covers the operations between two commits: a model call and a tool call, and a margin."""
    longest = timedelta(seconds=settings.TOTAL_TIMEOUT + settings.TOOL_TIMEOUT)
    return timezone.now() + longest + _LEASE_MARGIN


def insert(run: Run, messages: Sequence[ChatMessage], events: Sequence[Event]) -> None:
    """Store a new run with its first messages; whoever starts it holds it."""
    run.next_message_sequence += len(messages)
    run.next_event_sequence += len(events)
    with transaction.atomic(durable=True):
        run.save(force_insert=True)
        _write_messages(run, messages, first=1)
        _write_events(run, events, first=1)


def claim(run_id: Any, *, owner: str) -> Run | None:
    """Take a queued run; ``None`` where it is not queued, or another segment was faster."""
    with transaction.atomic(durable=True):
        taken = Run.objects.filter(pk=run_id, status=RunStatus.QUEUED).update(
            revision=F("revision") + 1,
            status=RunStatus.RUNNING,
            lease_owner=owner,
            lease_token=F("lease_token") + 1,
            lease_expires_at=lease_end(),
            attempts=F("attempts") + 1,
        )
        return Run.objects.select_related("owner", "starter", "configuration").get(pk=run_id) if taken else None


def commit(run: Run, changes: Changes) -> None:
    """Write one step. Raises ``RunLost`` where this segment no longer holds the run; then nothing is written."""
    with transaction.atomic(durable=True):
        _take(run, changes)
        _write(run, changes)


def suspend(run: Run, changes: Changes, *, status: RunStatus, seen: Mapping[Any, str]) -> bool:
    """Write the step and let go of the run, unless one of the calls that it waits for has moved since ``seen``.

    Then nothing is written: the segment goes on with what was decided.
    """
    check_transition(RUN_TRANSITIONS[RunStatus.RUNNING], RunStatus.RUNNING, status)
    leaving = {"status": status, "error": "", **_LET_GO}
    with transaction.atomic(durable=True):
        _take(run, replace(changes, fields={**changes.fields, **leaving}))
        if dict(RunToolCall.objects.filter(pk__in=seen).values_list("pk", "state")) != dict(seen):
            transaction.set_rollback(True)
            return False
        _write(run, changes)
    _show(run, leaving)
    return True


def complete(run: Run, changes: Changes, *, reason: str) -> None:
    """Write the last step of a run that has its answer."""
    ending = _ending(RunStatus.COMPLETED, reason=reason, error="")
    commit(run, replace(changes, fields={**changes.fields, **ending}))
    _show(run, ending)


def fail(run: Run, changes: Changes, *, reason: str, error: str) -> None:
    """Write what is known of a run that cannot go on, and end its open calls with it.

    Where nobody knows whether one of them took effect, the run stays open for the person who has to find out.
    """
    with transaction.atomic(durable=True):
        _take(run, changes)
        _write(run, changes)
        rows = list(RunToolCall.objects.filter(run=run).exclude(state__in=_ANSWERED))
        if _IN_DOUBT.isdisjoint(row.state for row in rows):
            ending = _ending(RunStatus.FAILED, reason=reason, error=error)
            last = event(EventKind.FINISHED, status=RunStatus.FAILED.value, reason=reason)
            _write_moves(_closing(rows))
        else:
            ending = {"status": RunStatus.IN_DOUBT, "error": readable(error), **_LET_GO}
            last = event(EventKind.WAITING, status=RunStatus.IN_DOUBT.value, reason=reason)
        append_events(run, [last], **ending)
    _show(run, ending)


def _ending(status: RunStatus, *, reason: str, error: str) -> dict[str, Any]:
    """A run never ends without a reason."""
    check_transition(RUN_TRANSITIONS[RunStatus.RUNNING], RunStatus.RUNNING, status)
    words = {"termination_reason": readable(reason, length=MAX_REASON), "error": readable(error)}
    return {"status": status, **words, "finished_at": timezone.now(), **_LET_GO}


def _closing(rows: Iterable[RunToolCall]) -> list[Move]:
    """The way out for calls that nobody will execute any more."""
    closing = Changes()
    for row in rows:
        target = CallState.REFUSED if row.state == CallState.PROPOSED else CallState.CANCELLED
        sealed = RunToolCall.result.seal(row, _NOT_EXECUTED)
        closing.move(row, target, result_sealed=sealed, finished_at=timezone.now())
    return closing.moves


def _show(run: Run, ending: Mapping[str, Any]) -> None:
    for name, value in ending.items():
        setattr(run, name, value)


def lock(run_id: Any) -> Run:
    """Take the mutex for a decision, inside the caller's transaction, and read the run as it is now."""
    Run.objects.filter(pk=run_id).update(revision=F("revision") + 1)
    return Run.objects.select_related("owner", "starter", "configuration").get(pk=run_id)


def append_events(run: Run, events: Sequence[Event], **fields: Any) -> None:
    """Under the mutex: add to the timeline, and set what changes with it."""
    Run.objects.filter(pk=run.pk).update(next_event_sequence=F("next_event_sequence") + len(events), **fields)
    _write_last_events(run, events)


def _take(run: Run, changes: Changes) -> None:
    """The mutex: the first statement of every transaction, true only while the lease is ours."""
    held = Run.objects.filter(pk=run.pk, lease_token=run.lease_token, status=RunStatus.RUNNING).update(
        revision=F("revision") + 1,
        next_message_sequence=F("next_message_sequence") + len(changes.messages),
        next_event_sequence=F("next_event_sequence") + len(changes.events),
        **{"lease_expires_at": lease_end(), **changes.fields},
    )
    if not held:
        raise RunLost(f"Run {run.pk} is no longer held by this segment; nothing was written.")


def _write(run: Run, changes: Changes) -> None:
    _write_messages(run, changes.messages, first=run.next_message_sequence)
    run.next_message_sequence += len(changes.messages)
    if changes.events:
        _write_last_events(run, changes.events)
    if changes.new_calls:
        RunToolCall.objects.bulk_create(changes.new_calls)
    _write_moves(changes.moves)


def _write_moves(moves: Iterable[Move]) -> None:
    for move in moves:
        require_row(RunToolCall.objects.filter(**move.place).update(**move.values), move.place["pk"])


def require_row(changed: int, call: Any) -> None:
    """A conditional UPDATE is true only if it changed its row."""
    if not changed:
        raise RunLost(f"Call {call} has moved since this segment read it; nothing was written.")


def _write_messages(run: Run, messages: Sequence[ChatMessage], *, first: int) -> None:
    rows = [RunMessage(run=run, sequence=first + offset) for offset in range(len(messages))]
    for row, message in zip(rows, messages, strict=True):
        row.payload = message.to_transcript()
    if rows:
        RunMessage.objects.bulk_create(rows)


def _write_last_events(run: Run, events: Sequence[Event]) -> None:
    """The counter has counted them already. Others may have moved it since this segment read the run."""
    after = Run.objects.values_list("next_event_sequence", flat=True).get(pk=run.pk)
    _write_events(run, events, first=after - len(events))


def _write_events(run: Run, events: Sequence[Event], *, first: int) -> None:
    rows = [
        RunEvent(run=run, sequence=first + offset, kind=entry.kind, payload=entry.payload)
        for offset, entry in enumerate(events)
    ]
    if rows:
        RunEvent.objects.bulk_create(rows)
