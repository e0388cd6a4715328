"""The language of a conversation: values that are valid once they exist. No Django, no I/O."""

from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatOptions, ChatRequest, NamedTool, ResponseSchema, ToolDefinition
from llm_foundation.chat.parts import FilePart, ImagePart, TextPart
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.chat.stream import (
    ReasoningDelta,
    StreamCompleted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from llm_foundation.chat.tool_calls import ToolCall

__all__ = [
    "ChatMessage",
    "ChatOptions",
    "ChatRequest",
    "CompletionResponse",
    "Embeddings",
    "FilePart",
    "FinishReason",
    "ImagePart",
    "NamedTool",
    "ProviderState",
    "ReasoningDelta",
    "ResponseSchema",
    "Role",
    "StateOwner",
    "StreamCompleted",
    "StreamEvent",
    "TextDelta",
    "TextPart",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallStarted",
    "ToolDefinition",
    "Usage",
]
