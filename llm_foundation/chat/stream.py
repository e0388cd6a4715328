"""What arrives while a model answers."""

from typing import Literal

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.frozen import Text, Value


class TextDelta(Value):
    type: Literal["text_delta"] = "text_delta"
    text: Text


class ReasoningDelta(Value):
    type: Literal["reasoning_delta"] = "reasoning_delta"
    text: Text


class ToolCallStarted(Value):
    """A call began. ``index`` counts the calls of the turn from 0, ``call_id`` is the final one."""

    type: Literal["tool_call_started"] = "tool_call_started"
    index: int
    call_id: Text
    name: Text


class ToolCallDelta(Value):
    """A piece of the JSON text of a call's arguments."""

    type: Literal["tool_call_delta"] = "tool_call_delta"
    index: int
    arguments: Text


class StreamCompleted(Value):
    """The last event: the very response that the call without streaming would have given."""

    type: Literal["stream_completed"] = "stream_completed"
    response: CompletionResponse


StreamEvent = TextDelta | ReasoningDelta | ToolCallStarted | ToolCallDelta | StreamCompleted
