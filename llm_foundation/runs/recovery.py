"""What nobody else will do: take over runs whose lease has run out, let calls expire that nobody has decided, and
hand out again what was lost on the way.

``manage.py llm_recover`` calls ``recover()`` now and then, from as many hosts as you like: each run is taken over once.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django import db
from django.db import connection, transaction
from django.db.models import F, Q

from llm_foundation.exceptions import RunLost
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs import clock, mutex, tasks
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.endings import end
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.expiry import expire
from llm_foundation.runs.interrupted import take_back

logger = logging.getLogger("llm_foundation.runs")

LOST_AFTER: Final = 60.0
"""Seconds after which a message that no worker has acted on is sent again. A doubled one does no harm.

Twice as many after each of them, up to an hour: it may be the workers that are behind, and not a message that is lost.
"""
_WAITS: Final = tuple(min(LOST_AFTER * 2**resent, 3_600.0) for resent in range(7))
MAX_LOST_LEASES: Final = 10
"""How many segments in a row may vanish before their run is given up: it may be what stops them."""

MOST_AT_ONCE: Final = 1_000
"""Runs of one kind in one sweep."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What one sweep did.

    ``taken_over`` counts runs whose lease had run out, ``handed_out`` messages sent again, ``expired`` calls that
    nobody had decided in time.
    """

    taken_over: int = 0
    handed_out: int = 0
    expired: int = 0


def recover() -> Recovered:
    """Sweep once. What is wrong with one run is logged, and keeps no other from its recovery."""
    expired = expire(at_most=MOST_AT_ONCE)
    taken_over = sum(map(_take_over, _ids(_expired())))
    handed_out = sum(map(_hand_out, _ids(_forgotten())))
    return Recovered(taken_over=taken_over, handed_out=handed_out, expired=expired)


def _expired() -> "db.models.QuerySet[Run]":
    return Run.objects.filter(status=RunStatus.RUNNING, lease_expires_at__lt=clock.now())


def _forgotten() -> "db.models.QuerySet[Run]":
    """Queued and due, but no worker was told of it, or none has acted on it for long."""
    due = Q(not_before=None) | Q(not_before__lte=clock.now())
    untold = Q(enqueued_at=None) | Q(enqueued_at__lt=clock.after(-_WAITS[-1]))
    for resent, seconds in enumerate(_WAITS):
        untold |= Q(resent=resent, enqueued_at__lt=clock.after(-seconds))
    return Run.objects.filter(due, untold, status=RunStatus.QUEUED)


def _ids(runs: "db.models.QuerySet[Run]") -> Iterable[UUID]:
    return list(runs.order_by("created_at").values_list("pk", flat=True)[:MOST_AT_ONCE])


def _take_over(run_id: UUID) -> bool:
    try:
        with transaction.atomic(durable=True):
            return _take_over_locked(run_id)
    except RunLost:  # a transactional call has ended in this moment; the next sweep sees how
        return False
    except Exception:
        logger.exception("Run %s could not be taken over; the next sweep tries again", run_id)
        return False


def _take_over_locked(run_id: UUID) -> bool:
    if not _expired().filter(pk=run_id).update(revision=F("revision") + 1, lost_leases=F("lost_leases") + 1):
        return False
    run = mutex.read(run_id)
    rows = _executing(run)
    if rows is None:
        transaction.set_rollback(True)
        return False
    if run.cancel_requested_at is not None:
        end(run, status=RunStatus.CANCELLED, reason="cancelled")
    elif run.lost_leases > MAX_LOST_LEASES:
        end(run, status=RunStatus.FAILED, reason="abandoned", error="Every process that executed this run was lost.")
    else:
        _queue(run, rows)
    return True


def _executing(run: Run) -> list[RunToolCall] | None:
    """``None`` where a transaction is still at work on one of them: its call is executing, whatever the lease says."""
    executing = RunToolCall.objects.filter(run=run, state=CallState.EXECUTING)
    if not connection.features.has_select_for_update_skip_locked:
        return list(executing)
    free = list(executing.select_for_update(skip_locked=True))
    return free if len(free) == executing.count() else None


def _queue(run: Run, rows: Iterable[RunToolCall]) -> None:
    changes = Changes(forgets_deltas=True)
    changes.events.append(event(EventKind.RECOVERED, attempt=run.attempts))
    take_back(changes, rows)
    mutex.write(run, changes, status=RunStatus.QUEUED, not_before=None, enqueued_at=clock.now(), **mutex.LET_GO)
    tasks.hand_out(run.pk)


def _hand_out(run_id: UUID) -> bool:
    """One sweep of many marks the run; that one sends the message. One that could not be sent does not count."""
    try:
        if not _forgotten().filter(pk=run_id).update(enqueued_at=clock.now(), resent=F("resent") + 1):
            return False
        if tasks.enqueue(run_id):
            return True
        Run.objects.filter(pk=run_id, resent__gt=0).update(resent=F("resent") - 1)
    except db.Error:
        logger.exception("Run %s could not be handed out; the next sweep tries again", run_id)
    return False
