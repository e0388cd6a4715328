"""What one completion gives back."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field

from llm_foundation.chat.frozen import FrozenDict, JSONObject, Text, Value, freeze_object
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState
from llm_foundation.chat.tool_calls import ToolCall, rename_repeated

Tokens = Annotated[int, Field(ge=0, strict=True)]


class FinishReason(StrEnum):
    """Why the model stopped. Whether a turn has calls is said by the calls, not by this."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    ERROR = "error"
    OTHER = "other"


class Usage(Value):
    """Tokens of one or more calls. ``None`` means *not reported*, which is not zero.

    ``input_tokens`` includes cache reads and writes; ``output_tokens`` includes thinking.
    """

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cached_input_tokens: Tokens | None = None
    cache_write_tokens: Tokens | None = None
    reasoning_tokens: Tokens | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """The sum of what was reported; a count that neither side reported stays ``None``."""
        sums = {}
        for name in Usage.model_fields:
            reported = [count for count in (getattr(self, name), getattr(other, name)) if count is not None]
            sums[name] = sum(reported) if reported else None
        return Usage(**sums)

    @property
    def total_tokens(self) -> int | None:
        """Input and output together; ``None`` where either was not reported."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class CompletionResponse(Value):
    """One answer of a model, the same whether it came whole or as a stream."""

    content: Text = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = FinishReason.OTHER
    raw_finish_reason: Text | None = None
    usage: Usage = Field(default_factory=Usage)
    reasoning: Text | None = None
    refusal: Text | None = None
    model: Text = ""
    response_id: Text | None = None
    provider_state: ProviderState | None = None
    metadata: JSONObject = Field(default_factory=FrozenDict)

    @property
    def has_tool_calls(self) -> bool:
        return bool(self.tool_calls)

    def to_message(self) -> ChatMessage:
        """The assistant message that stands for this answer in the transcript."""
        text = self.content or self.refusal or ""
        if self.tool_calls:
            return ChatMessage.assistant_tool_calls(self.tool_calls, text, self.provider_state)
        return ChatMessage.assistant(text, provider_state=self.provider_state)

    def with_metadata(self, **entries: Any) -> Self:
        """The same response with more metadata, which must be JSON: ``ValueError`` otherwise."""
        return self.model_copy(update={"metadata": freeze_object({**self.metadata, **entries})})

    def with_unique_call_ids(self, taken: Iterable[str]) -> Self:
        """Replace each id that the conversation, or this very turn, already has by one of ours."""
        calls, renamed = rename_repeated(self.tool_calls, set(taken))
        if calls == self.tool_calls:
            return self
        state = self.provider_state and self.provider_state.rebound(renamed)
        return self.model_copy(update={"tool_calls": calls, "provider_state": state})
