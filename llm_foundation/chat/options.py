"""What is asked of a model beside the conversation itself."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from llm_foundation.chat.frozen import FrozenDict, JSONObject, Text, Value
from llm_foundation.chat.messages import ChatMessage


class ToolDefinition(Value):
    """A tool as the model sees it. ``parameters`` is JSON Schema, in the tool's own words."""

    name: Text = Field(min_length=1)
    description: Text = ""
    parameters: JSONObject = Field(default_factory=lambda: FrozenDict({"type": "object", "properties": {}}))
    strict: bool = False


class NamedTool(Value):
    """The choice of one tool."""

    name: Text = Field(min_length=1)


ToolChoice = Literal["auto", "none", "required"] | NamedTool


class ResponseSchema(Value):
    """The JSON Schema that an answer must follow."""

    model_config = ConfigDict(serialize_by_alias=True)

    name: Annotated[Text, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")] = "answer"
    schema_: JSONObject = Field(alias="schema")
    strict: bool = True


class ChatOptions(Value):
    """Parameters of a call; ``None`` leaves the provider's own default.

    ``extra`` is what an operator adds to the request body for this very provider.
    """

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    stop: tuple[Text, ...] = ()
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    parallel_tool_calls: bool | None = None
    response_schema: ResponseSchema | None = None
    extra: JSONObject = Field(default_factory=FrozenDict)

    def merged(self, other: "ChatOptions") -> "ChatOptions":
        """These options, overridden by what ``other`` sets explicitly."""
        changes: dict[str, Any] = {name: getattr(other, name) for name in other.model_fields_set}
        return self.model_copy(update=changes)


class ChatRequest(Value):
    """One call of a model: the whole conversation, the tools on offer, and the options."""

    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: ToolChoice = "auto"
    options: ChatOptions = Field(default_factory=ChatOptions)
    stream: bool = False
