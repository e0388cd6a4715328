"""The tool loop: in memory, or stored, so that it can wait for people and outlive its process."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from llm_foundation.chat.options import ChatOptions
from llm_foundation.models import Run
from llm_foundation.runs.drivers import adrive, drive
from llm_foundation.runs.follow import afollow as afollow_run
from llm_foundation.runs.follow import follow as follow_run
from llm_foundation.runs.in_memory import LoopResult, memory_run_steps
from llm_foundation.runs.runtime import Mode, run_steps
from llm_foundation.runs.starting import start_of
from llm_foundation.runs.updates import RunUpdate

if TYPE_CHECKING:
    from uuid import UUID

    from llm_foundation.policy.facts import User
    from llm_foundation.tools import Tool


def run_in_memory(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
    options: ChatOptions | None = None,
) -> LoopResult:
    """Let the model call tools until it answers, and keep nothing.

    ``tools`` of ``None`` offers all that the configuration grants, a list that subset. A call that a person must
    decide raises ``ToolApprovalRequired``; with ``unattended`` only tools that never pause are offered.
    """
    return drive(
        memory_run_steps(configuration, messages, user=user, tools=tools, unattended=unattended, options=options)
    )


async def arun_in_memory(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
    options: ChatOptions | None = None,
) -> LoopResult:
    """``run_in_memory`` for async code; a turn's free calls run side by side, transactional ones never."""
    return await adrive(
        memory_run_steps(configuration, messages, user=user, tools=tools, unattended=unattended, options=options)
    )


def run(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
    mode: Mode = "wait",
    continues: "Run | UUID | str | None" = None,
    idempotency_key: str | None = None,
) -> Run:
    """Start a stored run; look at ``run.status`` for how far it has come.

    ``user`` owns the run: its tools act with this user's rights. ``mode="wait"`` executes it until it ends or waits
    for a person, and raises ``RunInsideTransaction`` inside ``transaction.atomic``; ``"queue"`` hands it to a worker
    once the surrounding transaction is committed. ``continues`` is a run that has ended, of the same user: the new one
    begins with its conversation. The same ``idempotency_key`` of the same user starts one run, however often.

    What goes wrong after the start is on the run (``status`` "failed", ``termination_reason``, ``error``), with its
    transcript.
    """
    start = start_of(
        configuration,
        messages,
        user=user,
        tools=tools,
        unattended=unattended,
        continues=continues,
        idempotency_key=idempotency_key,
    )
    return drive(run_steps(start, mode=mode))


async def arun(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
    mode: Mode = "wait",
    continues: "Run | UUID | str | None" = None,
    idempotency_key: str | None = None,
) -> Run:
    """``run`` for async code; a turn's free calls run side by side, transactional ones never.

    Where the task that awaits it is cancelled, a writing call comes to its end, and a worker goes on with the run.
    """
    start = await sync_to_async(start_of)(
        configuration,
        messages,
        user=user,
        tools=tools,
        unattended=unattended,
        continues=continues,
        idempotency_key=idempotency_key,
    )
    return await adrive(run_steps(start, mode=mode))


def follow(run: "Run | UUID | str", *, after: int = 0, stop_when_paused: bool = False) -> Iterator[RunUpdate]:
    """Follow a run from any process: its events as they come, until it ends.

    ``after`` is the ``sequence`` of the last update that is known already. ``stop_when_paused`` ends it also while the
    run waits for a person. Raises ``Run.DoesNotExist`` at once.
    """
    return follow_run(run, after=after, stop_when_paused=stop_when_paused)


async def afollow(
    run: "Run | UUID | str", *, after: int = 0, stop_when_paused: bool = False
) -> AsyncGenerator[RunUpdate, None]:
    """``follow`` for async code: ``async for update in llm.afollow(run)``."""
    async with aclosing(afollow_run(run, after=after, stop_when_paused=stop_when_paused)) as updates:
        async for update in updates:
            yield update
