"""Reading along in an event loop: many at once, over one connection, and beside the very run that is followed."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import aclosing
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import TestCase

from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.runs import follow as following
from llm_foundation.runs.follow import afollow, follow
from llm_foundation.runs.updates import RunUpdate
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.practice import Desk, calls, desk, text
from tests.runs.meeting import Gate
from tests.runs.test_follow import finished, waiting
from tests.runs.test_streaming_async import adesk

transactional = pytest.mark.django_db(transaction=True)


async def all_of(run: Run | str, **options: Any) -> Sequence[RunUpdate]:
    return [update async for update in afollow(run, **options)]


async def is_connected() -> bool:
    """Whether the followers' thread holds a connection."""
    return await following._in_thread(lambda: connection.connection is not None)()


@transactional
async def test_it_is_the_same_story() -> None:
    async with adesk("find_order") as here:
        run = await sync_to_async(finished)(here)
        expected = await sync_to_async(lambda: list(follow(run)))()
        assert await all_of(run) == expected
        assert await all_of(str(run.pk), after=3) == expected[3:]


@transactional
async def test_what_is_no_run_is_refused_at_the_first_event() -> None:
    stories = afollow(uuid4()), afollow("run 7")
    for story in stories:
        with pytest.raises(Run.DoesNotExist):
            await anext(story)
    assert not await is_connected()


@transactional
async def test_many_who_wait_share_one_thread_and_one_connection_which_the_last_one_closes() -> None:
    async with adesk("refund_order") as here:
        run = await sync_to_async(waiting)(here)
        call = await sync_to_async(run.pending_calls.get)()
        waits = asyncio.Barrier(21)

        async def read_along() -> list[int]:
            sequences = []
            async for update in afollow(run):
                sequences.append(update.sequence)
                if update.kind == "run.waiting":
                    await waits.wait()
            return sequences

        readers = [asyncio.create_task(read_along()) for _ in range(20)]
        await waits.wait()
        assert len([thread for thread in threading.enumerate() if thread.name.startswith("llm-follow")]) == 1
        assert await is_connected()
        await llm.aapprove(call, by=here.approver, digest=call.digest)
        stories = await asyncio.gather(*readers)

    assert all(story == list(range(1, len(story) + 1)) for story in stories)
    assert not await is_connected()


@transactional
async def test_who_stops_early_leaves_nothing_open() -> None:
    async with adesk("refund_order") as here:
        run = await sync_to_async(waiting)(here)
        async with aclosing(afollow(run)) as story:
            assert (await anext(story)).kind == "run.started"
        assert not await is_connected()


@transactional
async def test_who_is_cancelled_while_waiting_leaves_nothing_open() -> None:
    async with adesk("refund_order") as here:
        run = await sync_to_async(waiting)(here)
        heard = asyncio.Event()

        async def read_along() -> None:
            async for update in afollow(run):
                if update.kind == "run.waiting":
                    heard.set()

        reader = asyncio.create_task(read_along())
        await heard.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert not await is_connected()


@transactional
async def test_a_run_of_the_same_process_can_be_followed_while_its_tool_keeps_djangos_thread_busy() -> None:
    gate = Gate()
    async with adesk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def search(context: ToolContext) -> str:
            context.progress("Searching")
            gate.stop_here()
            return "found"

        await sync_to_async(here.grant)(search)
        here.model.says(calls("search"), text("Here it is."))
        running = asyncio.create_task(llm.arun("support", "Search", user=here.clerk))
        await sync_to_async(gate.wait_until_reached, thread_sensitive=False)()
        run_id = await following._in_thread(lambda: str(Run.objects.values_list("pk", flat=True).get()))()
        updates = []
        async for update in afollow(run_id):
            updates.append(update)
            if update.kind == "tool.progress":
                gate.open()
        run = await running

    assert run.status == "completed"
    assert "Searching" in [update.text for update in updates]
    assert updates[-1].kind == "run.finished"


def grow_old() -> None:
    connection.close_at = monotonic() - 3600


class InATestCase(TestCase):
    """What a test case has made is in a transaction that no other thread can see."""

    here: Desk

    def setUp(self) -> None:
        entered = desk("find_order")
        self.here = entered.__enter__()
        self.addCleanup(entered.__exit__, None, None, None)

    async def test_a_run_of_the_test_is_found(self) -> None:
        run = await sync_to_async(finished)(self.here)
        updates = await all_of(run)
        assert updates[-1].kind == "run.finished"

    async def test_a_connection_that_is_old_stays_the_one_of_its_transaction(self) -> None:
        """Django closes one that is in a transaction just as one that is broken, and the transaction with it."""
        run = await sync_to_async(finished)(self.here)
        await sync_to_async(grow_old)()
        updates = await all_of(run)
        assert updates[-1].kind == "run.finished"
        assert await Run.objects.acount() == 1

    async def test_a_run_that_is_not_there_is_not_found(self) -> None:
        with pytest.raises(Run.DoesNotExist):
            await all_of(str(uuid4()))
