"""What a configuration makes of a call or a run: whom it asks, with which options, and how far it may go."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from llm_foundation.chat.completions import Usage
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatOptions, ChatRequest, ToolChoice, ToolDefinition
from llm_foundation.exceptions import ContextExhausted, InvalidMessage
from llm_foundation.loop.limits import RunLimits
from llm_foundation.loop.next_step import AskModel
from llm_foundation.loop.state import LoopState
from llm_foundation.loop.window import definition_tokens, fit_window
from llm_foundation.models import Configuration
from llm_foundation.pipeline.call import ModelCall
from llm_foundation.pipeline.target import Target, target_of
from llm_foundation.policy.facts import Offer
from llm_foundation.vocabulary import DataClass

_DEFAULT_ANSWER_TOKENS: Final = 4_096


@dataclass(frozen=True, slots=True)
class Plan:
    """A configuration, read once for a segment. ``options`` are the configuration's, with the caller's over them."""

    configuration: Configuration
    target: Target
    options: ChatOptions
    limits: RunLimits

    def opening(self, messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The first messages of a run: the configuration's prompt before what the caller brings."""
        prompt = self.configuration.system_prompt
        return (*([ChatMessage.system(prompt)] if prompt else []), *messages)

    @property
    def seconds(self) -> float:
        """How long one model call may take."""
        return self.target.deadlines.total

    def begin(self, messages: Sequence[ChatMessage], offer: Offer, *, history: Sequence[ChatMessage] = ()) -> LoopState:
        """``history`` is what an earlier run said, without its prompt.

        Raises ``InvalidMessage`` where the last word is the model's already: a run would end before it began.
        """
        if messages[-1].role is Role.ASSISTANT and not messages[-1].tool_calls:
            raise InvalidMessage("asks nothing: the model has answered already", field=f"messages[{len(messages) - 1}]")
        self.target.require_tools(offer.definitions)
        return LoopState(messages=self.opening([*history, *messages]), offer=offer.definitions, limits=self.limits)

    def ask(self, state: LoopState, step: AskModel, *, high_water: DataClass) -> ModelCall:
        """The model call that a step of the loop asks for."""
        choice: ToolChoice = "auto" if step.may_call else "none"
        return self.call(state.messages, tools=step.tools, tool_choice=choice, high_water=high_water)

    def call(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: tuple[ToolDefinition, ...] = (),
        tool_choice: ToolChoice = "auto",
        high_water: DataClass = DataClass.PUBLIC,
        notes: Mapping[str, Any] | None = None,
    ) -> ModelCall:
        """Raises ``ContextExhausted`` where not even the head and the newest turn fit the model's window."""
        fitting = fit_window(messages, budget=self._budget(tools))
        if fitting is None:
            raise ContextExhausted(self.target.configuration, self.target.model)
        request = ChatRequest(messages=fitting, tools=tools, tool_choice=tool_choice, options=self.options)
        return ModelCall(self.target, request, high_water, notes or {})

    def _budget(self, tools: tuple[ToolDefinition, ...]) -> int | None:
        """Tokens for the transcript: the window less the answer's room and the definitions."""
        model = self.target.adapter.model
        if model.context_window is None:
            return None
        usual = min(model.max_output_tokens or _DEFAULT_ANSWER_TOKENS, model.context_window // 4)
        return model.context_window - (self.options.max_tokens or usual) - definition_tokens(tools)

    def cost(self, usage: Usage) -> Decimal | None:
        """In US dollars; ``None`` where a price is not known."""
        return self.configuration.language_model.cost(usage)


def plan_for(configuration: Configuration, *, options: ChatOptions | None = None, before: Plan | None = None) -> Plan:
    """``before`` is an earlier plan of this configuration, whose adapter will do if it still fits."""
    if options is not None and not isinstance(options, ChatOptions):
        raise InvalidMessage("must be ChatOptions(…)", field="options")
    own = configuration.chat_options()
    return Plan(
        configuration=configuration,
        target=target_of(configuration, before=before.target if before else None),
        options=own.merged(options) if options else own,
        limits=configuration.limits(),
    )
