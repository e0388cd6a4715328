"""Following a run from anywhere: its events as they come, read from the database. Nobody tells a follower; it looks."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import sleep
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakSet

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, Error, connections

from llm_foundation.models import Run
from llm_foundation.runs.lookup import find_run
from llm_foundation.runs.reader import Reader, is_end
from llm_foundation.runs.updates import RunUpdate

P = ParamSpec("P")
T = TypeVar("T")

_followers: Final[WeakSet[Reader]] = WeakSet()
"""The async ones. Only their thread looks at them."""


def follow(run: Run | UUID | str, *, after: int = 0, stop_when_paused: bool = False) -> Iterator[RunUpdate]:
    """Give the events of a run that come after ``after``, the sequence of the last one known, and each further one.

    Ends when the run has ended or was deleted, and all of it is told; with ``stop_when_paused`` also while it waits for
    a person. Raises ``Run.DoesNotExist`` at once, ``RunInsideTransaction`` where it would have to wait inside a
    transaction, and what the database raises when it is away for a minute.
    """
    return _updates(_reader(run, after, stop_when_paused))


async def afollow(
    run: Run | UUID | str, *, after: int = 0, stop_when_paused: bool = False
) -> AsyncGenerator[RunUpdate, None]:
    """``follow`` for async code: ``async for update in afollow(run)``. All is raised at the first event."""
    reader, read = await _join(run, after, stop_when_paused)
    try:
        while (page := await read()) is not None:
            for update in page:
                yield update
            if is_end(page):
                return
            if not page:
                await asyncio.sleep(reader.pause())
    finally:
        await _in_thread(_leave)(reader)


def _updates(reader: Reader) -> Iterator[RunUpdate]:
    while (page := reader.read()) is not None:
        yield from page
        if is_end(page):
            return
        if not page:
            sleep(reader.pause())


def _reader(run: Run | UUID | str, after: int, stop_when_paused: bool) -> Reader:
    return Reader(find_run(run).pk, after=after, stop_when_paused=stop_when_paused)


def _in_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Run it in the one thread that all async followers of this process share, and with it one connection.

    Django's thread for sync code would not do: it may be busy with the very run that is followed, and under ASGI each
    request has one, so that each follower would have a connection of its own for as long as it follows.
    """
    return sync_to_async(function, thread_sensitive=False, executor=_executor(os.getpid()))


@cache
def _executor(process: int) -> ThreadPoolExecutor:
    """A forked process needs its own: threads do not come along."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="llm-follow")


async def _join(
    run: Run | UUID | str, after: int, stop_when_paused: bool
) -> tuple[Reader, Callable[[], Coroutine[Any, Any, list[RunUpdate] | None]]]:
    try:
        reader = await _in_thread(_enter)(run, after, stop_when_paused)
    except (Run.DoesNotExist, Error) as error:
        # What a test case has made is in its own transaction, which only Django's thread for sync code can see.
        found = await sync_to_async(_inside_transaction)(run, after, stop_when_paused)
        if found is None:
            raise error
        return found, sync_to_async(found.read)
    return reader, _in_thread(reader.read)


def _enter(run: Run | UUID | str, after: int, stop_when_paused: bool) -> Reader:
    try:
        reader = _reader(run, after, stop_when_paused)
        _followers.add(reader)
        return reader
    finally:
        _close_after_the_last()


def _leave(reader: Reader) -> None:
    _followers.discard(reader)
    _close_after_the_last()


def _close_after_the_last() -> None:
    """No connection is held where nobody follows."""
    if not _followers:
        connections[DEFAULT_DB_ALIAS].close()


def _inside_transaction(run: Run | UUID | str, after: int, stop_when_paused: bool) -> Reader | None:
    if not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return None
    return _reader(run, after, stop_when_paused)
