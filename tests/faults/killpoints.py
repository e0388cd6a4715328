"""A process that kills or stops itself at a chosen point: around a statement, a commit, or an effect.

Signals from outside land where a process spends its time, which is waiting. The gaps between two statements are where
promises break, and nobody hits those by chance. Who is stopped there goes on when others have taken over.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

MOMENTS = {
    "before statement": 120,
    "after statement": 120,
    "before commit": 25,
    "after commit": 25,
    "before effect": 4,
    "after effect": 4,
}
"""Where a process may die, and how many of those it passes at most."""


@dataclass
class Point:
    """The next pass at which it happens. Nothing happens as long as ``moment`` is empty."""

    dice: Random
    moment: str = ""
    passes: int = 0
    signal: int = signal.SIGKILL

    def choose(self) -> None:
        self.moment = self.dice.choice(list(MOMENTS))
        self.passes = self.dice.randint(1, MOMENTS[self.moment])
        self.signal = self.dice.choice((signal.SIGKILL, signal.SIGSTOP))

    def reached(self, moment: str) -> None:
        self.passes -= moment == self.moment
        if moment == self.moment and self.passes <= 0:
            os.kill(os.getpid(), self.signal)
            self.choose()  # whoever was only stopped goes on, to the next one


_point = Point(Random())


def watch(dice: Random) -> None:
    """Choose a point for this process, and count what passes."""
    _point.dice = dice
    _point.choose()
    connection_created.connect(_watch)


def passing(moment: str) -> None:
    _point.reached(moment)


def _watch(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if _watch_statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(_watch_statement)
        connection._commit = _watched_commit(connection._commit)  # type: ignore[attr-defined]


def _watch_statement(execute: Callable[..., Any], *statement: Any) -> Any:
    passing("before statement")
    result = execute(*statement)
    passing("after statement")
    return result


def _watched_commit(commit: Callable[[], None]) -> Callable[[], None]:
    def watched() -> None:
        passing("before commit")
        commit()
        passing("after commit")

    return watched
