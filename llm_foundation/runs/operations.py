"""A tool call that may run now, and what can come of it."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import monotonic, sleep
from typing import Any, Final, TypedDict

from asgiref.sync import sync_to_async

from llm_foundation.conf import settings
from llm_foundation.exceptions import InvalidArguments, InvalidInput, InvalidResult, NotExecuted, ToolTimedOut
from llm_foundation.loop.states import CallState
from llm_foundation.tools import (
    Effect,
    Tool,
    ToolContext,
    ToolResult,
    aexecute,
    bounded,
    execute,
    preview_lines,
    validate_arguments,
    validate_input,
)

logger = logging.getLogger("llm_foundation.tools")


class _Bounds(TypedDict):
    timeout: float
    limit: int


_FAILED: Final = "Error: the tool {tool} failed; it changed nothing."
_UNSHOWN: Final = "The tool {tool} did its work, but its result cannot be shown."
_UNKNOWN: Final = "Error: the tool {tool} failed, and nobody knows whether it took effect. Do not call it again."


@dataclass(frozen=True, slots=True)
class Pause:
    """An operation that lets time pass, in seconds."""

    seconds: float

    def perform(self) -> None:
        sleep(self.seconds)

    async def aperform(self) -> None:
        await asyncio.sleep(self.seconds)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How a call ended. ``detail`` is for the log and the run's page: an exception's text may hold credentials."""

    state: CallState
    result: ToolResult
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """``effect`` is the stricter of what the code says and what the run stored.

    ``start_by``, on the monotonic clock, is when a write may no longer begin: somebody else may have the run then.
    ``may_have_happened`` says that an earlier attempt of the call may have taken effect. ``is_released``: it runs
    because a person said so, on what they were shown. ``input`` is what a person filled in, as it was typed; ``note``
    is told to the model before the result.
    """

    tool: Tool
    arguments: Mapping[str, Any]
    context: ToolContext
    effect: Effect
    start_by: float | None = None
    may_have_happened: bool = False
    is_released: bool = False
    input: Mapping[str, Any] | None = field(default=None, repr=False)
    note: str = ""

    def run(self) -> ToolResult:
        """Call the tool; what it raises is the caller's to handle."""
        return self.noted(execute(self.tool, self._validated(), self._complete_context(), **_bounds()))

    async def arun(self) -> ToolResult:
        """A sync tool waits for Django's one thread for sync code: whether it may still begin is asked there."""
        if not self.tool.is_async:
            return await sync_to_async(self.run, thread_sensitive=True)()
        return self.noted(await aexecute(self.tool, self._validated(), self._complete_context(), **_bounds()))

    def preview(self) -> tuple[str, ...]:
        """The lines of the tool's own preview, none where it declares none."""
        seconds = self.tool.timeout or settings.TOOL_TIMEOUT
        return preview_lines(self.tool, self._validated(), self._context(), timeout=seconds)

    def noted(self, result: ToolResult) -> ToolResult:
        """The result as the model is told it."""
        if not self.note:
            return result
        told = ToolResult(f"{self.note}\n\n{result.content}", result.is_error, result.artifacts)
        return bounded(told, settings.MAX_RESULT_CHARACTERS)

    def _validated(self) -> dict[str, Any]:
        """What does not fit is not executed. A tool that raises ``InvalidArguments`` itself has done who knows what."""
        if self.start_by is not None and self.effect.writes and monotonic() > self.start_by:
            raise NotExecuted("the call came to its turn too late, and was not executed.")
        try:
            return validate_arguments(self.tool, self.arguments)
        except InvalidArguments as error:
            raise NotExecuted(str(error)) from error

    def _complete_context(self) -> ToolContext:
        if self.tool.input_model is not None and self.input is None:
            raise NotExecuted("nobody has filled in the input that this call needs.")
        return self._context()

    def _context(self) -> ToolContext:
        """With the input, once it is given: before, a preview can be made without it."""
        if self.input is None:
            return self.context
        try:
            return replace(self.context, input=validate_input(self.tool, self.input))
        except InvalidInput as error:  # the rules of the model have changed since
            raise NotExecuted("the input that a person gave for this call does not fit any more.") from error


def _bounds() -> _Bounds:
    return {"timeout": settings.TOOL_TIMEOUT, "limit": settings.MAX_RESULT_CHARACTERS}


def succeeded(result: ToolResult) -> ToolOutcome:
    return ToolOutcome(CallState.FAILED if result.is_error else CallState.SUCCEEDED, result)


def failed(execution: ToolExecution, error: Exception) -> ToolOutcome:
    """What a raised exception means for the call: it depends on what the tool does to the world."""
    outcome = _failed(execution, error)
    return replace(outcome, result=execution.noted(outcome.result))


def _failed(execution: ToolExecution, error: Exception) -> ToolOutcome:
    tool = execution.tool.name
    if isinstance(error, NotExecuted) and not execution.may_have_happened:  # else it speaks of this attempt only
        return ToolOutcome(CallState.FAILED, ToolResult(f"Error: {error}", is_error=True), detail=str(error))
    logger.error("Tool %s failed", tool, exc_info=error)
    detail = f"{type(error).__name__}: {error}"
    if execution.effect in (Effect.IDEMPOTENT_WRITE, Effect.NON_IDEMPOTENT_WRITE):
        if isinstance(error, InvalidResult):  # the tool ran to its end: its effect is no secret, only its result
            return ToolOutcome(CallState.SUCCEEDED, ToolResult(_UNSHOWN.format(tool=tool)), detail)
        unknown = ToolResult(_UNKNOWN.format(tool=tool), is_error=True)
        return ToolOutcome(CallState.IN_DOUBT, unknown, detail)
    text = f"Error: {error}" if isinstance(error, ToolTimedOut) else _FAILED.format(tool=tool)
    return ToolOutcome(CallState.FAILED, ToolResult(text, is_error=True), detail)
