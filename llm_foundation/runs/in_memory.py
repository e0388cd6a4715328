"""The loop without storage: for callers that keep the conversation themselves."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from llm_foundation.chat.completions import CompletionResponse, Usage
from llm_foundation.chat.conversation import last_answer, read_conversation
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ChatOptions
from llm_foundation.exceptions import ToolApprovalRequired
from llm_foundation.loop.limits import Counters, Limit
from llm_foundation.loop.next_step import AnswerTurn, AskModel, AwaitDecisions, ExecuteCalls, Finish, next_step
from llm_foundation.loop.state import GateDecision, LoopState, OpenCall
from llm_foundation.loop.states import CallState
from llm_foundation.models import Configuration
from llm_foundation.pipeline.plan import Plan, plan_for
from llm_foundation.policy.facts import Offer, load_policy
from llm_foundation.runs.drivers import Steps
from llm_foundation.runs.executions import ToolExecutions
from llm_foundation.runs.operations import ToolExecution, ToolOutcome
from llm_foundation.tools import Tool, ToolContext, registry
from llm_foundation.vocabulary import DataClass, highest

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User


@dataclass(frozen=True, slots=True)
class LoopResult:
    """A finished loop. ``messages`` is the whole transcript; ``refused`` says which tools were not offered, and why.

    ``truncated`` names the limit that ended the tool use early; ``None`` where the model came to its own end.
    """

    answer: str
    messages: tuple[ChatMessage, ...]
    response: CompletionResponse
    usage: Usage
    counters: Counters
    truncated: Limit | None
    refused: tuple[GateDecision, ...]


def memory_run_steps(
    slug: str,
    messages: Any,
    *,
    user: "User | None",
    tools: Iterable[str | Tool] | None,
    unattended: bool,
    options: ChatOptions | None,
) -> Steps[LoopResult]:
    """The steps of a run that nobody stores. A call that needs a person raises ``ToolApprovalRequired``."""
    conversation = read_conversation(messages)
    plan = plan_for(Configuration.objects.by_slug(slug, user=user), options=options)
    offer = load_policy(plan.configuration, user=user).offer(tools, unattended=unattended)
    state, response, usage = plan.begin(conversation, offer), CompletionResponse(), Usage()
    run = _MemoryRun(plan, user, offer, unattended=unattended)
    while True:
        step = next_step(state, run.verdicts(state))
        match step:
            case AskModel():
                started = monotonic()
                response = yield plan.ask(state, step, high_water=run.high_water)
                usage += response.usage
                seconds, cost = monotonic() - started, plan.cost(response.usage)
                state = state.after_answer(response, closing=step.closing, cost=cost, seconds=seconds)
            case ExecuteCalls():
                state = yield from run.execute(state, step)
            case AnswerTurn():
                state = state.after_turn()
            case AwaitDecisions(pending):
                messages = (*state.messages, *state.results)
                raise ToolApprovalRequired([waiting.call for waiting in pending], messages=messages)
            case Finish(truncated):
                answer = last_answer(state.messages)
                return LoopResult(answer, state.messages, response, usage, state.counters, truncated, offer.refused)


class _MemoryRun:
    """What a run in memory carries beside its state: who acts, what was offered, and the highest data class seen."""

    def __init__(self, plan: Plan, user: "User | None", offer: Offer, *, unattended: bool) -> None:
        self.plan = plan
        self.user = user
        self.offered = offer.names
        self.unattended = unattended
        self.high_water = DataClass.PUBLIC

    def verdicts(self, state: LoopState) -> dict[str, GateDecision]:
        if not state.open_turn or all(waiting.state.is_answered for waiting in state.open_turn):
            return {}
        policy = load_policy(self.plan.configuration, user=self.user, read_history=lambda: state.messages)
        return {
            waiting.call.id: policy.judge_call(
                waiting.call, offered=self.offered, high_water=self.high_water, unattended=self.unattended
            )
            for waiting in state.open_turn
            if not waiting.state.is_answered
        }

    def execute(self, state: LoopState, step: ExecuteCalls) -> Steps[LoopState]:
        started = monotonic()
        executions = ToolExecutions(tuple(map(self._execution, step.runnable)))
        outcomes: list[ToolOutcome] = (yield executions) if executions.executions else []
        settled = {refused.open_call.call.id: refused.answered for refused in step.refused}
        for waiting, execution, outcome in zip(step.runnable, executions.executions, outcomes, strict=True):
            self.high_water = highest(self.high_water, execution.tool.data_class)
            settled[waiting.call.id] = answered_call(waiting, outcome)
        for waiting in step.pending:
            settled[waiting.call.id] = replace(waiting, state=CallState.PENDING)
        return state.after_calls(settled, seconds=monotonic() - started)

    def _execution(self, waiting: OpenCall) -> ToolExecution:
        tool = registry.get(waiting.call.name)
        if tool is None:  # the gate refuses unknown tools before
            raise LookupError(waiting.call.name)
        context = ToolContext(user=self.user, call_id=waiting.call.id)
        return ToolExecution(tool, waiting.call.arguments, context, tool.effect)


def answered_call(waiting: OpenCall, outcome: ToolOutcome) -> OpenCall:
    """Without storage nobody can settle a doubt later: the model is told of it, and the call has failed."""
    state = CallState.FAILED if outcome.state is CallState.IN_DOUBT else outcome.state
    return replace(waiting, state=state, result=outcome.result.content)
