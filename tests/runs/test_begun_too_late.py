"""A write that comes to its turn after its lease may be somebody else's by then: it is not begun."""

import asyncio
from dataclasses import replace
from time import monotonic

from asgiref.sync import sync_to_async

from llm_foundation.runs.executions import ToolExecutions
from llm_foundation.runs.operations import ToolExecution, ToolOutcome
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, registry, tool
from tests.runs.meeting import Gate


def made(effect: Effect, begun: list[str]) -> Tool:
    with registry.isolated():

        @tool(effect=effect, data_class=DataClass.PUBLIC, approval=False)
        def write() -> str:
            begun.append("begun")
            return "written"

    return write


def execution(effect: Effect, begun: list[str]) -> ToolExecution:
    return ToolExecution(made(effect, begun), {}, ToolContext(), effect)


async def performed_behind(blocked: Gate, waiting: ToolExecution, *, is_over: asyncio.Event) -> ToolOutcome:
    """The one thread for sync code is busy until the time of the call is over."""
    busy = asyncio.create_task(sync_to_async(blocked.stop_here, thread_sensitive=True)())
    outcomes = asyncio.create_task(ToolExecutions((waiting,)).aperform())
    await is_over.wait()
    blocked.open()
    await busy
    return (await outcomes)[0]


async def test_a_write_that_waited_for_its_thread_past_its_time_is_not_begun() -> None:
    begun: list[str] = []
    waiting = replace(execution(Effect.NON_IDEMPOTENT_WRITE, begun), start_by=monotonic() + 0.05)
    is_over = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, is_over.set)
    outcome = await performed_behind(Gate(), waiting, is_over=is_over)
    assert (outcome.state, begun) == ("failed", [])
    assert "too late" in outcome.result.content


async def test_a_read_may_begin_whenever_it_comes_to_its_turn() -> None:
    begun: list[str] = []
    outcome = (
        await ToolExecutions((replace(execution(Effect.READ_ONLY, begun), start_by=monotonic() - 1),)).aperform()
    )[0]
    assert (outcome.state, begun) == ("succeeded", ["begun"])
