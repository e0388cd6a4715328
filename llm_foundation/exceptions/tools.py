"""What can be wrong with a tool, its arguments or its result."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llm_foundation.exceptions.root import LLMFoundationError

if TYPE_CHECKING:
    from llm_foundation.chat.tool_calls import ToolCall


class ToolError(LLMFoundationError):
    """Something about a tool."""


class InvalidTool(ToolError):
    """A tool's declaration cannot work."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool. ``problems`` holds (field path, why) pairs, fit to show the model."""

    def __init__(self, tool: str, problems: Sequence[tuple[str, str]]) -> None:
        self.tool = tool
        self.problems = tuple(problems)
        listed = "; ".join(f"{field}: {why}" for field, why in self.problems)
        super().__init__(f"Invalid arguments for {tool}: {listed}")


class InvalidResult(ToolError):
    """What a tool returned cannot be shown to a model. The tool itself ran to its end, so its effect happened."""


class ToolTimedOut(ToolError):
    """An async tool was stopped after ``seconds``. Whether its effect happened is unknown."""

    def __init__(self, tool: str, *, seconds: float) -> None:
        self.tool = tool
        self.seconds = seconds
        super().__init__(f"Tool {tool!r} did not end within {seconds:g} seconds and was stopped.")


class NotExecuted(ToolError):
    """Raise it in a tool to say: the effect certainly did not happen. The text goes to the model."""


class ToolApprovalRequired(LLMFoundationError):
    """An in-memory run met calls that a person must decide.

    ``pending`` holds them, ``messages`` the transcript, with the results of those calls of the turn that were executed.
    """

    def __init__(self, pending: Sequence["ToolCall"], *, messages: Sequence[Any] = ()) -> None:
        self.pending = tuple(pending)
        self.messages = tuple(messages)
        names = ", ".join(call.name for call in self.pending)
        super().__init__(
            f"A person must decide: {names}. Use llm.run() to store the run and wait for the decision,"
            " or unattended=True to offer only tools that never pause."
        )
