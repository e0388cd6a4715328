"""One call of a tool. Whether it may happen, and what an exception means, is decided elsewhere."""

import asyncio
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async

from llm_foundation.exceptions import ToolTimedOut
from llm_foundation.tools.context import ToolContext
from llm_foundation.tools.definition import Tool
from llm_foundation.tools.results import MAX_CHARACTERS, ToolResult, bounded, to_result


def execute(
    tool: Tool,
    arguments: dict[str, Any],
    context: ToolContext,
    *,
    timeout: float | None = None,
    limit: int = MAX_CHARACTERS,
) -> ToolResult:
    """Call the tool with validated arguments; its exceptions come through as they are.

    ``timeout``, in seconds, holds for an async tool that declares none of its own, and raises ``ToolTimedOut``. A sync
    tool runs to its end whatever its timeout says: Python cannot stop a thread. Raises ``InvalidResult`` for a result
    that cannot be shown; the tool ran all the same. ``limit`` is in characters.
    """
    if tool.is_async:
        return async_to_sync(aexecute)(tool, arguments, context, timeout=timeout, limit=limit)
    return bounded(to_result(_call(tool, arguments, context)), limit)


async def aexecute(
    tool: Tool,
    arguments: dict[str, Any],
    context: ToolContext,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - a tool may declare its own, and is then told apart by its error
    limit: int = MAX_CHARACTERS,
) -> ToolResult:
    """The same from async code. A sync tool runs in Django's own thread for sync code, as its views do."""
    if tool.is_async:
        value = await _within(tool, timeout if tool.timeout is None else tool.timeout, arguments, context)
    else:
        value = await sync_to_async(_call, thread_sensitive=True)(tool, arguments, context)
    return bounded(to_result(value), limit)


async def _within(tool: Tool, seconds: float | None, arguments: dict[str, Any], context: ToolContext) -> Any:
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await tool.signature.call(tool.function, context, arguments)
    except TimeoutError:
        if seconds is not None and scope.expired():
            raise ToolTimedOut(tool.name, seconds=seconds) from None
        raise


def _call(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Any:
    try:
        return tool.signature.call(tool.function, context, arguments)
    except StopIteration as error:
        # A future cannot carry it: whoever awaits the thread would wait for ever.
        raise RuntimeError(f"Tool {tool.name!r} let StopIteration escape.") from error
