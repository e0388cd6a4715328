"""The rows that hang on a run: its messages, events and calls. Written under the mutex, in one go."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import models
from django.utils import timezone

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.exceptions import RunLost
from llm_foundation.models import Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.models.compiled import Parameter
from llm_foundation.models.compiled_writes import CompiledInsert, CompiledUpdate, Write, execute_together
from llm_foundation.runs import clock
from llm_foundation.runs.changes import Changes, Move
from llm_foundation.runs.events import DELTAS, Delta, Event, EventKind

_NOTHING: Final[Mapping[str, Any]] = {}


class First(NamedTuple):
    """The sequences of the first new message and the first new event."""

    message: int = 1
    event: int = 1


def write_run(run: Run, messages: Sequence[ChatMessage], events: Sequence[Event]) -> None:
    """A new run with what it begins with."""
    first = First()
    begun = [
        *_MESSAGES.writes(_message_rows(run, messages, first.message)),
        *_EVENTS.writes(_event_rows(run, events, first)),
    ]
    execute_together([_RUNS.write([run]), *begun])


def write_rows(run: Run, changes: Changes, first: First) -> None:
    """Raises ``RunLost`` where a call is not where it was: a conditional UPDATE is true only if it changed its row."""
    if changes.forgets_deltas:
        RunEvent.objects.filter(run=run, kind__in=DELTAS).delete()
    inserts = [
        *_MESSAGES.writes(_message_rows(run, changes.messages, first.message)),
        *_EVENTS.writes(_event_rows(run, changes.events, first)),
        *_CALLS.writes(changes.new_calls),
    ]
    moved = execute_together([*inserts, *map(_write_of, changes.moves)])[len(inserts) :]
    for count, move in zip(moved, changes.moves, strict=True):
        require_row(count, move.place["pk"])


def write_deltas(run: Run, deltas: Sequence[Delta], *, first: int) -> None:
    """What is being said, encrypted."""
    rows = [
        _event_row(run, sequence, delta.kind, call=delta.call, content={"text": delta.text})
        for sequence, delta in enumerate(deltas, start=first)
    ]
    _EVENTS.execute(rows)


def require_row(changed: int, call: object) -> None:
    if not changed:
        raise RunLost(f"Call {call} has moved since it was read; nothing was written.")


# Columns instead of instances: a step writes about ten of these rows, and nobody looks at them afterwards.


def _message_rows(run: Run, messages: Iterable[ChatMessage], first: int) -> list[dict[str, Any]]:
    return [
        {
            "run_id": run.pk,
            "sequence": sequence,
            "payload_sealed": RunMessage.payload.token(message.to_transcript(), run.pk, sequence),
            "created_at": timezone.now(),
        }
        for sequence, message in enumerate(messages, start=first)
    ]


def _event_rows(run: Run, events: Iterable[Event], first: First) -> list[dict[str, Any]]:
    return [
        _event_row(
            run,
            sequence,
            entry.kind,
            payload=entry.payload,
            call=entry.call,
            message=None if entry.message is None else first.message + entry.message,
        )
        for sequence, entry in enumerate(events, start=first.event)
    ]


def _event_row(
    run: Run,
    sequence: int,
    kind: EventKind,
    *,
    payload: Mapping[str, Any] = _NOTHING,
    call: UUID | None = None,
    message: int | None = None,
    content: Any = None,
) -> dict[str, Any]:
    return {
        "run_id": run.pk,
        "sequence": sequence,
        "kind": kind.value,
        "payload": payload,
        "content_sealed": RunEvent.content.token(content, run.pk, sequence),
        "message_sequence": message,
        "tool_call_id": call,
        "created_at": timezone.now(),
    }


def _write_of(move: Move) -> Write:
    source = {"call": move.place["pk"], "source": move.place["state"]}
    if move.seconds is not None:
        return _FENCE.write(move.values, **source, seconds=move.seconds)
    if "attempt" in move.place:
        return _SETTLE.write(move.values, **source, number=move.place["attempt"], token=move.place["attempt_token"])
    return _MOVE.write(move.values, **source)


def _place() -> "models.QuerySet[RunToolCall]":
    return RunToolCall.objects.filter(
        pk=Parameter("call", models.UUIDField()), state=Parameter("source", models.CharField())
    )


_RUNS: Final = CompiledInsert(Run)
_MESSAGES: Final = CompiledInsert(RunMessage)
_EVENTS: Final = CompiledInsert(RunEvent)
_CALLS: Final = CompiledInsert(RunToolCall)
_MOVE: Final = CompiledUpdate(lambda: (_place(), {}))
_FENCE: Final = CompiledUpdate(
    lambda: (_place(), {"deadline_at": clock.now() + Parameter("seconds", models.DurationField())})
)
_SETTLE: Final = CompiledUpdate(
    lambda: (
        _place().filter(
            attempt=Parameter("number", models.IntegerField()),
            attempt_token=Parameter("token", models.BigIntegerField()),
        ),
        {},
    )
)
