"""The loop itself: a pure function from what is stored to what comes next."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from llm_foundation.chat.options import ToolDefinition
from llm_foundation.loop.limits import Limit, limit_reached
from llm_foundation.loop.state import GateDecision, LoopState, OpenCall, Verdict
from llm_foundation.loop.states import CallState

Verdicts = Mapping[str, GateDecision]
"""The gate's answer for each proposed, pending or ready call of the open turn, by call id."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask for the next answer. ``may_call`` is false for the last one, which ``closing`` explains."""

    tools: tuple[ToolDefinition, ...] = ()
    may_call: bool = True
    closing: Limit | None = None


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that gets an error result at once, and why."""

    open_call: OpenCall
    decision: GateDecision

    @property
    def answered(self) -> OpenCall:
        """The call with its error result, fit for the model."""
        return replace(self.open_call, state=CallState.REFUSED, result=f"Error: {self.decision.told}")


@dataclass(frozen=True, slots=True)
class ExecuteCalls:
    """Run these now. ``refused`` ones are answered, newly ``pending`` ones put before a person, in the same step."""

    runnable: tuple[OpenCall, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    pending: tuple[OpenCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitDecisions:
    """Nothing can go on before somebody decides, or resolves a call in doubt."""

    pending: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class AnswerTurn:
    """All calls are answered: their results join the transcript, in the calls' order."""

    calls: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The run has its answer. ``truncated`` names the limit that ended its tool use early."""

    truncated: Limit | None = None


Step = AskModel | ExecuteCalls | AwaitDecisions | AnswerTurn | Finish


def next_step(state: LoopState, verdicts: Verdicts) -> Step:
    """Say what a run does next. Pure: the same state always gives the same step."""
    if state.open_turn:
        return _continue_turn(state, verdicts)
    if state.is_over:
        return Finish(truncated=state.closing)
    if limit := limit_reached(state.limits, state.counters):
        return _closing(state, limit)
    return AskModel(tools=state.offer)


def _continue_turn(state: LoopState, verdicts: Verdicts) -> Step:
    turn = classify(state, verdicts)
    if turn.runnable or turn.refused or turn.pending:
        return turn
    if waiting := tuple(open_call for open_call in state.open_turn if not open_call.state.is_answered):
        return AwaitDecisions(waiting)
    return AnswerTurn(state.open_turn)


def _closing(state: LoopState, limit: Limit) -> AskModel:
    """The definitions stay where the history holds calls: providers refuse calls of tools they cannot see."""
    return AskModel(tools=state.offer if state.history_holds_calls else (), may_call=False, closing=limit)


def classify(state: LoopState, verdicts: Verdicts) -> ExecuteCalls:
    """Sort the whole open turn before anything of it runs. What already waits for a person stays where it is."""
    runnable, refused, pending = [], [], []
    room = state.limits.max_calls - (state.counters.calls - len(state.open_turn))
    for position, waiting in enumerate(state.open_turn):
        if not waiting.state.is_judged:
            continue
        decision = _over_limit(state, waiting, position, room) or verdicts[waiting.call.id]
        if decision.verdict is Verdict.REFUSE:
            refused.append(RefusedCall(waiting, decision))
        elif waiting.state is CallState.PENDING:
            continue
        elif decision.verdict is Verdict.ASK:
            pending.append(waiting)
        else:
            runnable.append(waiting)
    return ExecuteCalls(tuple(runnable), tuple(refused), tuple(pending))


def _over_limit(state: LoopState, waiting: OpenCall, position: int, room: int) -> GateDecision | None:
    if state.closing:
        reason, why = "closing", "the run may make no more calls"
    elif position >= state.limits.max_calls_per_turn:
        reason, why = "calls_per_turn", f"one turn may hold {state.limits.max_calls_per_turn} calls"
    elif position >= room:
        reason, why = "calls", f"one run may make {state.limits.max_calls} calls"
    else:
        return None
    return GateDecision(waiting.call.name, Verdict.REFUSE, f"limit_{reason}", f"Not executed: {why}.")
