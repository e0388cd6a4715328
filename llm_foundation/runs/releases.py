"""Letting a waiting run go on: what deciders, resolvers and late results do once they have moved a call."""

from typing import Final

from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Run, RunToolCall
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
        if not _is_in_doubt(run):
            end(run, status=RunStatus.CANCELLED, reason="cancelled")
    else:
        mutex.write(run, changes, status=RunStatus.QUEUED, not_before=None, enqueued_at=clock.now())
        tasks.hand_out(run.pk)


def _is_in_doubt(run: Run) -> bool:
    return RunToolCall.objects.filter(run=run, state=CallState.IN_DOUBT).exists()
