"""What a step writes, gathered before its transaction begins; and the one way in which anything moves."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.exceptions import InvalidTransition
from llm_foundation.loop.states import CALL_TRANSITIONS, CallState
from llm_foundation.models import RunToolCall
from llm_foundation.runs import clock
from llm_foundation.runs.events import Event


@dataclass(frozen=True, slots=True)
class Move:
    """One call's way from ``place``. A call that executes is settled only by its own attempt.

    ``seconds`` is how long an attempt that begins may be at work, ``lifetime`` how long a call waits for a person.
    """

    place: Mapping[str, Any]
    values: Mapping[str, Any]
    seconds: timedelta | None = None
    lifetime: timedelta | None = None


@dataclass(slots=True)
class Changes:
    """All of it is written, or nothing. ``forgets_deltas``: what was streamed is now stored as a whole."""

    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[ChatMessage] = field(default_factory=list)
    new_calls: list[RunToolCall] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    forgets_deltas: bool = False

    def move(
        self,
        row: RunToolCall,
        target: CallState,
        *,
        seconds: float | None = None,
        lifetime: timedelta | None = None,
        **columns: Any,
    ) -> None:
        """Put the row where the call goes; a row that is not stored yet is simply stored there."""
        source = CallState(row.state)
        check_transition(CALL_TRANSITIONS[source], source, target)
        place = {"pk": row.pk, "state": source}
        if source is CallState.EXECUTING:
            place |= {"attempt": row.attempt, "attempt_token": row.attempt_token}
        attempt = None if seconds is None else timedelta(seconds=seconds)
        self._write(row, Move(place, {"state": target, **columns}, attempt, lifetime))

    def rewrite(self, row: RunToolCall, **columns: Any) -> None:
        """Change what stands of a call that stays where it is."""
        self._write(row, Move({"pk": row.pk, "state": CallState(row.state)}, columns))

    def _write(self, row: RunToolCall, move: Move) -> None:
        for name, value in move.values.items():
            setattr(row, name, value)
        if row not in self.new_calls:
            self.moves.append(move)
            return
        if move.seconds is not None:
            row.deadline_at = clock.after(move.seconds.total_seconds())
        if move.lifetime is not None:
            row.expires_at = clock.after(move.lifetime.total_seconds())

    def without(self, calls: Container[UUID]) -> "Changes":
        """The same, saying nothing of these calls."""
        moves = [move for move in self.moves if move.place["pk"] not in calls]
        events = [entry for entry in self.events if entry.call is None or entry.call not in calls]
        return replace(self, moves=moves, events=events)


def check_transition(allowed: Iterable[Any], source: object, target: object) -> None:
    if target not in allowed:
        raise InvalidTransition(f"Nothing goes from {source} to {target}.")
