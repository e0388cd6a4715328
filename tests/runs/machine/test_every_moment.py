"""One run, harmed at each of its moments in turn: whatever happens there, it ends as if nothing had happened.

On SQLite it dies between any two statements. The other databases are sent the same statements in the same order, so
every third death will do there; they differ in who waits for whom, so somebody is held at every moment of each.

``LLM_TEST_MACHINE_EXAMPLES``, to whatever number, lets a longer run be harmed as well, and leaves out no moment.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from llm_foundation.models import Run, RunEvent
from llm_foundation.runs.runtime import Mode
from tests.conftest import database_name
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
IS_LONG = "LLM_TEST_MACHINE_EXAMPLES" in os.environ
SCRIPTS = {"short": SHORT, "long": LONG} if IS_LONG else {"short": SHORT}
STRIDE = 1 if IS_LONG else 3
STRIDE_OF_DEATHS = 1 if database_name() == "SQLite" else STRIDE
STRIDES = {End.HELD: 1, End.DEAD: STRIDE_OF_DEATHS, End.REFUSED: STRIDE, End.UNTOLD: 1}  # refusals take the longest
HARMS: list[tuple[End, Mode]] = [(End.HELD, "queue"), (End.DEAD, "wait"), (End.REFUSED, "queue"), (End.UNTOLD, "wait")]


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize(("end", "mode"), HARMS, ids=[end.name.lower() for end, _ in HARMS])
def test_harm_at_any_moment_changes_nothing(hosts: list[Host], end: End, mode: Mode, script: Script) -> None:
    for moment, order in each_moment(end, STRIDES[end]):
        with explaining(hosts, moment):
            harm(hosts, script, order, mode)


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_two_that_hold_the_same_run_change_nothing(hosts: list[Host], script: Script) -> None:
    for moment, order in each_moment(End.HELD, STRIDE):
        with explaining(hosts, moment):
            overtake(hosts, script, order, Order(moment * 7 % 40))


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("dies", [True, False], ids=["dead", "alive"])
def test_cancel_at_any_moment_leaves_no_call_without_an_end(hosts: list[Host], script: Script, *, dies: bool) -> None:
    for moment, order in each_moment(End.HELD, STRIDE_OF_DEATHS if dies else STRIDE):
        with explaining(hosts, moment):
            cancel(hosts, script, order, Order(0, End.DEAD) if dies else Order())


def each_moment(end: End, stride: int) -> Iterator[tuple[int, Order]]:
    """Orders for every so-many-th moment at which they can be obeyed, until one is not: then the run ended before."""
    moment = 0
    order = Order(moment, end)
    yield moment, order
    while order.overdue is not None:
        moment += order.overdue + stride - 1
        order = Order(moment, end)
        yield moment, order
    assert moment > 50


def cancel(hosts: list[Host], script: Script, order: Order, last: Order) -> None:
    """One is held; somebody cancels the run; the one who was held wakes up, or dies."""
    first, second, *_ = hosts
    world, witness = begin(hosts, script)
    walk(first, world, order, witness.look)
    if run := Run.objects.exclude(status="completed").first():
        second.begin(jobs.cancel(run.pk), Order())
        witness.look()
    if not first.is_free:
        first.go_on(last)
        witness.look()
    walk(second, world, Order(), witness.look)
    witness.look_back(hosts)


def overtake(hosts: list[Host], script: Script, order: Order, later: Order) -> None:
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


def harm(hosts: list[Host], script: Script, order: Order, mode: Mode) -> None:
    first, second, *_ = hosts
    world, witness = begin(hosts, script)
    walk(first, world, order, witness.look, mode=mode)
    knock(first, second)
    walk(second, world, Order(), witness.look)
    let_go(hosts)
    look_back(hosts, witness)


def knock(first: Host, second: Host) -> None:
    """A transactional tool at work keeps its run, whatever the lease says, and nobody waits for it."""
    if first.has_locks:
        second.world.let_pass(AGES)
        second.begin(jobs.sweep, Order())
        assert second.error is None
        assert Run.objects.get().status == "running"
        let_go([first])


def begin(hosts: list[Host], script: Script) -> tuple[World, Witness]:
    """Empty tables, and hosts that know nothing."""
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
