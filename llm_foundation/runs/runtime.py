"""Starting a run, and going on with one."""

import logging
import os
import platform
from datetime import timedelta
from typing import Final, Literal
from uuid import UUID

from django import db
from django.db import IntegrityError
from django.utils import timezone

from llm_foundation.conf import settings
from llm_foundation.exceptions import InvalidMessage, RunLost
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Run
from llm_foundation.runs import clock, mutex, store, tasks
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.drivers import Interrupted, Steps
from llm_foundation.runs.failures import what_failed
from llm_foundation.runs.held import HeldRun
from llm_foundation.runs.operations import Pause
from llm_foundation.runs.resuming import load
from llm_foundation.runs.segment import Segment
from llm_foundation.runs.starting import Start
from llm_foundation.runs.surroundings import refuse_inside_transaction

logger = logging.getLogger("llm_foundation.runs")

Mode = Literal["wait", "queue"]

LATER: Final = 1.0
"""Seconds between a run's being due and the message for it. Hosts' clocks differ; who comes too early finds nothing to
take, and the run would wait for a sweep."""


def run_steps(start: Start, *, mode: Mode) -> Steps[Run]:
    """Store a new run, and execute it until it ends or waits for a person, or hand it out.

    The same start again, by its idempotency key, gives the run that is there.
    """
    _check(mode)
    if known := start.earlier():
        return known
    run, plan, state, started = start.run()
    if mode == "queue":
        run.enqueued_at = clock.now()
    else:
        _hold(run, seconds=plan.seconds)
    try:
        store.insert(run, start.own_messages(run, state), [started], durable=mode == "wait")
    except IntegrityError:  # two starts with one key at once
        if known := start.earlier():
            return known
        raise
    if mode == "queue":
        tasks.hand_out(run.pk)
        return stored(run)
    segment = Segment(HeldRun(run, plan, state, covered=plan.seconds), is_awaited=True, is_judged=True)
    return (yield from _until_it_rests(segment))


def resume_steps(run_id: UUID) -> Steps[Run | None]:
    """Go on with a queued run; ``None`` where there is nothing to take: a lost or doubled message does no harm."""
    run = _claim(run_id)
    if run is None:
        return None
    segment = _segment(run, is_awaited=False)
    if segment is None:
        return run
    return (yield from _until_it_rests(segment))


def stored(run: Run) -> Run:
    """The run as it is now; others may have gone on with it."""
    return mutex.read(run.pk)


def _check(mode: Mode) -> None:
    if mode not in ("wait", "queue"):
        raise InvalidMessage("must be “wait” or “queue”", field="mode")
    if mode == "wait":
        refuse_inside_transaction('llm.run(mode="wait")', instead='or start it with mode="queue"')


def _hold(run: Run, *, seconds: float) -> None:
    """Start and claim are one transaction where the starter executes the run itself."""
    run.status, run.lease_owner, run.lease_token, run.attempts = RunStatus.RUNNING, process_name(), 1, 1
    run.lease_expires_at = store.lease(seconds)["lease_expires_at"]


def _claim(run_id: UUID) -> Run | None:
    return store.claim(run_id, owner=process_name(), seconds=settings.TOTAL_TIMEOUT)


def _until_it_rests(segment: Segment) -> Steps[Run]:
    """A run that is queued anew because its provider failed is taken up again by who waits for it, or by a worker."""
    run = yield from _steps(segment)
    while segment.retry is not None:
        if not segment.retry.is_awaited:
            _leave_for_later(run, segment.retry.seconds)
            return run
        yield from _wait(run, segment.retry.seconds)
        claimed = _claim(run.pk)
        if claimed is None:
            return stored(run)
        next_segment = _segment(claimed, is_awaited=True)
        if next_segment is None:
            return claimed
        segment = next_segment
        run = yield from _steps(segment)
    return run


def _wait(run: Run, seconds: float) -> Steps[None]:
    try:
        yield Pause(seconds)
    except Interrupted:
        _leave_for_later(run, seconds)
        raise


def _leave_for_later(run: Run, seconds: float) -> None:
    """Let a worker go on with a run that is due in so many seconds."""
    tasks.enqueue(run.pk, after=timezone.now() + timedelta(seconds=seconds + LATER))


def _steps(segment: Segment) -> Steps[Run]:
    try:
        return (yield from segment.steps())
    except RunLost as lost:
        logger.info("%s", lost)
        return stored(segment.run)


def _segment(run: Run, *, is_awaited: bool) -> Segment | None:
    """A run that cannot even be read ends with a reason, and keeps its data."""
    try:
        return Segment(load(run), is_awaited=is_awaited)
    except db.Error:
        raise
    except Exception as error:  # noqa: BLE001  # what is stored may be of another version, or damaged
        reason, words = what_failed(run, error)
        store.finish(run, Changes(), status=RunStatus.FAILED, reason=reason, error=words)
        return None


def process_name() -> str:
    return f"{platform.node()}:{os.getpid()}"[:64]
