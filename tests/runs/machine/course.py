"""Bringing a run to its end by honest means: workers, sweeps, time, and people who say what they see."""

from collections.abc import Callable, Sequence
from typing import Final

from llm_foundation.exceptions import TooEarly
from llm_foundation.loop.states import CallState
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs.runtime import Mode
from tests.runs.machine import jobs
from tests.runs.machine.hosts import Host, Job
from tests.runs.machine.orders import Order
from tests.runs.machine.stored import WAITING_CALLS, only_run
from tests.runs.machine.world import AGES, World

MOST_JOBS: Final = 80


def walk(
    host: Host, world: World, order: Order, look: Callable[[], None], *, mode: Mode = "queue", approving: bool = True
) -> None:
    """Let the host do whatever is next, until the run has ended or the order is over. ``look`` is called in between."""
    for _ in range(MOST_JOBS):
        run = only_run()
        if run is not None and run.is_finished:
            return
        host.begin(next_job(world, run, mode=mode, approving=approving), order)
        look()
        if order.is_spent:
            return
        if host.error is not None and not isinstance(host.error, TooEarly):  # a clock that was set back delays people
            raise host.error
    raise AssertionError(f"the run does not end: {run and run.status}")


def next_job(world: World, run: Run | None, *, mode: Mode = "queue", approving: bool = True) -> Job:
    if run is None:
        return jobs.start(mode=mode)
    if world.mail:
        return jobs.resume(world.mail.pop(0))
    if waiting := WAITING_CALLS.fetch():
        return _said(world, waiting[0], approving)
    world.let_pass(AGES)
    return jobs.sweep


def _said(world: World, call: RunToolCall, approving: bool) -> Job:
    if call.state == CallState.PENDING:
        is_shown = not (call.preview and call.preview["failed"])  # what nobody can see, nobody can approve
        return (jobs.approve if approving and is_shown else jobs.deny)(call.pk, call.digest)
    world.let_pass(AGES)  # before that, nobody can know
    return jobs.resolve(call.pk, what_happened(world, call))


def what_happened(world: World, call: RunToolCall) -> str:
    return "happened" if world.sent[call.call_id] else "did_not_happen"


def let_go(hosts: Sequence[Host], *, with_locks: bool = False) -> None:
    """Those that are held wake up, and go on as if nothing had happened. ``with_locks``: only they."""
    for host in hosts:
        if not host.is_free and (host.has_locks or not with_locks):
            host.go_on(Order())
