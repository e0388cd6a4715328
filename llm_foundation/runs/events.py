"""The timeline of a run: what people and streams are told, and how much of it is kept."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from llm_foundation.conf import settings


class EventKind(StrEnum):
    STARTED = "run.started"
    RESUMED = "run.resumed"
    ANSWERED = "model.answered"
    REFUSED = "call.refused"
    PENDING = "call.pending"
    DECIDED = "call.decided"
    EXECUTING = "call.executing"
    SETTLED = "call.settled"
    WAITING = "run.waiting"
    FINISHED = "run.finished"


class Event(NamedTuple):
    kind: EventKind
    payload: dict[str, Any]


def event(kind: EventKind, *, content: Mapping[str, Any] | None = None, **facts: Any) -> Event:
    """``facts`` are names, counts and states; ``content`` is what was said, kept only where ``PRIVACY`` is ``full``."""
    privacy = settings.PRIVACY
    if privacy == "none":
        return Event(kind, {})
    return Event(kind, {**facts, **(content or {})} if privacy == "full" else facts)
