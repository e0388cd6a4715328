"""One LLM set-up for a whole Django project, under the administrator's control.

::

    from llm_foundation import llm

    run = llm.run("support", "Refund order 1138", user=request.user)

Names are resolved on first use: importing the package loads nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_foundation import llm
    from llm_foundation.chat import ChatMessage, ChatOptions, CompletionResponse, StreamEvent, ToolCall, Usage
    from llm_foundation.exceptions import (
        ConfigurationError,
        InvalidMessage,
        LLMFoundationError,
        ProviderError,
        StructuredOutputError,
        ToolApprovalRequired,
    )
    from llm_foundation.tools import DataClass, Effect, ToolContext, ToolResult, TrustZone, tool

__version__ = "0.1.0"

__all__ = [
    "ChatMessage",
    "ChatOptions",
    "CompletionResponse",
    "ConfigurationError",
    "DataClass",
    "Effect",
    "InvalidMessage",
    "LLMFoundationError",
    "ProviderError",
    "StreamEvent",
    "StructuredOutputError",
    "ToolApprovalRequired",
    "ToolCall",
    "ToolContext",
    "ToolResult",
    "TrustZone",
    "Usage",
    "llm",
    "tool",
]

_CHAT = {"ChatMessage", "ChatOptions", "CompletionResponse", "StreamEvent", "ToolCall", "Usage"}
_TOOLS = {"DataClass", "Effect", "ToolContext", "ToolResult", "TrustZone", "tool"}


def __getattr__(name: str) -> Any:
    if name == "llm":
        return import_module("llm_foundation.llm")
    if name in _CHAT:
        return getattr(import_module("llm_foundation.chat"), name)
    if name in _TOOLS:
        return getattr(import_module("llm_foundation.tools"), name)
    if name in __all__:
        return getattr(import_module("llm_foundation.exceptions"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
