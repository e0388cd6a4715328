"""What the loop knows of a run: all of it is stored, none of it is hidden."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum

from llm_foundation.chat.completions import CompletionResponse, FinishReason
from llm_foundation.chat.conversation import call_ids
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ToolDefinition
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.loop.limits import Counters, Limit, RunLimits
from llm_foundation.loop.states import CallState


class Verdict(StrEnum):
    """What the gate says of a tool or a call."""

    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class GateDecision:
    """``reason`` is a stable code for programs, ``explanation`` a sentence for people.

    ``detail`` says it to the model in its place, where that needs to quote what was said: it is not for logs.
    """

    tool: str
    verdict: Verdict
    reason: str = ""
    explanation: str = ""
    detail: str = ""

    @property
    def told(self) -> str:
        """What the model is told."""
        return self.detail or self.explanation


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of the open turn and how far it has come. ``result`` is what the model will read, once it is answered."""

    call: ToolCall
    state: CallState = CallState.PROPOSED
    result: str | None = None


@dataclass(frozen=True, slots=True)
class LoopState:
    """A run between two steps.

    ``messages`` is the transcript; the results of the open turn join it once all its calls are answered.
    ``closing`` is the limit for whose sake the last answer was asked for without calls. ``is_paused`` says that the
    provider stopped in the middle of its answer and goes on when it gets it back.
    """

    messages: tuple[ChatMessage, ...]
    open_turn: tuple[OpenCall, ...] = ()
    offer: tuple[ToolDefinition, ...] = ()
    counters: Counters = field(default_factory=Counters)
    limits: RunLimits = field(default_factory=RunLimits)
    closing: Limit | None = None
    is_paused: bool = False

    @property
    def has_answer(self) -> bool:
        """The last word is the model's, it is complete, and it asks for nothing."""
        last = self.messages[-1]
        return last.role is Role.ASSISTANT and not last.tool_calls and not self.is_paused

    @property
    def is_over(self) -> bool:
        """Nothing more will be asked: the answer is there, or the last one that could be."""
        return self.has_answer or self.closing is not None

    @property
    def history_holds_calls(self) -> bool:
        return any(message.tool_calls for message in self.messages)

    def after_answer(
        self,
        response: CompletionResponse,
        *,
        closing: Limit | None = None,
        cost: Decimal | None = None,
        seconds: float = 0.0,
    ) -> "LoopState":
        """The model answered; its calls open a turn. ``cost`` of ``None`` is not known and adds nothing."""
        answer = response.with_unique_call_ids(call_ids(self.messages))
        used = Counters(
            rounds=self.counters.rounds + 1,
            calls=self.counters.calls + len(answer.tool_calls),
            tokens=self.counters.tokens + (answer.usage.input_tokens or 0) + (answer.usage.output_tokens or 0),
            cost=self.counters.cost + (cost or 0),
            seconds=self.counters.seconds + seconds,
        )
        return replace(
            self,
            messages=(*self.messages, answer.to_message()),
            open_turn=tuple(OpenCall(call) for call in answer.tool_calls),
            counters=used,
            closing=closing,
            is_paused=answer.finish_reason is FinishReason.PAUSE and not answer.tool_calls,
        )

    def after_calls(self, settled: Mapping[str, OpenCall], *, seconds: float = 0.0) -> "LoopState":
        """Some calls of the open turn moved on; ``settled`` holds them by call id."""
        counters = replace(self.counters, seconds=self.counters.seconds + seconds)
        turn = tuple(settled.get(waiting.call.id, waiting) for waiting in self.open_turn)
        return replace(self, open_turn=turn, counters=counters)

    def after_turn(self) -> "LoopState":
        """All calls are answered: one tool message per call joins the transcript, in the order of the calls."""
        return replace(self, messages=(*self.messages, *self.results), open_turn=())

    @property
    def results(self) -> tuple[ChatMessage, ...]:
        """The tool messages of the answered calls of the open turn, in the calls' order."""
        answered = (waiting for waiting in self.open_turn if waiting.state.is_answered)
        return tuple(ChatMessage.tool_result(waiting.call.id, waiting.result or "") for waiting in answered)
