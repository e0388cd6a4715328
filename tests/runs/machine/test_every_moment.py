"""One run, harmed at each of its moments in turn: whatever happens there, it ends as if nothing had happened.

``LLM_TEST_MACHINE_EXAMPLES``, to whatever number, lets a longer run be harmed as well.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from llm_foundation.models import Run, RunEvent
from llm_foundation.runs.runtime import Mode
from tests.runs.machine import jobs, shop
from tests.runs.machine.course import let_go, walk
from tests.runs.machine.hosts import Host
from tests.runs.machine.orders import End, Order
from tests.runs.machine.witness import Witness
from tests.runs.machine.world import AGES, Planned, World

pytestmark = pytest.mark.long

Script = Sequence[Sequence[Planned]]

SHORT: Script = [[Planned("look"), Planned("book"), Planned("send_on_approval")]]
LONG: Script = [
    [Planned("look", "speaks"), Planned("book_on_approval"), Planned("send")],
    [Planned("charge_on_approval"), Planned("charge", "fails after"), Planned("fly")],
    [Planned("book", "error"), Planned("book")],
]
HARMS: list[tuple[End, Mode]] = [(End.HELD, "queue"), (End.DEAD, "wait"), (End.REFUSED, "queue"), (End.UNTOLD, "wait")]
SCRIPTS = {"short": SHORT, "long": LONG} if "LLM_TEST_MACHINE_EXAMPLES" in os.environ else {"short": SHORT}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize(("end", "mode"), HARMS, ids=[end.name.lower() for end, _ in HARMS])
def test_harm_at_any_moment_changes_nothing(hosts: list[Host], end: End, mode: Mode, script: Script) -> None:
    moment = 0
    overdue: int | None = 0
    while overdue is not None:
        moment += overdue
        with explaining(hosts, moment):
            overdue = harm(hosts, script, Order(moment, end), mode)
    assert moment > 50


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_two_that_hold_the_same_run_change_nothing(hosts: list[Host], script: Script) -> None:
    moment = 0
    overdue: int | None = 0
    while overdue is not None:
        moment += overdue
        with explaining(hosts, moment):
            overdue = overtake(hosts, script, Order(moment), Order(moment * 7 % 40))
    assert moment > 50


def overtake(hosts: list[Host], script: Script, order: Order, later: Order) -> int | None:
    """One is held; another takes the run over, and is held as well; the first wakes up, then the other."""
    first, second, third, _ = hosts
    world, witness = begin(hosts, script)
    walk(first, world, order, witness.look)
    knock(first, second)
    walk(second, world, later, witness.look)
    for late in (first, second):
        let_go([late])
        witness.look()
    walk(third, world, Order(), witness.look)
    look_back(hosts, witness)
    return order.overdue


def harm(hosts: list[Host], script: Script, order: Order, mode: Mode) -> int | None:
    """Gives how many moments went by until the order could be obeyed; ``None`` where the run ended before."""
    first, second, *_ = hosts
    world, witness = begin(hosts, script)
    walk(first, world, order, witness.look, mode=mode)
    knock(first, second)
    walk(second, world, Order(), witness.look)
    let_go(hosts)
    look_back(hosts, witness)
    return order.overdue


def knock(first: Host, second: Host) -> None:
    """A transactional tool at work keeps its run, whatever the lease says, and nobody waits for it."""
    if first.has_locks:
        second.world.let_pass(AGES)
        second.begin(jobs.sweep, Order())
        assert second.error is None
        assert Run.objects.get().status == "running"
        let_go([first])


def begin(hosts: list[Host], script: Script) -> tuple[World, Witness]:
    world = World(script)
    for host in hosts:
        host.enter(world)
    shop.clear()
    return world, Witness(world)


def look_back(hosts: list[Host], witness: Witness) -> None:
    witness.look_back(hosts)
    assert Run.objects.get().status == "completed"


@contextmanager
def explaining(hosts: list[Host], moment: int) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        timeline = RunEvent.objects.order_by("sequence").values_list("sequence", "kind", "payload")
        error.add_note(f"Harmed at moment {moment}: {[host.story for host in hosts]}")
        error.add_note("\n".join(map(str, timeline)))
        raise
