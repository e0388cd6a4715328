"""Calls that nobody decided in time: they are not executed, the model is told, and the run goes on or is cancelled.

A decision counts until the moment that the database wrote down when the call began to wait, whether or not a sweep has
come by since. What was released in time may begin later.
"""

import logging
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from llm_foundation.loop.states import CallState
from llm_foundation.models import OnExpiry, Run, RunToolCall
from llm_foundation.runs import announcements, clock, mutex
from llm_foundation.runs.approval_terms import waiting_terms
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.releases import release, stop
from llm_foundation.runs.repeating import repeated_on_conflict

if TYPE_CHECKING:
    from django.db.models import QuerySet

logger = logging.getLogger("llm_foundation.runs")

_TOLD: Final = "Error: nobody decided about this call in time; it was not executed."


def is_overdue(row: RunToolCall) -> bool:
    """Whether the call waits no more, by the database's clock: hosts would not agree on it."""
    return row.expires_at is not None and overdue().filter(pk=row.pk).exists()


def overdue() -> "QuerySet[RunToolCall]":
    """Calls that are still pending, and too late to be decided."""
    return RunToolCall.objects.pending().filter(expires_at__lte=clock.now())


def expire(*, at_most: int) -> int:
    """Sweep once through so many runs, those first whose calls are overdue for longest. Gives the number of calls."""
    late = overdue().order_by("expires_at").values_list("run", flat=True)[:at_most]
    return sum(_expire_calls_of(run_id) for run_id in dict.fromkeys(late))


def _expire_calls_of(run_id: UUID) -> int:
    try:
        return _expire_run(run_id)
    except Exception:
        logger.exception("Calls of run %s could not expire; the next sweep tries again", run_id)
        return 0


@repeated_on_conflict
def _expire_run(run_id: UUID) -> int:
    with transaction.atomic(durable=True):
        return _expire_locked(mutex.lock(run_id))


def _expire_locked(run: Run) -> int:
    """Whoever decided before the lock was taken was faster, and so was another sweep."""
    rows = list(overdue().filter(run=run).order_by("turn", "index"))
    if not rows:
        return 0
    changes = Changes()
    for row in rows:
        _let_expire(changes, row)
    announcements.expired(run, [row for row in rows if row.state == CallState.EXPIRED])
    if waiting_terms(run).on_expiry is OnExpiry.CANCEL:
        stop(run, changes, reason="expired")
    else:
        release(run, changes)
    return len(rows)


def _let_expire(changes: Changes, row: RunToolCall) -> None:
    """A call of which an earlier attempt may have taken effect is for somebody to find out about, as with a denial."""
    if row.may_have_happened:
        changes.move(row, CallState.IN_DOUBT)
    else:
        sealed = RunToolCall.result.seal(row, _TOLD)
        changes.move(row, CallState.EXPIRED, result_sealed=sealed, finished_at=timezone.now())
    changes.events.append(event(EventKind.EXPIRED, call=row.pk, tool=row.tool_name, state=row.state))
