"""Events of a run with what they tell of: the piece of text, the message, the result of the call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.exceptions import LLMFoundationError
from llm_foundation.loop.states import CallState
from llm_foundation.models import RunEvent, RunMessage, RunToolCall
from llm_foundation.runs.events import DELTAS, EventKind

_TELL_RESULTS: Final = (
    EventKind.REFUSED,
    EventKind.DECIDED,
    EventKind.EXPIRED,
    EventKind.SETTLED,
    EventKind.RESOLVED,
)


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """One event of a run's timeline. ``sequence`` is where a reader goes on later; there may be gaps between two.

    ``payload`` is what the event keeps in clear, so its facts depend on ``PRIVACY``. ``text`` is the piece that
    ``model.text``, ``model.reasoning`` and ``tool.progress`` bring, the whole answer with ``model.answered``, and the
    result with a call's event where the call has one. It is ``None`` where there is none, or it cannot be decrypted.
    """

    sequence: int
    kind: str
    payload: Mapping[str, Any]
    created_at: datetime
    text: str | None = None
    message: ChatMessage | None = None
    call_id: UUID | None = None


def read_updates(run_id: UUID, *, after: int, limit: int) -> list[RunUpdate]:
    """The next events in order, in three queries at most, from the database that is written to.

    A replica may lag behind by just the events that its newer row of the run counts already.
    """
    rows = RunEvent.objects.using(DEFAULT_DB_ALIAS).filter(run_id=run_id, sequence__gt=after).order_by("sequence")
    events = list(rows[:limit])
    messages, calls = _messages(run_id, events), _calls(events)
    return [_update(event, messages, calls) for event in events]


def _messages(run_id: UUID, events: Sequence[RunEvent]) -> dict[int, RunMessage]:
    sequences = {event.message_sequence for event in events if event.message_sequence is not None}
    if not sequences:
        return {}
    rows = RunMessage.objects.using(DEFAULT_DB_ALIAS).filter(run_id=run_id, sequence__in=sequences)
    return {row.sequence: row for row in rows}


def _calls(events: Iterable[RunEvent]) -> dict[UUID, RunToolCall]:
    known = {event.tool_call_id for event in events if event.tool_call_id and event.kind in _TELL_RESULTS}
    return RunToolCall.objects.using(DEFAULT_DB_ALIAS).in_bulk(list(known)) if known else {}


def _update(event: RunEvent, messages: Mapping[int, RunMessage], calls: Mapping[UUID, RunToolCall]) -> RunUpdate:
    message = None if event.message_sequence is None else _message(messages.get(event.message_sequence))
    call = None if event.tool_call_id is None else calls.get(event.tool_call_id)
    return RunUpdate(
        sequence=event.sequence,
        kind=event.kind,
        payload=event.payload,
        created_at=event.created_at,
        text=_text(event, message, call),
        message=message,
        call_id=event.tool_call_id,
    )


def _text(event: RunEvent, message: ChatMessage | None, call: RunToolCall | None) -> str | None:
    if event.kind in DELTAS:
        return _piece(event)
    return message.text if message else _result(event, call)


def _piece(event: RunEvent) -> str | None:
    try:
        return str(event.content["text"]) if event.content else None
    except LLMFoundationError:
        return None


def _message(row: RunMessage | None) -> ChatMessage | None:
    try:
        return row.message if row else None
    except LLMFoundationError:
        return None


def _result(event: RunEvent, row: RunToolCall | None) -> str | None:
    """A decision brings a result only where it is one: what an approved call gave comes with its own event."""
    if row is None or event.kind not in _TELL_RESULTS:
        return None
    if event.kind == EventKind.DECIDED and row.state != CallState.DENIED:
        return None
    try:
        return row.result or None
    except LLMFoundationError:
        return None
