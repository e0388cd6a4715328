"""An answer that is an instance of a pydantic model: asked for in the best way there is, read, and repaired once."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Generic, Self

from llm_foundation.chat.completions import CompletionResponse, FinishReason
from llm_foundation.chat.conversation import read_conversation
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ChatOptions, NamedTool, ResponseSchema
from llm_foundation.exceptions import (
    AnswerFiltered,
    AnswerRefused,
    AnswerTruncated,
    InvalidMessage,
    StructuredOutputError,
)
from llm_foundation.models import Configuration
from llm_foundation.pipeline.answer_schema import ANSWER_TOOL, AnswerSchema, M, Misfit, answer_schema
from llm_foundation.pipeline.answer_turns import answer_text, repair_turn, with_instruction
from llm_foundation.pipeline.call import ModelCall
from llm_foundation.pipeline.plan import Plan, plan_for
from llm_foundation.tools.problems import Problem

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User


class Way(StrEnum):
    """How the answer is asked for; the best one first."""

    NATIVE = "native"
    """The provider enforces the schema."""
    TOOL = "tool"
    """The model has to call one tool, whose arguments are the answer."""
    WORDS = "words"
    """The schema stands in a system message."""


_RESTS_ON: Final[dict[Way, frozenset[str]]] = {
    Way.NATIVE: frozenset({"response_schema"}),
    Way.TOOL: frozenset({"tools", "tool_choice"}),
    Way.WORDS: frozenset(),
}
"""What of a request must not be dropped."""

_ENDS: Final[dict[FinishReason, type[StructuredOutputError]]] = {
    FinishReason.LENGTH: AnswerTruncated,
    FinishReason.CONTENT_FILTER: AnswerFiltered,
    FinishReason.REFUSAL: AnswerRefused,
}


@dataclass(frozen=True, slots=True)
class Question(Generic[M]):
    """What is asked for, and in which way. ``response.metadata["structured_output"]`` names the way."""

    plan: Plan
    schema: AnswerSchema[M]
    messages: tuple[ChatMessage, ...]
    way: Way = Way.NATIVE

    def call(self) -> ModelCall:
        notes = {"structured_output": str(self.way)}
        if self.way is Way.NATIVE:
            return self._plan(self.schema.native).call(self.messages, notes=notes)
        plan = self._plan(None)
        if self.way is Way.TOOL:
            choice = NamedTool(name=ANSWER_TOOL)
            return plan.call(self.messages, tools=(self.schema.tool,), tool_choice=choice, notes=notes)
        return plan.call(with_instruction(self.messages, self.schema.instruction), notes=notes)

    def by_best_way(self) -> Self:
        """The same question in the first way, from this one on, that the model can take."""
        ways = list(Way)
        asked = (replace(self, way=way) for way in ways[ways.index(self.way) :])
        return next(question for question in asked if question.is_taken())

    def is_taken(self) -> bool:
        """Whether the model can be asked so, as far as its adapter knows before it is asked."""
        target = self.plan.target
        if self.way is Way.WORDS:
            return True
        if not (target.calls_tools if self.way is Way.TOOL else target.adapter.capabilities.json_schema):
            return False
        return _RESTS_ON[self.way].isdisjoint(target.adapter.dropped_options(self.call().request))

    def read(self, response: CompletionResponse) -> M:
        """Raises ``Misfit`` for what may be repaired, ``StructuredOutputError`` for what may not."""
        kind = _ENDS.get(response.finish_reason) or (AnswerRefused if response.refusal else None)
        if kind is not None:
            raise self.error(kind, response)
        return self.schema.read(answer_text(response))

    def repaired(self, response: CompletionResponse, misfit: Misfit) -> Self:
        """The question once more, after the answer and what is wrong with it.

        Where the response says that the schema was dropped after all, it is asked in the next way.
        """
        again = replace(self, messages=(*self.messages, *repair_turn(response, misfit.problems)))
        if _RESTS_ON[self.way].isdisjoint(response.metadata.get("dropped_options", ())):
            return again
        return replace(again, way=list(Way)[list(Way).index(self.way) + 1]).by_best_way()

    def error(
        self, kind: type[StructuredOutputError], response: CompletionResponse, problems: tuple[Problem, ...] = ()
    ) -> StructuredOutputError:
        return kind(
            configuration=self.plan.target.configuration,
            model=self.plan.target.model,
            schema=self.schema.name,
            response=response,
            text=answer_text(response),
            problems=problems,
        )

    def _plan(self, schema: ResponseSchema | None) -> Plan:
        return replace(self.plan, options=self.plan.options.model_copy(update={"response_schema": schema}))


def structured_steps(
    slug: str,
    messages: Any,
    *,
    schema: type[M],
    user: "User | None" = None,
    options: ChatOptions | None = None,
) -> Generator[ModelCall, CompletionResponse, M]:
    """Ask, read, and ask once more where the answer does not fit; what is yielded is to be performed."""
    question = _question(slug, messages, schema=answer_schema(schema), user=user, options=options)
    response = yield question.call()
    try:
        return question.read(response)
    except Misfit as misfit:
        question = question.repaired(response, misfit)
    response = yield question.call()
    try:
        return question.read(response)
    except Misfit as misfit:
        raise question.error(StructuredOutputError, response, misfit.problems) from None


def _question(
    slug: str, messages: Any, *, schema: AnswerSchema[M], user: "User | None", options: ChatOptions | None
) -> Question[M]:
    conversation = read_conversation(messages)
    plan = plan_for(Configuration.objects.by_slug(slug, user=user), options=options)
    if options is not None and options.response_schema is not None:
        raise InvalidMessage("is made from the schema: leave it out", field="options.response_schema")
    return Question(plan, schema, plan.opening(conversation)).by_best_way()
