"""Time that passes at once: the moments that a run waits for are moved into the past, on the database's own clock."""

from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs import clock
from llm_foundation.runs.drivers import drive
from llm_foundation.runs.recovery import LOST_AFTER
from llm_foundation.runs.runtime import resume_steps


def lease_runs_out(run: Run) -> None:
    Run.objects.filter(pk=run.pk, status="running").update(lease_expires_at=clock.after(-1))


def comes_due(run: Run) -> None:
    """The run has waited long enough after a failure."""
    Run.objects.filter(pk=run.pk, status="queued").update(not_before=clock.after(-1))


def message_is_lost(run: Run) -> None:
    """So long ago that a sweep believes in it no more."""
    message_was_sent(run, seconds_ago=LOST_AFTER + 1)


def message_was_sent(run: Run, *, seconds_ago: float) -> None:
    """The last one, whether or not a worker will ever see it."""
    Run.objects.filter(pk=run.pk).update(enqueued_at=clock.after(-seconds_ago))


def attempt_is_over(call: RunToolCall) -> None:
    """The latest moment at which the attempt could still be at work has gone by."""
    RunToolCall.objects.filter(pk=call.pk).update(deadline_at=clock.after(-1))


def nobody_decides_in_time(call: RunToolCall) -> None:
    """The moment until which the call waits has gone by. It must wait for one: a moment is not made up."""
    assert RunToolCall.objects.filter(pk=call.pk, expires_at__gt=clock.now()).update(expires_at=clock.after(-1))


def go_on(run: Run) -> Run:
    """Do what the worker does who takes the run, once; what it raises is raised here."""
    drive(resume_steps(run.pk))
    return Run.objects.get(pk=run.pk)


def go_on_until_it_rests(run: Run) -> Run:
    """Do what workers do, until the run ends or waits for a person."""
    run = Run.objects.get(pk=run.pk)
    while run.status == "queued":
        comes_due(run)
        run = go_on(run)
    return run
