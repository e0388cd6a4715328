"""What a call would change, in lines that a person reads before deciding. Nothing of it stays."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

from asgiref.sync import async_to_sync, sync_to_async
from django.db import transaction

from llm_foundation.tools.context import ToolContext
from llm_foundation.tools.definition import Tool
from llm_foundation.tools.results import ToolResult, bounded

MAX_CHARACTERS: Final = 10_000


def preview_lines(
    tool: Tool, arguments: dict[str, Any], context: ToolContext, *, timeout: float | None = None
) -> tuple[str, ...]:
    """The lines of the tool's preview for validated arguments; ``()`` where it has none.

    Runs in a transaction of the default database that is rolled back, so a preview may try the change and look. Its
    exceptions come through. At most 10,000 characters, with the cut said. ``timeout``, in seconds, raises
    ``TimeoutError`` in an async preview; a sync one runs to its end, as a sync tool does.
    """
    if tool.preview is None:
        return ()
    with transaction.atomic():
        try:
            # Joined inside: lines may be generated, and see the change only before it is undone.
            shown = _joined(_call(tool, tool.preview, arguments, context, timeout))
        finally:
            transaction.set_rollback(True)
    text = bounded(ToolResult(shown), MAX_CHARACTERS).content
    return tuple(text.splitlines())


async def apreview_lines(
    tool: Tool,
    arguments: dict[str, Any],
    context: ToolContext,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - the same as above
) -> tuple[str, ...]:
    """The same from async code."""
    return await sync_to_async(preview_lines, thread_sensitive=True)(tool, arguments, context, timeout=timeout)


def _call(
    tool: Tool, preview: Callable[..., Any], arguments: dict[str, Any], context: ToolContext, timeout: float | None
) -> Any:
    async def awaited() -> Any:
        async with asyncio.timeout(timeout):
            return await tool.signature.call(preview, context, arguments)

    if inspect.iscoroutinefunction(preview):
        return async_to_sync(awaited)()
    return tool.signature.call(preview, context, arguments)


def _joined(shown: str | Iterable[str] | None) -> str:
    return shown if isinstance(shown, str) else "\n".join(str(line) for line in shown or ())
