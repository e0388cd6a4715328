"""Results that come after their segment lost the run: the attempt that is in doubt may still speak for itself."""

import logging
from collections.abc import Sequence

from django import db
from django.db import transaction

from llm_foundation.loop.states import CallState
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs import call_rows, mutex, releases
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.operations import ToolOutcome
from llm_foundation.runs.repeating import repeated_on_conflict

logger = logging.getLogger("llm_foundation.runs")


def settle(run: Run, outcomes: Sequence[tuple[RunToolCall, ToolOutcome]]) -> None:
    """Settle each call that is in doubt because of the very attempt that ended so. Anything else stays as it is."""
    for row, outcome in outcomes:
        if outcome.state is CallState.IN_DOUBT:
            continue
        try:
            _settle(run, row, outcome)
        except db.Error:
            logger.exception("The late result of call %s could not be stored", row.pk)


@repeated_on_conflict
def _settle(run: Run, row: RunToolCall, outcome: ToolOutcome) -> None:
    with transaction.atomic(durable=True):
        locked = mutex.lock(run.pk)
        mine = RunToolCall.objects.filter(
            pk=row.pk, state=CallState.IN_DOUBT, attempt=row.attempt, attempt_token=row.attempt_token
        )
        if mine.update(state=outcome.state, **call_rows.settlement(row, outcome)):
            releases.release(locked, Changes(events=[call_rows.settled_event(row, outcome)]))
