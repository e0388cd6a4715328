"""Signals about calls, sent once what they say is committed. Nothing is done where nobody listens."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.db import transaction

from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, Run, RunEvent, RunToolCall
from llm_foundation.runs import mutex
from llm_foundation.runs.events import EventKind
from llm_foundation.signals import call_decided, calls_expired, calls_in_doubt, calls_pending

if TYPE_CHECKING:
    from django.db.models import QuerySet

_SIGNALS: Final = {
    CallState.PENDING: calls_pending,
    CallState.IN_DOUBT: calls_in_doubt,
    CallState.EXPIRED: calls_expired,
}
_ARRIVALS: Final = {
    CallState.PENDING: (EventKind.PENDING,),
    CallState.IN_DOUBT: (EventKind.SETTLED, EventKind.TAKEN_BACK, EventKind.DECIDED, EventKind.EXPIRED),
}
"""The entries of the timeline with which a call comes to wait like that."""


def waiting(run: Run) -> None:
    """For a run that waits, as its timeline says last; under the mutex.

    What has changed since it waited before is announced, whoever changed it: a call that goes on waiting is announced
    once, and one whose segment died before it could let go of the run is announced by the next.
    """
    heard = [state for state in _ARRIVALS if _SIGNALS[state].has_listeners(Run)]
    if not heard:
        return
    entries = _since_it_waited(run)
    for state in heard:
        arrived = entries.filter(kind__in=_ARRIVALS[state]).values_list("tool_call_id", flat=True)
        _announce(run, state, arrived)


def expired(run: Run, calls: Iterable[RunToolCall]) -> None:
    """For calls that nobody has decided in time; in the transaction that says so."""
    if calls_expired.has_listeners(Run):
        _announce(run, CallState.EXPIRED, [call.pk for call in calls])


def decided(decision: Decision) -> None:
    """For what a person has said; in the transaction that records it."""

    def send() -> None:
        stored = Decision.objects.select_related("decider").get(pk=decision.pk)
        call = RunToolCall.objects.get(pk=stored.call_id)
        call.run = mutex.read(call.run_id)
        call_decided.send_robust(sender=Run, run=call.run, call=call, decision=stored)

    if call_decided.has_listeners(Run):
        transaction.on_commit(send, robust=True)


def _since_it_waited(run: Run) -> "QuerySet[RunEvent]":
    """What the timeline says since then. Its last entry is the one that says that the run waits now."""
    times = RunEvent.objects.filter(run=run, kind=EventKind.WAITING).order_by("-sequence")
    before = next(iter(times.values_list("sequence", flat=True)[1:2]), 0)
    return RunEvent.objects.filter(run=run, sequence__gt=before)


def _announce(run: Run, state: CallState, call_ids: Iterable[UUID | None]) -> None:
    """Calls that are somewhere else by the end of the transaction are left out."""
    signal, known = _SIGNALS[state], [call_id for call_id in call_ids if call_id]

    def send() -> None:
        waiting_run = mutex.read(run.pk)
        calls = list(RunToolCall.objects.filter(pk__in=known, state=state).order_by("turn", "index"))
        for call in calls:
            call.run = waiting_run
        if calls:
            signal.send_robust(sender=Run, run=waiting_run, calls=calls)

    if known:
        transaction.on_commit(send, robust=True)
