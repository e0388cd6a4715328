"""One stretch of a run, executed by one process that holds its lease: the loop's steps over the store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final

from django.contrib.auth import get_user_model

from llm_foundation.exceptions import (
    ContextExhausted,
    InvalidProviderState,
    LLMFoundationError,
    OwnerGone,
    ProviderError,
    RunLost,
    TrustCeilingExceeded,
)
from llm_foundation.loop.next_step import AnswerTurn, AskModel, AwaitDecisions, ExecuteCalls, Finish, next_step
from llm_foundation.loop.state import GateDecision, LoopState, OpenCall
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Run, RunToolCall
from llm_foundation.pipeline.plan import Plan
from llm_foundation.policy.facts import Policy, load_policy
from llm_foundation.runs import call_rows, store
from llm_foundation.runs.drivers import Steps
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.executions import ToolExecutions
from llm_foundation.runs.operations import ToolExecution, ToolOutcome
from llm_foundation.runs.transactional import perform_transactional
from llm_foundation.runs.verification import is_released
from llm_foundation.tools import ToolContext
from llm_foundation.vocabulary import DataClass, Effect, highest

MAX_ATTEMPTS: Final = 3
"""How often an idempotent write is tried before it is in doubt."""


class Segment:
    """Holds what the store holds, as long as the lease is ours. Nothing in it outlives the process."""

    def __init__(self, run: Run, plan: Plan, state: LoopState, rows: Sequence[RunToolCall] = ()) -> None:
        self.run = run
        self.plan = plan
        self.state = state
        self.rows = _by_call(state, rows)
        self.changes = store.Changes()

    def steps(self) -> Steps[Run]:
        """Go on until the run ends or waits. What fails ends the run with a reason; the transcript stays."""
        try:
            while not self.run.is_finished:
                policy = self._load_policy()
                verdicts = self._verdicts(policy)
                step = next_step(self.state, verdicts)
                match step:
                    case AskModel():
                        yield from self._ask(step)
                    case ExecuteCalls():
                        yield from self._execute(step, policy, verdicts)
                    case AnswerTurn():
                        self._answer_turn()
                    case AwaitDecisions(waiting):
                        if self._suspend(waiting):
                            break
                    case Finish(truncated):
                        self._complete(f"limit:{truncated}" if truncated else "answered")
        except RunLost:
            raise
        except LLMFoundationError as error:
            self._write_counters()
            store.fail(self.run, self.changes, reason=failure_reason(error), error=str(error))
        return self.run

    def _load_policy(self) -> Policy:
        """The facts of this step. Between turns also what may still be offered: an open turn offers nothing."""
        self._read_owner()
        policy = load_policy(self.run.configuration, user=self.run.owner)
        if not self.state.open_turn:
            offer = policy.offer(self.run.offer, high_water=self._high_water, unattended=self.run.unattended)
            self.state = replace(self.state, offer=offer.definitions)
        return policy

    def _read_owner(self) -> None:
        """Anew before calls run: a segment may be long, and who lost a right has lost it now."""
        if not self.run.has_owner or (self.run.owner is not None and not self.state.open_turn):
            return
        self.run.owner = get_user_model()._base_manager.filter(llm_runs=self.run).first()
        if self.run.owner is None:
            raise OwnerGone("The account of this run's owner was deleted; nobody acts in their place.")

    def _verdicts(self, policy: Policy) -> dict[str, GateDecision]:
        """The gate's answers, now. A call that a person released is allowed if the release still counts."""
        return {
            waiting.call.id: policy.judge_call(
                waiting.call,
                offered=self.run.offer,
                high_water=self._high_water,
                released=waiting.state is CallState.READY and self._is_released(waiting, policy),
                unattended=self.run.unattended,
            )
            for waiting in self.state.open_turn
            if waiting.state.is_judged
        }

    def _is_released(self, waiting: OpenCall, policy: Policy) -> bool:
        row = self.rows[waiting.call.id]
        return is_released(self.run, row, policy.tools.get(row.tool_name), policy=policy)

    def _ask(self, step: AskModel) -> Steps[None]:
        started = monotonic()
        response = yield self.plan.ask(self.state, step, high_water=self._high_water)
        seconds, cost = monotonic() - started, self.plan.cost(response.usage)
        self.state = self.state.after_answer(response, closing=step.closing, cost=cost, seconds=seconds)
        self.run.input_tokens += response.usage.input_tokens or 0
        self.run.output_tokens += response.usage.output_tokens or 0
        self.run.truncated = step.closing or ""
        self.changes.messages.append(self.state.messages[-1])
        new = call_rows.new_rows(self.run, self.state)
        self.rows = _by_call(self.state, new)
        self.changes.new_calls += new
        self.changes.events.append(
            event(
                EventKind.ANSWERED,
                content={"text": response.content},
                model=response.model,
                finish_reason=response.finish_reason.value,
                tool_calls=[row.tool_name for row in new],
                input_tokens=response.usage.input_tokens,
                output_tokens=response.usage.output_tokens,
                seconds=round(seconds, 3),
            )
        )

    def _execute(self, step: ExecuteCalls, policy: Policy, verdicts: dict[str, GateDecision]) -> Steps[None]:
        """Answer the refused, put the pending before a person, run the reads, or else the first write.

        What is left is judged anew in the next step: nothing may have changed between a verdict and its effect.
        """
        settled: dict[str, OpenCall] = {}
        for refused in step.refused:
            call_id = refused.open_call.call.id
            call_rows.refuse(self.changes, self.rows[call_id], refused)
            settled[call_id] = refused.answered
        for waiting in step.pending:
            decision, execution = verdicts[waiting.call.id], self._execution(waiting, policy)
            call_rows.put_before_person(self.changes, self.run, self.rows[waiting.call.id], execution, decision)
            settled[waiting.call.id] = replace(waiting, state=CallState.PENDING)
        for waiting in step.runnable:
            row = self.rows[waiting.call.id]
            call_rows.release(self.changes, row, policy.tools[row.tool_name], verdicts[waiting.call.id])
            settled[waiting.call.id] = replace(waiting, state=CallState.READY)
        self.state = self.state.after_calls(settled)
        yield from self._run_some([self._execution(waiting, policy) for waiting in step.runnable])

    def _run_some(self, executions: Sequence[ToolExecution]) -> Steps[None]:
        reads = [execution for execution in executions if execution.effect is Effect.READ_ONLY]
        chosen = reads or executions[:1]
        for execution in chosen:
            call_rows.fence(self.changes, self.run, self._row(execution))
            # Before the effect, as the mark itself: a result that outlives a crash is in the transcript's class.
            self.run.high_water = highest(self._high_water, execution.tool.data_class).value
        self._commit()
        started = monotonic()
        outcomes: list[ToolOutcome] = []
        if chosen and chosen[0].effect is Effect.TRANSACTIONAL_WRITE:
            outcomes = [self._perform_transactional(chosen[0])]
        elif chosen:
            outcomes = yield ToolExecutions(tuple(chosen))
        settled = dict(map(self._settle, chosen, outcomes))
        self.state = self.state.after_calls(settled, seconds=monotonic() - started)
        if not reads and chosen:
            self._commit()

    def _perform_transactional(self, execution: ToolExecution) -> ToolOutcome:
        """Effect and result in one transaction, begun and ended with the token of this attempt."""
        row = self._row(execution)
        mine = RunToolCall.objects.filter(
            pk=row.pk, state=CallState.EXECUTING, attempt=row.attempt, attempt_token=row.attempt_token
        )

        def begin() -> None:
            store.require_row(mine.update(attempt=row.attempt), row.pk)

        def end(outcome: ToolOutcome) -> None:
            columns = call_rows.settlement(row, outcome)
            store.require_row(mine.update(state=outcome.state, **columns), row.pk)

        return perform_transactional(execution, begin=begin, end=end)

    def _settle(self, execution: ToolExecution, outcome: ToolOutcome) -> tuple[str, OpenCall]:
        row = self._row(execution)
        retry = outcome.state is CallState.IN_DOUBT and execution.effect is Effect.IDEMPOTENT_WRITE
        if retry and row.attempt < MAX_ATTEMPTS:
            self.changes.move(row, CallState.READY)
        elif execution.effect is Effect.TRANSACTIONAL_WRITE and outcome.state is CallState.SUCCEEDED:
            call_rows.already_settled(self.changes, row, outcome)
        else:
            call_rows.settle(self.changes, row, outcome)
        state = CallState(row.state)
        result = outcome.result.content if state.is_answered else None
        return execution.context.call_id, OpenCall(row.tool_call, state, result)

    def _answer_turn(self) -> None:
        self.changes.messages += self.state.results
        self.state = self.state.after_turn()

    def _suspend(self, waiting: Sequence[OpenCall]) -> bool:
        """Let go of the run; false where a decision came first, and the segment goes on with it."""
        in_doubt = any(one.state is CallState.IN_DOUBT for one in waiting)
        status = RunStatus.IN_DOUBT if in_doubt else RunStatus.WAITING_FOR_APPROVAL
        self._write_counters()
        seen = {self.rows[one.call.id].pk: one.state for one in waiting}
        leaving = replace(self.changes, events=[*self.changes.events, event(EventKind.WAITING, status=status.value)])
        suspended = store.suspend(self.run, leaving, status=status, seen=seen)
        if not suspended:
            self._read_again(waiting)
        return suspended

    def _read_again(self, waiting: Sequence[OpenCall]) -> None:
        """What others may have moved. The other calls are ours: what became of them may not be stored yet."""
        stored = RunToolCall.objects.in_bulk([self.rows[one.call.id].pk for one in waiting])
        moved = {one.call.id: stored[self.rows[one.call.id].pk] for one in waiting}
        self.rows |= moved
        self.state = self.state.after_calls({call_id: row.open_call() for call_id, row in moved.items()})

    def _complete(self, reason: str) -> None:
        self.changes.events.append(event(EventKind.FINISHED, status=RunStatus.COMPLETED.value, reason=reason))
        self._write_counters()
        store.complete(self.run, self.changes, reason=reason)

    def _commit(self) -> None:
        self._write_counters()
        store.commit(self.run, self.changes)
        self.changes = store.Changes()

    def _write_counters(self) -> None:
        counters = self.state.counters
        self.run.rounds, self.run.calls_made = counters.rounds, counters.calls
        self.run.cost, self.run.seconds = counters.cost, counters.seconds
        self.changes.fields |= {name: getattr(self.run, name) for name in _COUNTERS}

    def _execution(self, waiting: OpenCall, policy: Policy) -> ToolExecution:
        row, tool = self.rows[waiting.call.id], policy.tools[waiting.call.name]
        context = ToolContext(
            user=self.run.owner,
            run_id=self.run.pk,
            call_id=waiting.call.id,
            idempotency_key=str(row.idempotency_key),
        )
        known = row.state != CallState.PROPOSED
        effect = call_rows.stricter(tool.effect, Effect(row.effect)) if known else tool.effect
        return ToolExecution(tool, waiting.call.arguments, context, effect)

    def _row(self, execution: ToolExecution) -> RunToolCall:
        return self.rows[execution.context.call_id]

    @property
    def _high_water(self) -> DataClass:
        return DataClass(self.run.high_water)


def _by_call(state: LoopState, rows: Sequence[RunToolCall]) -> dict[str, RunToolCall]:
    """The rows of the open turn by the ids of its calls; the rows' own ids may be cut."""
    return {one.call.id: row for one, row in zip(state.open_turn, rows, strict=True)}


_REASONS: Final[Mapping[type[LLMFoundationError], str]] = {
    ContextExhausted: "context_exhausted",
    InvalidProviderState: "ProviderStateError",
    TrustCeilingExceeded: "trust_ceiling",
}

_COUNTERS: Final = (
    "rounds",
    "calls_made",
    "input_tokens",
    "output_tokens",
    "cost",
    "seconds",
    "high_water",
    "truncated",
)


def failure_reason(error: LLMFoundationError) -> str:
    """A stable code for programs: a word of its own, or the error's name with its family before it."""
    family = "provider:" if isinstance(error, ProviderError) else ""
    return _REASONS.get(type(error)) or f"{family}{type(error).__name__}"
