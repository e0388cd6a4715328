"""Performing tool calls: one after the other, or side by side. Nothing here raises what a tool raised."""

import asyncio
from dataclasses import dataclass
from typing import Final

from asgiref.sync import sync_to_async

from llm_foundation.runs.operations import ToolExecution, ToolOutcome, failed, succeeded
from llm_foundation.runs.transactional import perform_transactional
from llm_foundation.tools import Effect

MAX_PARALLEL_CALLS: Final = 8


@dataclass(frozen=True, slots=True)
class ToolExecutions:
    """Calls of one turn. Transactional ones never run beside another call: they share the database connection."""

    executions: tuple[ToolExecution, ...]

    def perform(self) -> list[ToolOutcome]:
        return [perform(execution) for execution in self.executions]

    async def aperform(self) -> list[ToolOutcome]:
        if any(execution.effect is Effect.TRANSACTIONAL_WRITE for execution in self.executions):
            return [await aperform(execution) for execution in self.executions]
        places = asyncio.Semaphore(MAX_PARALLEL_CALLS)

        async def one(execution: ToolExecution) -> ToolOutcome:
            async with places:
                return await aperform(execution)

        return list(await asyncio.gather(*map(one, self.executions)))


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
