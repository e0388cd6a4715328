"""Threads that meet in the database: each with connections of its own, which it closes.

::

    outcomes = at_once([lambda: llm.cancel(run, by=clerk)] * 16)

    with beside(lambda: llm.run("support", "Write to Ada", user=clerk)) as segment:
        gate.wait_until_reached()  # by a tool that calls gate.stop_here()
        recover()
        gate.open()
    assert segment.result.status == "completed"
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Barrier, Event, Thread
from typing import Any

from django.db import connections

PATIENCE = 60
"""Seconds. Only a test that has gone wrong waits so long."""


class Beside:
    """Something done in a thread of its own. ``outcome`` is what it gave, or what it raised."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.outcome: Any = None
        self.thread = Thread(target=self._perform)
        self.thread.start()

    def _perform(self) -> None:
        try:
            self.outcome = self.act()
        except BaseException as error:  # noqa: BLE001  # also what ends a process
            self.outcome = error
        finally:
            connections.close_all()

    def join(self) -> Any:
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "The other thread does not come to its end."
        return self.outcome

    @property
    def result(self) -> Any:
        """What it gave; what it raised is raised here."""
        outcome = self.join()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@contextmanager
def beside(act: Callable[[], Any]) -> Iterator[Beside]:
    """Do it while the block runs, and wait for its end after the block."""
    other = Beside(act)
    yield other
    other.join()


def elsewhere(act: Callable[[], Any]) -> Any:
    """Do it over another connection, to its end."""
    return Beside(act).result


def at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do all of it at the same moment. The outcomes stand in the order of the acts."""
    start = Barrier(len(acts))

    def held_back(act: Callable[[], Any]) -> Callable[[], Any]:
        def perform() -> Any:
            connections["default"].ensure_connection()  # or whoever connects faster would always win
            start.wait(PATIENCE)
            return act()

        return perform

    return [other.join() for other in [Beside(held_back(act)) for act in acts]]


def kinds(outcomes: Sequence[Any]) -> list[str]:
    """The names of the outcomes' classes, in order of the alphabet."""
    return sorted(type(outcome).__name__ for outcome in outcomes)


class Gate:
    """A place where a thread stops until another lets it go on."""

    def __init__(self) -> None:
        self._reached, self._open = Event(), Event()

    def stop_here(self) -> None:
        self._reached.set()
        assert self._open.wait(PATIENCE), "Nobody opened the gate."

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE), "Nobody came to the gate."

    def open(self) -> None:
        self._open.set()
