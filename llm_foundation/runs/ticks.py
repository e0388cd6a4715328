"""Something that is done every so often beside something that takes its time."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def with_ticks(work: Coroutine[Any, Any, T], tick: Callable[[], Awaitable[None]], *, every: float) -> T:
    """Give what the work gives. ``tick`` is awaited each time that so many seconds have passed, also while it stalls.

    What the tick raises comes through, and stops the work. However this ends, the work has ended before.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=every)  # which leaves the task alone when the time is up
            if not task.done():
                await tick()
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
