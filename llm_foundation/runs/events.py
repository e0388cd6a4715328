"""The timeline of a run: what people and streams are told, and how much of it is kept."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from llm_foundation.conf import settings


class EventKind(StrEnum):
    STARTED = "run.started"
    RESUMED = "run.resumed"
    REQUEUED = "run.requeued"
    RECOVERED = "run.recovered"
    CANCEL_REQUESTED = "run.cancel_requested"
    TEXT = "model.text"
    REASONING = "model.reasoning"
    PROGRESS = "tool.progress"
    ANSWERED = "model.answered"
    REFUSED = "call.refused"
    PENDING = "call.pending"
    DECIDED = "call.decided"
    EXPIRED = "call.expired"
    EXECUTING = "call.executing"
    SETTLED = "call.settled"
    TAKEN_BACK = "call.taken_back"
    RESOLVED = "call.resolved"
    WAITING = "run.waiting"
    FINISHED = "run.finished"


DELTAS: Final = (EventKind.TEXT, EventKind.REASONING, EventKind.PROGRESS)
"""What is said while something is made; deleted once it is stored as a whole."""


class Event(NamedTuple):
    """``message`` counts the messages that the same step stores: the event announces the one at that place."""

    kind: EventKind
    payload: dict[str, Any]
    call: UUID | None = None
    message: int | None = None


class Delta(NamedTuple):
    """A piece of an answer or of a tool's progress. ``text`` is encrypted where it is kept, and not kept for long."""

    kind: EventKind
    text: str
    call: UUID | None = None


def event(
    kind: EventKind,
    *,
    content: Mapping[str, Any] | None = None,
    call: UUID | None = None,
    message: int | None = None,
    **facts: Any,
) -> Event:
    """``facts`` are names, counts and states; ``content`` is what was said, kept only where ``PRIVACY`` is ``full``."""
    privacy = settings.PRIVACY
    if privacy == "none":
        return Event(kind, {}, call, message)
    named = facts if call is None else {**facts, "call": str(call)}
    return Event(kind, {**named, **(content or {})} if privacy == "full" else named, call, message)
