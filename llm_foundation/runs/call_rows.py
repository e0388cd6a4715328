"""The rows of a turn's calls: how each kind of progress is written down."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from llm_foundation.loop.next_step import RefusedCall
from llm_foundation.loop.state import GateDecision, LoopState
from llm_foundation.loop.states import CallState
from llm_foundation.models import Run, RunToolCall
from llm_foundation.models.calls import MAX_NAME
from llm_foundation.models.fields import readable
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.events import Event, EventKind, event
from llm_foundation.runs.operations import ToolOutcome
from llm_foundation.runs.previews import Preview
from llm_foundation.runs.seals import call_digest
from llm_foundation.tools import Tool
from llm_foundation.vocabulary import Effect

_ENDED: Final = (CallState.SUCCEEDED, CallState.FAILED)


def new_rows(run: Run, state: LoopState) -> list[RunToolCall]:
    """One row for each call of the turn that just opened."""
    rows = []
    for index, waiting in enumerate(state.open_turn):
        row = RunToolCall(run=run, turn=state.counters.rounds, index=index)
        row.call_id = readable(waiting.call.id, length=MAX_NAME)
        row.tool_name = readable(waiting.call.name, length=MAX_NAME)
        row.written_call = waiting.call.to_dict()
        rows.append(row)
    return rows


def describe(tool: Tool, decision: GateDecision) -> dict[str, Any]:
    """What the gate said, and what the tool was when it said so."""
    return {
        "reason": decision.reason,
        "explanation": decision.explanation,
        "definition_digest": tool.digest,
        "effect": tool.effect.value,
    }


def refuse(changes: Changes, row: RunToolCall, refused: RefusedCall) -> None:
    decision = refused.decision
    changes.move(
        row,
        CallState.REFUSED,
        result_sealed=RunToolCall.result.seal(row, refused.answered.result or ""),
        finished_at=timezone.now(),
        reason=decision.reason,
        explanation=decision.explanation,
    )
    changes.events.append(event(EventKind.REFUSED, tool=row.tool_name, call=row.pk, reason=decision.reason))


def put_in_doubt(changes: Changes, row: RunToolCall, *, reason: str) -> None:
    """The call may not run again, but an earlier attempt of it may have taken effect."""
    changes.move(row, CallState.IN_DOUBT)
    changes.events.append(
        event(EventKind.TAKEN_BACK, tool=row.tool_name, call=row.pk, state=CallState.IN_DOUBT.value, reason=reason)
    )


def put_before_person(
    changes: Changes,
    run: Run,
    row: RunToolCall,
    tool: Tool,
    decision: GateDecision,
    *,
    preview: Preview | None,
    lifetime: timedelta | None,
    voided: str | None = None,
) -> None:
    """The call waits: with its preview, and the digest of all that the person will see; for ever, or for so long.

    ``voided`` is the word for why an earlier release of it does not count.
    """
    described = describe(tool, decision)
    if row.state != CallState.PROPOSED:  # where the code has become more lenient, the call has not
        described["effect"] = stricter(tool.effect, Effect(row.effect)).value
    row.effect = described["effect"]
    changes.move(
        row,
        CallState.PENDING,
        **shown(run, row, tool, preview),
        pending_since=timezone.now(),
        lifetime=lifetime,
        **({} if lifetime else {"expires_at": None}),
        **described,
    )
    changes.events.append(pending_event(row, reason=decision.reason, voided=voided))


def shown(run: Run, row: RunToolCall, tool: Tool, preview: Preview | None) -> dict[str, Any]:
    """The columns of a call that is shown to people (anew): no digest of an earlier time is worth anything then."""
    row.preview = preview.written() if preview else None
    row.asked += 1
    return {"preview_sealed": row.preview_sealed, "asked": row.asked, "digest": call_digest(run, row, tool)}


def pending_event(row: RunToolCall, *, reason: str, voided: str | None) -> Event:
    why: dict[str, Any] = {} if voided is None else {"voided": voided}
    return event(EventKind.PENDING, tool=row.tool_name, call=row.pk, reason=reason, **why)


def release(changes: Changes, row: RunToolCall, tool: Tool, decision: GateDecision) -> None:
    """The gate lets the call run freely."""
    if row.state == CallState.PROPOSED:
        changes.move(row, CallState.READY, **describe(tool, decision))


def fence(changes: Changes, run: Run, row: RunToolCall, *, seconds: float) -> None:
    """The mark that is committed before the side effect, so that a crash cannot hide it.

    ``seconds`` is how long the attempt may be at work.
    """
    changes.move(
        row,
        CallState.EXECUTING,
        attempt=row.attempt + 1,
        attempt_token=run.lease_token,
        started_at=row.started_at or timezone.now(),
        seconds=seconds,
    )
    changes.events.append(event(EventKind.EXECUTING, tool=row.tool_name, call=row.pk, attempt=row.attempt))


def settlement(row: RunToolCall, outcome: ToolOutcome) -> dict[str, Any]:
    """The columns of a call that has ended, or whose end nobody knows."""
    return {
        "result_sealed": RunToolCall.result.seal(row, outcome.result.content),
        "detail_sealed": RunToolCall.detail.seal(row, outcome.detail),
        "finished_at": None if outcome.state is CallState.IN_DOUBT else timezone.now(),
    }


def settle(changes: Changes, row: RunToolCall, outcome: ToolOutcome) -> None:
    changes.move(row, outcome.state, **settlement(row, outcome))
    changes.events.append(settled_event(row, outcome))


def already_settled(changes: Changes, row: RunToolCall, outcome: ToolOutcome) -> None:
    """A transactional call's row was written with its effect; only the timeline is left."""
    row.state = outcome.state
    changes.events.append(settled_event(row, outcome))


def settled_event(row: RunToolCall, outcome: ToolOutcome) -> Event:
    content = {"result": outcome.result.content}
    return event(EventKind.SETTLED, content=content, tool=row.tool_name, call=row.pk, state=outcome.state.value)


def unannounced(run: Run, rows: Iterable[RunToolCall]) -> list[Event]:
    """Transactional calls that have ended, in a segment that died before it could say so on the timeline."""
    ended = {row.pk: row for row in rows if row.effect == Effect.TRANSACTIONAL_WRITE and row.state in _ENDED}
    if not ended:
        return []
    kinds = (EventKind.SETTLED, EventKind.RESOLVED)
    told = run.events.filter(kind__in=kinds, tool_call_id__in=ended).values_list("tool_call_id", flat=True)
    return [
        event(EventKind.SETTLED, call=row.pk, tool=row.tool_name, state=row.state)
        for row in ended.values()
        if row.pk not in set(told)
    ]


def stricter(left: Effect, right: Effect) -> Effect:
    return max(left, right, key=lambda effect: effect.strictness)
