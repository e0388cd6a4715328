"""Performing tool calls: one after the other, or side by side. Nothing here raises what a tool raised."""

import asyncio
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from asgiref.sync import async_to_sync, sync_to_async

from llm_foundation.runs.operations import ToolExecution, ToolOutcome, failed, succeeded
from llm_foundation.runs.progress import Reporter
from llm_foundation.runs.transactional import perform_transactional
from llm_foundation.tools import Effect

MAX_PARALLEL_CALLS: Final = 8


@dataclass(frozen=True, slots=True)
class ToolExecutions:
    """Calls of one turn. Transactional ones never run beside another call: they share the database connection.

    ``reporter`` is the one that their contexts speak to, if any.
    """

    executions: tuple[ToolExecution, ...]
    reporter: Reporter | None = None

    def perform(self) -> list[ToolOutcome]:
        if self.reporter is None:
            return [perform(execution) for execution in self.executions]
        with closing(self.reporter):
            return [_perform(execution, self.reporter) for execution in self.executions]

    async def aperform(self) -> list[ToolOutcome]:
        if self.reporter is None:
            return await self._side_by_side()
        with closing(self.reporter):
            return await self.reporter.beside(self._side_by_side())

    async def _side_by_side(self) -> list[ToolOutcome]:
        if any(execution.effect is Effect.TRANSACTIONAL_WRITE for execution in self.executions):
            return [await aperform(execution) for execution in self.executions]
        places = asyncio.Semaphore(MAX_PARALLEL_CALLS)

        async def one(execution: ToolExecution) -> ToolOutcome:
            async with places:
                return await aperform(execution)

        return list(await asyncio.gather(*map(one, self.executions)))


def _perform(execution: ToolExecution, reporter: Reporter) -> ToolOutcome:
    """What an async tool says is written while it runs, although nobody else runs an event loop here."""
    if execution.tool.is_async and execution.effect is not Effect.TRANSACTIONAL_WRITE:
        return async_to_sync(reporter.beside)(aperform(execution))
    return perform(execution)


def perform(execution: ToolExecution) -> ToolOutcome:
    if execution.effect is Effect.TRANSACTIONAL_WRITE:
        return perform_transactional(execution)
    try:
        return succeeded(execution.run())
    except Exception as error:  # noqa: BLE001  # a tool may raise anything; its call answers for it
        return failed(execution, error)


async def aperform(execution: ToolExecution) -> ToolOutcome:
    if execution.effect is Effect.TRANSACTIONAL_WRITE:
        return await sync_to_async(perform_transactional)(execution)
    try:
        return succeeded(await execution.arun())
    except Exception as error:  # noqa: BLE001  # a tool may raise anything; its call answers for it
        return failed(execution, error)
