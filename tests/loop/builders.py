"""Loop states in a line."""

from collections.abc import Mapping

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ToolDefinition
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.loop.limits import RunLimits
from llm_foundation.loop.state import GateDecision, LoopState, OpenCall, Verdict
from llm_foundation.loop.states import CallState

OFFER = (ToolDefinition(name="find_order"), ToolDefinition(name="refund_order"))


def asked(text: str = "Where is my parcel?", *, limits: RunLimits | None = None) -> LoopState:
    """A conversation that the model has not answered yet."""
    return LoopState(messages=(ChatMessage.user(text),), offer=OFFER, limits=limits or RunLimits())


def answered(*calls: str, text: str = "", state: LoopState | None = None) -> LoopState:
    """The same after an answer: a call of each named tool, with ids ``c1``, ``c2`` …, or just text."""
    made = tuple(ToolCall(id=f"c{number}", name=name) for number, name in enumerate(calls, start=1))
    return (state or asked()).after_answer(CompletionResponse(content=text, tool_calls=made))


def moved(state: LoopState, **states: CallState) -> LoopState:
    """The same after calls moved on; answered ones get ``<id> done`` as their result."""
    settled = {}
    for waiting in state.open_turn:
        if target := states.get(waiting.call.id):
            result = f"{waiting.call.id} done" if target.is_answered else None
            settled[waiting.call.id] = OpenCall(waiting.call, target, result)
    return state.after_calls(settled)


def verdicts(default: Verdict = Verdict.ALLOW, **named: Verdict) -> Mapping[str, GateDecision]:
    """``default`` for the calls ``c1`` to ``c9``, except the named ones."""
    ids = {f"c{number}": default for number in range(1, 200)} | named
    return {call_id: GateDecision("tool", verdict, "reason", "explanation") for call_id, verdict in ids.items()}
