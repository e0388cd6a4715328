"""Letting a waiting run go on: what deciders, resolvers and late results do once they have moved a call."""

from typing import Final

from django.utils import timezone

from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Run
from llm_foundation.runs import clock, mutex, tasks
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.endings import end

WAITING: Final = (RunStatus.WAITING_FOR_APPROVAL, RunStatus.WAITING_FOR_INPUT, RunStatus.IN_DOUBT)


def release(run: Run, changes: Changes) -> None:
    """Under the mutex: write what was decided, and queue the run if it waits.

    A segment that finds nothing to run suspends it again. Whoever runs it already sees the change by itself. Where a
    cancel waited for the last doubt to be resolved, it is carried out now.
    """
    if run.status not in WAITING:
        mutex.write(run, changes)
    elif run.cancel_requested_at is not None:
        mutex.write(run, changes)  # first: it may be what settles the last doubt
        if not run.is_doubtful:
            end(run, status=RunStatus.CANCELLED, reason="cancelled")
    else:
        mutex.write(run, changes, status=RunStatus.QUEUED, not_before=None, enqueued_at=clock.now())
        tasks.hand_out(run.pk)


def keep_waiting(run: Run, changes: Changes) -> None:
    """Under the mutex: write what was said of a call that goes on waiting.

    A run that waited for inputs only may wait for an approval now: a segment looks, and says so.
    """
    if run.status == RunStatus.WAITING_FOR_INPUT:
        release(run, changes)
    else:
        mutex.write(run, changes)


def stop(run: Run, changes: Changes, *, reason: str = "cancelled") -> None:
    """Under the mutex: write what was decided, and cancel the run.

    A segment that executes it hears of that between two steps; a doubt has to be resolved first, also one that the
    decision itself has brought.
    """
    mutex.write(run, changes, cancel_requested_at=run.cancel_requested_at or timezone.now())
    is_in_doubt = run.status == RunStatus.IN_DOUBT and run.is_doubtful
    if run.status != RunStatus.RUNNING and not is_in_doubt:
        end(run, status=RunStatus.CANCELLED, reason=reason)
