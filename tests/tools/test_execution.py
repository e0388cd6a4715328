"""One call of a tool, sync or async, from sync or async code."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from llm_foundation.exceptions import InvalidResult, NotExecuted, ToolTimedOut
from llm_foundation.tools import Tool, ToolContext, aexecute, execute, tool

CONTEXT = ToolContext(user="kim", call_id="call_1")


def greets() -> Tool:
    @tool
    def greet(context: ToolContext, name: str) -> str:
        return f"{context.user} greets {name}"

    return greet


def greets_later() -> Tool:
    @tool
    async def greet(context: ToolContext, name: str) -> str:
        await asyncio.sleep(0)
        return f"{context.user} greets {name}"

    return greet


def greets_without_context() -> Tool:
    @tool
    def greet(name: str) -> str:
        return f"kim greets {name}"

    return greet


@pytest.mark.parametrize("make", [greets, greets_later, greets_without_context])
def test_every_kind_of_tool_runs_from_sync_code(make: Callable[[], Tool]) -> None:
    assert execute(make(), {"name": "ada"}, CONTEXT).content == "kim greets ada"


@pytest.mark.parametrize("make", [greets, greets_later, greets_without_context])
async def test_every_kind_of_tool_runs_from_async_code(make: Callable[[], Tool]) -> None:
    assert (await aexecute(make(), {"name": "ada"}, CONTEXT)).content == "kim greets ada"


async def test_a_sync_tool_runs_beside_the_event_loop_and_not_in_it() -> None:
    @tool
    def where() -> str:
        return threading.current_thread().name

    assert (await aexecute(where, {}, CONTEXT)).content != threading.current_thread().name


def failing(error: Exception) -> Tool:
    @tool
    def fail() -> str:
        raise error

    return fail


def failing_later(error: Exception) -> Tool:
    @tool
    async def fail() -> str:
        raise error

    return fail


@pytest.mark.parametrize("make", [failing, failing_later])
@pytest.mark.parametrize("error", [NotExecuted("closed"), KeyError("x"), TimeoutError("the tool's own")])
async def test_what_a_tool_raises_comes_through_as_it_is(make: Callable[[Exception], Tool], error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        await aexecute(make(error), {}, CONTEXT, timeout=60)
    assert caught.value.args == error.args


@pytest.mark.parametrize("make", [failing, failing_later])
def test_the_same_from_sync_code(make: Callable[[Exception], Tool]) -> None:
    error = KeyError("x")
    with pytest.raises(KeyError) as caught:
        execute(make(error), {}, CONTEXT)
    assert caught.value is error


async def test_a_stop_iteration_does_not_leave_the_caller_waiting() -> None:
    with pytest.raises(RuntimeError, match="Tool 'fail' let StopIteration escape"):
        await asyncio.wait_for(aexecute(failing(StopIteration()), {}, CONTEXT), 30)


def stuck(**said: Any) -> tuple[Tool, list[str]]:
    ended: list[str] = []

    @tool(**said)
    async def wait() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return "never"

    return wait, ended


async def test_an_async_tool_is_stopped_at_its_timeout() -> None:
    wait, ended = stuck(timeout=0.01)
    with pytest.raises(ToolTimedOut, match=r"Tool 'wait' did not end within 0.01 seconds"):
        await aexecute(wait, {}, CONTEXT, timeout=600)
    assert ended == ["cancelled"]


async def test_a_tool_without_a_timeout_gets_the_callers() -> None:
    wait, ended = stuck()
    with pytest.raises(ToolTimedOut) as caught:
        await aexecute(wait, {}, CONTEXT, timeout=0.01)
    assert (caught.value.tool, caught.value.seconds, ended) == ("wait", 0.01, ["cancelled"])


def test_a_timeout_holds_from_sync_code_as_well() -> None:
    wait, _ = stuck(timeout=0.01)
    with pytest.raises(ToolTimedOut):
        execute(wait, {}, CONTEXT)


async def test_a_cancelled_caller_is_not_taken_for_a_timeout() -> None:
    wait, ended = stuck(timeout=600)
    task = asyncio.ensure_future(aexecute(wait, {}, CONTEXT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled"]


def test_a_result_is_converted_and_bounded() -> None:
    @tool
    def find(count: int) -> list[str]:
        return ["x"] * count

    assert execute(find, {"count": 2}, CONTEXT).content == '["x", "x"]'
    content = execute(find, {"count": 1_000}, CONTEXT, limit=200).content
    assert len(content) <= 200
    assert "characters are left out here" in content


def test_a_result_that_cannot_be_shown_says_so() -> None:
    @tool
    def find() -> object:
        return object()

    with pytest.raises(InvalidResult):
        execute(find, {}, CONTEXT)


def test_progress_and_cancel_reach_whoever_runs_the_tool() -> None:
    heard: list[str] = []

    @tool
    def work(context: ToolContext) -> str:
        context.progress("half")
        return "stopped" if context.cancelled() else "went on"

    context = ToolContext(report=heard.append, is_cancelled=lambda: True)
    assert execute(work, {}, context).content == "stopped"
    assert heard == ["half"]
