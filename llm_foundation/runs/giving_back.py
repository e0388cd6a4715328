"""A run goes to a worker because whoever executes it goes away, and can still say so: nobody waits for its lease."""

import logging

from llm_foundation.exceptions import RunLost
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.runs import store, tasks
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.held import HeldRun
from llm_foundation.runs.interrupted import take_back

logger = logging.getLogger("llm_foundation.runs")


def give_back(held: HeldRun) -> None:
    """Store what is known, and queue the run; nothing is raised. Calls that execute are judged as after a crash.

    A backend that executes at once would keep who goes away until the run rests, so there the next sweep hands it out.
    """
    take_back(held.changes, [row for row in held.rows.values() if row.state == CallState.EXECUTING])
    held.changes.events.append(event(EventKind.REQUEUED, reason="interrupted", seconds=0, failures=held.run.failures))
    is_told = tasks.can_defer()
    try:
        store.requeue(held.run, held.take_changes(), delay=0, failures=held.run.failures, is_told=is_told)
    except RunLost as lost:
        logger.info("%s", lost)
    except Exception:
        logger.exception("Run %s could not be given back; its lease runs out instead", held.run.pk)
    else:
        if is_told and held.run.status == RunStatus.QUEUED:
            tasks.enqueue(held.run.pk)
