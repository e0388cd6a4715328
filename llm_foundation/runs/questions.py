"""Putting calls before people: those that the gate asks about, and those whose release does not count any more."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.utils.translation import gettext as _

from llm_foundation.conf import settings
from llm_foundation.loop.state import GateDecision, OpenCall, Verdict
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.policy.facts import Policy
from llm_foundation.runs.approval_terms import waiting_terms
from llm_foundation.runs.call_rows import put_before_person
from llm_foundation.runs.held import HeldRun
from llm_foundation.runs.operations import ToolExecution
from llm_foundation.runs.previews import Preview, is_same, make_preview
from llm_foundation.runs.verification import last_decision, why_void
from llm_foundation.vocabulary import Effect


def ask_people(held: HeldRun, asked: Sequence[tuple[ToolExecution, GateDecision]], *, policy: Policy) -> None:
    """The gate wants a person for these calls. Where one has released such a call, the timeline says why in vain."""
    lifetime = waiting_terms(held.run).ttl if asked else None
    for execution, decision in asked:
        row = _row(held, execution)
        voided = why_void(held.run, row, execution.tool, policy=policy) if _counted_as_released(row) else None
        _put(held, execution, decision, preview=_made(held, execution), lifetime=lifetime, voided=voided)


def _counted_as_released(row: RunToolCall) -> bool:
    """A person has decided it, or so its state says. What did not happen is asked for anew by whoever said so."""
    if row.state != CallState.READY:
        return False
    decision = last_decision(row)
    return bool(row.digest) if decision is None else decision.verdict != Decision.Verdict.DID_NOT_HAPPEN


def ask_again(held: HeldRun, execution: ToolExecution, preview: Preview | None) -> None:
    """What the call would do now is not what somebody has released. It has not begun, or was rolled back."""
    row = _row(held, execution)
    if row.state == CallState.EXECUTING:
        held.changes.move(row, CallState.READY, attempt=row.attempt - 1)
    why = _("What it would do has changed since it was released.")
    decision = GateDecision(row.tool_name, Verdict.ASK, "preview_changed", why)
    _put(held, execution, decision, preview=preview, lifetime=waiting_terms(held.run).ttl, voided="preview")
    held.state = held.state.after_calls({execution.context.call_id: OpenCall(row.effective_call, CallState.PENDING)})


def is_as_shown(held: HeldRun, execution: ToolExecution) -> bool:
    """Whether a released call would do what its decider was shown; if not, it is put before people again.

    A transactional call is asked about this within its own transaction.
    """
    if not execution.is_released or execution.effect is Effect.TRANSACTIONAL_WRITE:
        return True
    preview = _made(held, execution)
    if is_same(preview, _row(held, execution).preview):
        return True
    ask_again(held, execution, preview)
    return False


def _put(
    held: HeldRun,
    execution: ToolExecution,
    decision: GateDecision,
    *,
    preview: Preview | None,
    lifetime: timedelta | None,
    voided: str | None,
) -> None:
    row = _row(held, execution)
    put_before_person(
        held.changes, held.run, row, execution.tool, decision, preview=preview, lifetime=lifetime, voided=voided
    )


def _made(held: HeldRun, execution: ToolExecution) -> Preview | None:
    if execution.tool.preview is not None:
        held.cover(execution.tool.timeout or settings.TOOL_TIMEOUT)
    return make_preview(replace(execution, start_by=None))


def _row(held: HeldRun, execution: ToolExecution) -> RunToolCall:
    return held.rows[execution.context.call_id]
