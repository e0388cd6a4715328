"""The task that executes a run is cancelled, as that of a view whose client hangs up: a worker goes on at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Event
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import Group, User
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs import clock
from llm_foundation.runs.recovery import Recovered, recover
from llm_foundation.tools import DataClass, Effect, tool
from tests.practice import Desk, calls, text
from tests.runs.meeting import PATIENCE
from tests.runs.passing_time import go_on_until_it_rests
from tests.runs.soundness import assert_sound
from tests.runs.spoken import Listening, spoken
from tests.runs.test_retries import DOWN
from tests.runs.test_streaming_async import adesk
from tests.tasks.workers import DUMMY, FRAMEWORK, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

task_enqueued = import_module(f"{FRAMEWORK.rpartition('.')[0]}.signals").task_enqueued
in_thread = sync_to_async
WRITES = [Effect.IDEMPOTENT_WRITE, Effect.NON_IDEMPOTENT_WRITE]


class Slow:
    """A tool, async or not, that is at work from ``begun`` on until ``let_go()``."""

    def __init__(self, effect: Effect, *, is_async: bool) -> None:
        self.attempts = self.ended = 0
        self.begun = asyncio.Event()
        self._over, self._over_in_thread = asyncio.Event(), Event()
        loop = asyncio.get_running_loop()
        self._begin: Callable[[], Any] = lambda: loop.call_soon_threadsafe(self.begun.set)
        declare = tool(effect=effect, data_class=DataClass.PUBLIC, approval=False)
        self.tool = declare(self._async_tool() if is_async else self._sync_tool())

    def let_go(self) -> None:
        self._over.set()
        self._over_in_thread.set()

    def _async_tool(self) -> Callable[..., Any]:
        async def slow() -> str:
            self.attempts += 1
            self.begun.set()
            await self._over.wait()
            self.ended += 1
            return "done"

        return slow

    def _sync_tool(self) -> Callable[..., Any]:
        def slow() -> str:
            self.attempts += 1
            Group.objects.create(name="effect")
            self._begin()
            assert self._over_in_thread.wait(PATIENCE)
            self.ended += 1
            return "done"

        return slow


def starting(here: Desk) -> asyncio.Task[Run]:
    return asyncio.create_task(llm.arun("support", "Do it", user=here.clerk))


async def gone(execution: asyncio.Task[Run]) -> Run:
    """Cancelled, and at its end; the run as it is then."""
    execution.cancel()
    with pytest.raises(asyncio.CancelledError):
        await execution
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return await Run.objects.aget()


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """The messages to workers: the id of a run each."""
    runs: list[str] = []

    def note(task_result: Any, **_: Any) -> None:
        runs.extend(task_result.args)

    task_enqueued.connect(note)
    yield runs
    task_enqueued.disconnect(note)


@asynccontextmanager
async def at_work(effect: Effect, *, is_async: bool = True) -> AsyncIterator[tuple[Slow, asyncio.Task[Run]]]:
    """A run whose tool is at work."""
    with handing_to(DUMMY):
        async with adesk() as here:
            slow = Slow(effect, is_async=is_async)
            await in_thread(here.grant)(slow.tool)
            here.model.always_says(calls("slow"), text("Done."))
            execution = starting(here)
            await asyncio.wait_for(slow.begun.wait(), PATIENCE)
            yield slow, execution


# --- Why a task is cancelled ------------------------------------------------------------------------------------------
async def ask(request: HttpRequest) -> HttpResponse:
    return HttpResponse((await llm.arun("support", "Hello")).status)


urlpatterns = [path("ask/", ask)]
SCOPE = {"type": "http", "method": "GET", "path": "/ask/", "query_string": b"", "headers": [(b"host", b"localhost")]}
Client: Any = ApplicationCommunicator  # which is not typed


async def test_a_client_that_hangs_up_leaves_the_run_to_a_worker(settings: Any, sent: list[str]) -> None:
    settings.ROOT_URLCONF = __name__
    listening = Listening()
    with handing_to(DUMMY):
        async with adesk() as here:
            here.model.says(spoken("It is ", listening))
            client = Client(get_asgi_application(), SCOPE)
            await client.send_input({"type": "http.request"})
            await asked(here)
            await client.send_input({"type": "http.disconnect"})
            await client.wait()
            await in_thread(listening.wait_until_gone)()
    run = await Run.objects.aget()
    assert (run.status, sent) == ("queued", [str(run.pk)])


# --- A model is being asked -------------------------------------------------------------------------------------------
async def test_a_run_whose_model_is_being_asked_is_queued_and_a_worker_goes_on(sent: list[str]) -> None:
    listening = Listening()
    with handing_to(DUMMY):
        async with adesk() as here:
            here.model.says(spoken("It is ", listening))
            execution = starting(here)
            await asked(here)
            run = await gone(execution)
            assert (run.status, run.lease_owner, run.failures, run.lost_leases) == ("queued", "", 0, 0)
            assert sent == [str(run.pk)]
            await in_thread(listening.wait_until_gone)()

            here.model.says(text("It is on its way."))
            run = await in_thread(go_on_until_it_rests)(run)

    assert (run.status, await in_thread(lambda: run.answer)(), run.attempts) == ("completed", "It is on its way.", 2)
    await in_thread(assert_sound)(run)


async def asked(here: Desk) -> None:
    """The model has heard the question; the one thread for sync code must be free for the run until then."""
    async with asyncio.timeout(PATIENCE):
        while not here.model.asked:  # noqa: ASYNC110  # by a thread of its own
            await asyncio.sleep(0.001)


async def test_the_timeline_says_that_the_run_was_given_back() -> None:
    async with at_work(Effect.READ_ONLY) as (_, execution):
        run = await gone(execution)
    told = await run.events.aget(kind="run.requeued")
    assert told.payload["reason"] == "interrupted"


# --- A call is at work ------------------------------------------------------------------------------------------------
async def test_a_call_that_only_reads_is_stopped_and_made_again() -> None:
    async with at_work(Effect.READ_ONLY) as (slow, execution):
        run = await gone(execution)
        assert (run.status, (await run.calls.aget()).state, slow.ended) == ("queued", "ready", 0)
        slow.let_go()
        run = await in_thread(go_on_until_it_rests)(run)

    assert (run.status, slow.attempts, slow.ended) == ("completed", 2, 1)
    await in_thread(assert_sound)(run)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("effect", WRITES)
async def test_a_call_that_writes_comes_to_its_end_and_its_result_is_stored(effect: Effect, is_async: bool) -> None:
    async with at_work(effect, is_async=is_async) as (slow, execution):
        for _ in range(3):  # some cancel until it helps
            execution.cancel()
            await asyncio.sleep(0)
        slow.let_go()
        run = await gone(execution)
        assert (run.status, (await run.calls.aget()).state) == ("queued", "succeeded")
        run = await in_thread(go_on_until_it_rests)(run)

    assert (run.status, slow.attempts, slow.ended) == ("completed", 1, 1)
    await in_thread(assert_sound)(run)


async def test_a_transactional_call_comes_to_its_end_and_takes_effect_once() -> None:
    async with at_work(Effect.TRANSACTIONAL_WRITE, is_async=False) as (slow, execution):
        execution.cancel()
        await asyncio.sleep(0)
        slow.let_go()
        run = await gone(execution)
        assert (run.status, (await run.calls.aget()).state) == ("queued", "succeeded")
        run = await in_thread(go_on_until_it_rests)(run)

    assert (run.status, slow.attempts, await Group.objects.filter(name="effect").acount()) == ("completed", 1, 1)
    await in_thread(assert_sound)(run)


@pytest.mark.parametrize(
    ("effect", "state"),
    [(Effect.READ_ONLY, "ready"), (Effect.IDEMPOTENT_WRITE, "ready"), (Effect.NON_IDEMPOTENT_WRITE, "in_doubt")],
)
async def test_a_call_that_is_cancelled_from_within_is_judged_as_after_a_crash(effect: Effect, state: str) -> None:
    with handing_to(DUMMY):
        async with adesk() as here:

            @tool(effect=effect, data_class=DataClass.PUBLIC, approval=False)
            async def hasty() -> None:
                raise asyncio.CancelledError

            await in_thread(here.grant)(hasty)
            here.model.always_says(calls("hasty"), text("Done."))
            with pytest.raises(asyncio.CancelledError):
                await starting(here)

    assert (await Run.objects.aget()).status == "queued"
    assert (await RunToolCall.objects.aget()).state == state


# --- Something else is going on ---------------------------------------------------------------------------------------
async def test_a_run_that_waits_for_its_provider_is_left_to_a_worker(sent: list[str]) -> None:
    with handing_to(DUMMY, RETRY_DELAY=30):
        async with adesk() as here:
            here.model.says(DOWN)
            execution = starting(here)
            async with asyncio.timeout(PATIENCE):
                while not await Run.objects.filter(status="queued").aexists():  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            run = await gone(execution)
            assert sent == [str(run.pk)]
            due = await Run.objects.filter(not_before__gt=clock.after(20)).aexists()
    assert (run.status, run.failures, due) == ("queued", 1, True)


async def test_a_run_that_somebody_cancels_meanwhile_ends(sent: list[str]) -> None:
    async with at_work(Effect.READ_ONLY) as (_, execution):
        await llm.acancel(await Run.objects.aget(), by=await User.objects.aget(username="clerk"))
        run = await gone(execution)
    assert (run.status, run.termination_reason, sent) == ("cancelled", "cancelled", [])
    await in_thread(assert_sound)(run)


async def test_a_run_that_somebody_else_has_taken_over_stays_theirs() -> None:
    async with at_work(Effect.READ_ONLY) as (_, execution):
        await Run.objects.aupdate(lease_token=7, lease_owner="another")
        run = await gone(execution)
    assert (run.status, run.lease_owner, run.lease_token) == ("running", "another", 7)


async def test_a_backend_that_executes_at_once_does_not_keep_who_goes_away() -> None:
    listening = Listening()
    with handing_to(IMMEDIATE):
        async with adesk() as here:
            here.model.says(spoken("It is ", listening), text("It is on its way."))
            execution = starting(here)
            await asked(here)
            run = await gone(execution)
            assert (run.status, len(here.model.asked)) == ("queued", 1)
            assert await in_thread(recover)() == Recovered(handed_out=1)
            assert (await Run.objects.aget()).status == "completed"
