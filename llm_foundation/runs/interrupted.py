"""What becomes of a call whose attempt ended without a word: its process died, or lost the run.

Running again is safe where it changes nothing, where the same key makes it one effect, and where the effect and the
row that says so are one transaction. Nothing else is repeated: a person has to find out.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.utils import timezone

from llm_foundation.loop.states import CallState
from llm_foundation.models import RunToolCall
from llm_foundation.runs.call_rows import stricter
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.events import EventKind, event
from llm_foundation.tools import Tool, registry
from llm_foundation.vocabulary import Effect

MAX_ATTEMPTS: Final = 3
"""How often an idempotent write is tried before it is in doubt."""


def take_back(changes: Changes, rows: Iterable[RunToolCall], *, run_ends: bool = False) -> None:
    """Move the calls whose attempt nobody will settle any more: to where they can be repeated, or to a person.

    ``run_ends``: nothing is repeated any more, so the same key helps nobody. Of a write that may have taken effect, in
    this attempt or in an earlier one, a person has to find out. The other calls stay where they are.
    """
    for row in rows:
        target = _target(row, registry.get(row.tool_name), run_ends=run_ends)
        if target != row.state:
            changes.move(row, target)
            changes.events.append(
                event(EventKind.TAKEN_BACK, call=row.pk, tool=row.tool_name, attempt=row.attempt, state=target.value)
            )


def may_repeat(row: RunToolCall, tool: Tool | None, effect: Effect) -> bool:
    """Whether an attempt that may have taken effect may be followed by another one, unasked."""
    if effect is not Effect.IDEMPOTENT_WRITE:
        return effect in (Effect.READ_ONLY, Effect.TRANSACTIONAL_WRITE)
    window = tool.idempotency_window if tool else None
    is_late = window is not None and _age(row) > timedelta(seconds=window)
    return row.attempt < MAX_ATTEMPTS and not is_late


def _age(row: RunToolCall) -> timedelta:
    """Since its first attempt."""
    return timezone.now() - row.started_at if row.started_at else timedelta(0)


def _target(row: RunToolCall, tool: Tool | None, *, run_ends: bool) -> CallState:
    state, stored = CallState(row.state), Effect(row.effect)
    if state is CallState.EXECUTING:
        effect = stricter(stored, tool.effect) if tool else stored
        is_safe = may_repeat(row, tool, effect) and not (run_ends and effect is Effect.IDEMPOTENT_WRITE)
        return CallState.READY if is_safe else CallState.IN_DOUBT
    return CallState.IN_DOUBT if run_ends and row.may_have_happened else state
