"""The same in an event loop, where nothing that has arrived is held back by a stall."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from llm_foundation.exceptions import IncompleteStream
from llm_foundation.pipeline.completion import completion_call
from llm_foundation.runs.streaming import StreamedCall
from tests.practice import Desk, desk
from tests.runs.spoken import Listening, Pause, spoken, told
from tests.runs.test_streaming import Cancelled, Heard, cancel, unverified

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def adesk(*granted: str) -> AsyncIterator[Desk]:
    entered = desk(*granted)
    here = await sync_to_async(entered.__enter__)()
    try:
        yield here
    finally:
        await sync_to_async(entered.__exit__)(None, None, None)


async def ask(keep: Any, *, interval: float = 0.01) -> Any:
    call = await sync_to_async(completion_call)("support", "Hi")
    return await StreamedCall(call, keep, interval).aperform()


async def test_what_arrived_before_a_stall_is_kept_during_the_stall() -> None:
    pause = Pause()
    heard = Heard(pause.end)
    async with adesk() as here:
        here.model.says(spoken("It is on its ", pause, "way."))
        response = await ask(heard)

    assert response.content == "It is on its way."
    assert heard.said[0] == ("model.text", "It is on its ")
    assert here.model.asked[0]["stream"] is True


async def test_a_cancel_is_noticed_while_the_provider_says_nothing() -> None:
    listening = Listening()
    heard = Heard(cancel)
    async with adesk() as here:
        here.model.says(told(listening))
        with pytest.raises(Cancelled):
            await ask(heard)
        await sync_to_async(listening.wait_until_gone)()
    assert heard.batches == [[]]


async def test_who_keeps_may_stop_the_stream_and_nothing_is_left_running() -> None:
    listening = Listening()
    async with adesk() as here:
        here.model.says(spoken("It is ", listening))
        with pytest.raises(Cancelled):
            await ask(Heard(cancel))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await sync_to_async(listening.wait_until_gone)()


async def test_who_awaits_the_answer_may_give_up_and_nothing_is_left_running() -> None:
    listening = Listening()
    kept = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with adesk() as here:
        here.model.says(spoken("It is ", listening))
        asking = asyncio.create_task(ask(Heard(lambda: loop.call_soon_threadsafe(kept.set))))
        await kept.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await sync_to_async(listening.wait_until_gone)()


async def test_a_stream_that_breaks_is_an_error_with_what_had_arrived() -> None:
    async with adesk() as here:
        here.model.says(told("It is "))
        with pytest.raises(IncompleteStream) as caught:
            await ask(Heard())
    assert caught.value.partial
    assert caught.value.partial.content == "It is "


async def test_a_provider_that_will_not_stream_this_model_to_us_is_asked_without() -> None:
    async with adesk() as here:
        unverified(here)
        assert (await ask(Heard())).content == "It is on its way."
        assert [body.get("stream", False) for body in here.model.asked] == [True, False]
