"""The rows that hang on a run: its messages, events and calls. Written under the mutex, in one go."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.db import models
from django.utils import timezone

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.exceptions import RunLost
from llm_foundation.models import Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.models.compiled import Parameter
from llm_foundation.models.compiled_writes import CompiledInsert, CompiledUpdate, Write, execute_together
from llm_foundation.runs import clock
from llm_foundation.runs.changes import Changes, Move
from llm_foundation.runs.events import DELTAS, Delta, Event


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
    require_moves(changes, execute_together(writes_of(run, changes, first)))


def writes_of(run: Run, changes: Changes, first: First) -> list[Write]:
    """What stores new rows and moves calls, the moves last."""
    return [
        *_MESSAGES.writes(_message_rows(run, changes.messages, first.message)),
        *_EVENTS.writes(_event_rows(run, changes.events, first)),
        *_CALLS.writes(changes.new_calls),
        *map(_write_of, changes.moves),
    ]


def require_moves(changes: Changes, counts: Sequence[int]) -> None:
    """``counts`` are those of ``writes_of``: the last of them belong to the moves."""
    for count, move in zip(counts[len(counts) - len(changes.moves) :], changes.moves, strict=True):
        require_row(count, move.place["pk"])


def write_deltas(run: Run, deltas: Sequence[Delta], *, first: int) -> None:
    """What is being said, encrypted."""
    _EVENTS.execute(_delta_rows(run, deltas, first))


def require_row(changed: int, call: object) -> None:
    if not changed:
        raise RunLost(f"Call {call} has moved since it was read; nothing was written.")


# Columns instead of instances: a step writes about ten of these rows, and nobody looks at them afterwards.


def _message_rows(run: Run, messages: Iterable[ChatMessage], first: int) -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "run_id": run.pk,
            "sequence": sequence,
            "payload_sealed": RunMessage.payload.token(message.to_transcript(), run.pk, sequence),
            "created_at": now,
        }
        for sequence, message in enumerate(messages, start=first)
    ]


def _event_rows(run: Run, events: Iterable[Event], first: First) -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "run_id": run.pk,
            "sequence": sequence,
            "kind": entry.kind.value,
            "payload": entry.payload,
            "content_sealed": "",
            "message_sequence": None if entry.message is None else first.message + entry.message,
            "tool_call_id": entry.call,
            "created_at": now,
        }
        for sequence, entry in enumerate(events, start=first.event)
    ]


def _delta_rows(run: Run, deltas: Iterable[Delta], first: int) -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "run_id": run.pk,
            "sequence": sequence,
            "kind": delta.kind.value,
            "payload": {},
            "content_sealed": RunEvent.content.token({"text": delta.text}, run.pk, sequence),
            "message_sequence": None,
            "tool_call_id": delta.call,
            "created_at": now,
        }
        for sequence, delta in enumerate(deltas, start=first)
    ]


def _write_of(move: Move) -> Write:
    source = {"call": move.place["pk"], "source": move.place["state"]}
    if move.seconds is not None:
        return _FENCE.write(move.values, **source, seconds=move.seconds)
    if move.lifetime is not None:
        return _WAIT.write(move.values, **source, lifetime=move.lifetime)
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
_WAIT: Final = CompiledUpdate(
    lambda: (_place(), {"expires_at": clock.now() + Parameter("lifetime", models.DurationField())})
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
