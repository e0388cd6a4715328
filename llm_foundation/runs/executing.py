"""The step that moves the open turn on: answers the refused, puts the pending before a person, runs what may run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import monotonic

from llm_foundation.conf import settings
from llm_foundation.loop.next_step import ExecuteCalls
from llm_foundation.loop.state import GateDecision, OpenCall
from llm_foundation.loop.states import CallState
from llm_foundation.models import RunToolCall
from llm_foundation.policy.facts import Policy
from llm_foundation.runs import call_rows
from llm_foundation.runs.backoff import pause_before
from llm_foundation.runs.drivers import Steps, Whole
from llm_foundation.runs.edited_arguments import note_of
from llm_foundation.runs.executions import ToolExecutions
from llm_foundation.runs.held import HeldRun
from llm_foundation.runs.interrupted import may_repeat
from llm_foundation.runs.operations import Pause, ToolExecution, ToolOutcome
from llm_foundation.runs.previews import PreviewChanged, require_same_preview
from llm_foundation.runs.questions import ask_again, ask_people, is_as_shown
from llm_foundation.runs.rows import require_row
from llm_foundation.runs.transactional import perform_transactional
from llm_foundation.tools import ToolContext
from llm_foundation.vocabulary import Effect


def execute(held: HeldRun, step: ExecuteCalls, policy: Policy, verdicts: Mapping[str, GateDecision]) -> Steps[None]:
    """All reads together, or else the first write.

    What is left is judged anew in the next step: nothing may have changed between a verdict and its effect.
    """
    settled: dict[str, OpenCall] = {}
    for refused in step.refused:
        call_id, row = refused.open_call.call.id, held.rows[refused.open_call.call.id]
        if row.may_have_happened:
            call_rows.put_in_doubt(held.changes, row, reason=refused.decision.reason)
            settled[call_id] = replace(refused.open_call, state=CallState.IN_DOUBT)
        else:
            call_rows.refuse(held.changes, row, refused)
            settled[call_id] = refused.answered
    asked = [(_execution(held, waiting, policy), verdicts[waiting.call.id]) for waiting in step.pending]
    ask_people(held, asked, policy=policy)
    settled |= {waiting.call.id: replace(waiting, state=CallState.PENDING) for waiting in step.pending}
    for waiting in step.runnable:
        row = held.rows[waiting.call.id]
        call_rows.release(held.changes, row, policy.tools[row.tool_name], verdicts[waiting.call.id])
        settled[waiting.call.id] = replace(waiting, state=CallState.READY)
    held.state = held.state.after_calls(settled)
    chosen = _chosen([_released(held, waiting, policy, verdicts) for waiting in step.runnable])
    yield from _run(held, [one for one in chosen if is_as_shown(held, one)])


def _released(held: HeldRun, waiting: OpenCall, policy: Policy, verdicts: Mapping[str, GateDecision]) -> ToolExecution:
    is_released = verdicts[waiting.call.id].reason == "released"
    return replace(_execution(held, waiting, policy), is_released=is_released)


def _chosen(executions: Sequence[ToolExecution]) -> Sequence[ToolExecution]:
    return [one for one in executions if one.effect is Effect.READ_ONLY] or executions[:1]


def _run(held: HeldRun, chosen: Sequence[ToolExecution]) -> Steps[None]:
    """Fence, perform, settle. What reads gave is stored with the next answer: running them again is safe."""
    writes = bool(chosen) and chosen[0].effect is not Effect.READ_ONLY
    seconds = _fence(held, chosen)
    start_by = monotonic() + settings.LEASE_MARGIN  # reckoned before the lease is, so that it ends before it
    held.commit(seconds=seconds if writes else seconds + held.plan.seconds)
    held.fenced.clear()
    started = monotonic()
    outcomes: list[ToolOutcome] = []
    if chosen and chosen[0].effect is Effect.TRANSACTIONAL_WRITE:
        try:
            outcomes = [_perform_transactional(held, chosen[0])]
        except PreviewChanged as changed:
            ask_again(held, chosen[0], changed.preview)
            chosen = ()
    elif chosen:
        executions = ToolExecutions(tuple(replace(one, start_by=start_by) for one in chosen), held.reporter)
        outcomes = yield Whole(executions) if writes else executions
    settled = dict(_settle(held, one, outcome) for one, outcome in zip(chosen, outcomes, strict=True))
    held.state = held.state.after_calls(settled, seconds=monotonic() - started)
    pause = _pause(_row(held, one) for one in chosen)
    if writes:
        held.changes.fields |= {"failures": 0, "lost_leases": 0}
        held.commit(seconds=pause + held.plan.seconds)
    if pause:
        yield Pause(pause)


def _fence(held: HeldRun, chosen: Sequence[ToolExecution]) -> float:
    """Mark the calls, and give how long they may be at work, one after the other."""
    seconds = sum(map(_seconds, chosen))
    for execution in chosen:
        row = _row(held, execution)
        call_rows.fence(held.changes, held.run, row, seconds=seconds + settings.LEASE_MARGIN)
        held.raise_high_water(execution.tool.data_class)
        held.fenced.append(row)
    return seconds


def _pause(rows: Iterable[RunToolCall]) -> float:
    """Seconds until the next attempt of those that are to be repeated."""
    return max((pause_before(row.attempt) for row in rows if row.state == CallState.READY), default=0.0)


def _seconds(execution: ToolExecution) -> float:
    """A transactional call that was released makes its preview first, in the same transaction."""
    seconds = execution.tool.timeout or settings.TOOL_TIMEOUT
    previews = execution.is_released and execution.effect is Effect.TRANSACTIONAL_WRITE and execution.tool.preview
    return seconds * 2 if previews else seconds


def _perform_transactional(held: HeldRun, execution: ToolExecution) -> ToolOutcome:
    """Effect and result in one transaction, begun and ended with the token of this attempt."""
    row = _row(held, execution)
    mine = RunToolCall.objects.filter(
        pk=row.pk, state=CallState.EXECUTING, attempt=row.attempt, attempt_token=row.attempt_token
    )

    def begin() -> None:
        require_row(mine.update(attempt=row.attempt), row.pk)
        if execution.is_released:
            require_same_preview(execution, row.preview)

    def end(outcome: ToolOutcome) -> None:
        columns = call_rows.settlement(row, outcome)
        require_row(mine.update(state=outcome.state, **columns), row.pk)

    return perform_transactional(execution, begin=begin, end=end)


def _settle(held: HeldRun, execution: ToolExecution, outcome: ToolOutcome) -> tuple[str, OpenCall]:
    row = _row(held, execution)
    is_idempotent = execution.effect is Effect.IDEMPOTENT_WRITE
    if outcome.state is CallState.IN_DOUBT and is_idempotent and may_repeat(row, execution.tool, execution.effect):
        held.changes.move(row, CallState.READY, detail_sealed=RunToolCall.detail.seal(row, outcome.detail))
    elif execution.effect is Effect.TRANSACTIONAL_WRITE and outcome.state is CallState.SUCCEEDED:
        call_rows.already_settled(held.changes, row, outcome)
    else:
        held.outcomes.append((row, outcome))
        call_rows.settle(held.changes, row, outcome)
    state = CallState(row.state)
    result = outcome.result.content if state.is_answered else None
    return execution.context.call_id, OpenCall(row.effective_call, state, result)


def _execution(held: HeldRun, waiting: OpenCall, policy: Policy) -> ToolExecution:
    row, tool = held.rows[waiting.call.id], policy.tools[waiting.call.name]
    known = row.state != CallState.PROPOSED
    effect = call_rows.stricter(tool.effect, Effect(row.effect)) if known else tool.effect
    report, is_cancelled = held.reporter.hooks(row.pk, effect)
    context = ToolContext(
        user=held.run.owner,
        run_id=held.run.pk,
        call_id=waiting.call.id,
        idempotency_key=str(row.idempotency_key),
        is_cancelled=is_cancelled,
        report=report,
    )
    return ToolExecution(
        tool,
        waiting.call.arguments,
        context,
        effect,
        may_have_happened=row.may_have_happened,
        input=row.input,
        note=note_of(row),
    )


def _row(held: HeldRun, execution: ToolExecution) -> RunToolCall:
    return held.rows[execution.context.call_id]
