"""Anything may happen to a run, at any moment: a state machine that lets it, and a witness that watches.

Most rules let one host do something for some moments, and then hold it, kill it, or take its database away.
"""

import sys
from collections.abc import Sequence
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from llm_foundation.exceptions import DecisionError
from llm_foundation.loop.states import CallState
from llm_foundation.models import Run
from llm_foundation.runs.runtime import Mode
from tests.runs.machine import jobs, shop
from tests.runs.machine.choices import (
    ALL,
    DISTURBANCES,
    FLAGS,
    HOSTS,
    MODES,
    MOODS,
    ORDERS,
    SCRIPTS,
    SECONDS,
    WHICH,
    Limit,
    order,
)
from tests.runs.machine.course import let_go, next_job, walk, what_happened
from tests.runs.machine.hosts import Host, Job
from tests.runs.machine.orders import Order
from tests.runs.machine.toolbox import ENDINGS, NAMES
from tests.runs.machine.witness import Witness
from tests.runs.machine.world import AGES, Planned, World


class RunMachine(RuleBasedStateMachine):
    """``hosts`` and ``rescuer`` are set by the test."""

    hosts: Sequence[Host]
    rescuer: Host

    def __init__(self) -> None:
        super().__init__()
        self.world = World(())
        self.witness = Witness(self.world)
        self.pages: list[tuple[Any, str]] = []  # what people have before their eyes, for as long as it takes
        self.is_calm = True  # not two disturbances in a row, or nothing would ever come of anything
        self.may_be_cancelled = self.wakes_early = self.is_approving = False
        for host in (*self.hosts, self.rescuer):
            host.enter(self.world)
        shop.clear()

    @initialize(script=SCRIPTS, mode=MODES, limit=ORDERS, mood=MOODS, flags=FLAGS)
    def start(self, script: list[list[Planned]], mode: Mode, limit: Limit, mood: str, flags: tuple[bool, ...]) -> None:
        self.world.script = script
        self.wakes_early, self.is_approving, self.may_be_cancelled = flags
        self._begin(jobs.start(mode=mode), 0, limit, mood)

    # --- Workers ------------------------------------------------------------------------------------------------------
    @rule(host=HOSTS, limit=ORDERS, mood=MOODS)
    @precondition(lambda self: self.has_room)
    def advance(self, host: int, limit: Limit, mood: str) -> None:
        """Whatever is next, as on a good day."""
        if self.witness.run is None or self.open_run:
            self._begin(next_job(self.world, self.witness.run), host, limit, mood)

    @rule(host=HOSTS, limit=ORDERS, mood=MOODS)
    @precondition(lambda self: self.has_room and self.open_run and self.open_run.status == "queued")
    def deliver(self, host: int, limit: Limit, mood: str) -> None:
        """A message reaches a worker, be it one that nobody remembers sending."""
        self.world.mail.clear()
        self._begin(self._resume(), host, limit, mood)

    @rule(which=WHICH, limit=ORDERS, mood=MOODS)
    @precondition(lambda self: self.held)
    def go_on(self, which: int, limit: Limit, mood: str) -> None:
        self.world.mood = mood
        self._wake(self.held[which % len(self.held)], limit)

    @rule(host=HOSTS, limit=ORDERS, seconds=SECONDS)
    @precondition(lambda self: self.has_room and self.open_run and self.open_run.status in ("running", "queued"))
    def sweep(self, host: int, limit: Limit, seconds: float) -> None:
        self.world.let_pass(seconds)
        self._begin(jobs.sweep, host, limit)

    @rule(host=HOSTS, limit=ORDERS, last=ORDERS)
    @precondition(lambda self: self.has_room and self.held and self.open_run)
    def overtake(self, host: int, limit: Limit, last: Limit) -> None:
        """Somebody else takes the run over from one who is held for too long; then that one wakes up."""
        late = self.held[host % len(self.held)]
        self.world.let_pass(AGES)
        self._begin(jobs.sweep, host, ALL)
        self._begin(self._resume(), host, limit)
        self.witness.look()
        self._wake(late, last)

    # --- People -------------------------------------------------------------------------------------------------------
    @rule(host=HOSTS, limit=ORDERS, which=WHICH)
    @precondition(lambda self: self.has_room and self.pages and CallState.PENDING in self.states)
    def decide(self, host: int, limit: Limit, which: int) -> None:
        """On a page that was opened just now, or long ago."""
        call, digest = self.pages[-1 - which % len(self.pages)]
        match which:
            case 7:
                job = jobs.deny(call, digest)
            case 3 | 5:
                job = jobs.edit(call, digest, ENDINGS[len(self.pages) % len(ENDINGS)], by=shop.MANAGER)
            case _:
                job = jobs.approve(call, digest, by=shop.MANAGER if which % 2 else shop.DEPUTY)
        self._begin(job, host, limit)

    @rule(host=HOSTS, limit=ORDERS, which=WHICH)
    @precondition(lambda self: self.has_room and CallState.IN_DOUBT in self.states)
    def resolve(self, host: int, limit: Limit, which: int) -> None:
        doubts = [row for row in self.witness.calls.values() if row.state == CallState.IN_DOUBT]
        call = doubts[which % len(doubts)]
        self._begin(jobs.resolve(call.pk, "give_up" if which > 5 else what_happened(self.world, call)), host, limit)

    @rule(host=HOSTS, limit=ORDERS)
    @precondition(lambda self: self.has_room and self.may_be_cancelled and self.open_run)
    def cancel(self, host: int, limit: Limit) -> None:
        self.may_be_cancelled = False
        self._begin(jobs.cancel(self._run.pk), host, limit)

    # --- What else may happen -----------------------------------------------------------------------------------------
    @rule(what=DISTURBANCES, which=WHICH)
    @precondition(lambda self: self.is_calm or not self.open_run)
    def disturb(self, what: str, which: int) -> None:
        self.is_calm = False
        match what:
            case "a while":
                self.world.let_pass((20.0, 130.0, 800.0, AGES)[which % 4])
            case "a jump":
                self.world.jump((100.0, AGES, -100.0, -AGES)[which % 4])
            case "no mail":
                self.world.has_mail = not self.world.has_mail
            case "a tool":
                shop.switch(NAMES[which])
            case "the manager":
                shop.dismiss_manager()
            case "a start" if self.has_room:
                self._begin(jobs.start(mode="wait" if which % 2 else "queue"), which, ALL)
            case "a message" if self.has_room and self.witness.run:
                self._begin(self._resume(), which, ALL)
            case "a page" if self.has_room and self.pages:
                self._begin(jobs.approve(*self.pages[which % len(self.pages)]), which, ALL)

    # --- Always -------------------------------------------------------------------------------------------------------
    @invariant()
    def holds(self) -> None:
        self.witness.look()
        seen = [(row.pk, row.digest) for row in self.witness.calls.values() if row.state == CallState.PENDING]
        self.pages += [page for page in seen if page not in self.pages]

    def teardown(self) -> None:
        """Now all goes well. The run ends, whatever has become of it, and those who come late change nothing."""
        if sys.exception() is not None:  # a rule has failed, or hypothesis has given the example up
            return
        self.world.mood, self.world.has_mail = "planned", True
        shop.restore()
        let_go(self.hosts, with_locks=not self.wakes_early)
        walk(self.rescuer, self.world, Order(), self.witness.look, approving=self.is_approving)
        let_go(self.hosts)
        self.witness.look_back((*self.hosts, self.rescuer))

    # ------------------------------------------------------------------------------------------------------------------
    @property
    def _run(self) -> Run:
        assert self.witness.run is not None
        return self.witness.run

    @property
    def open_run(self) -> Run | None:
        """``None`` where there is none yet, and once it has ended."""
        run = self.witness.run
        return None if run is None or run.is_finished else run

    @property
    def states(self) -> set[str]:
        return {row.state for row in self.witness.calls.values()}

    @property
    def held(self) -> list[Host]:
        return [host for host in self.hosts if not host.is_free]

    @property
    def has_room(self) -> bool:
        return len(self.held) < len(self.hosts)

    def _resume(self) -> Job:
        return jobs.resume(str(self._run.pk))

    def _begin(self, job: Job, host: int, limit: Limit, mood: str = "planned") -> None:
        free = [host for host in self.hosts if host.is_free]
        chosen = free[host % len(free)]
        self.world.mood, self.is_calm = mood, True
        chosen.begin(job, order(limit))
        _require_fair(chosen)

    def _wake(self, host: Host, limit: Limit) -> None:
        self.is_calm = True
        host.go_on(order(limit))
        _require_fair(host)


def _require_fair(host: Host) -> None:
    """What a job may raise: a person is told why not; the database was gone."""
    if host.is_free and host.error is not None and not host.refused and not isinstance(host.error, DecisionError):
        raise host.error
