"""Others act in each moment in which a segment holds no lock: between any two of its transactions.

::

    for run in at_each_boundary(begin, lambda run: elsewhere(lambda: llm.cancel(run, by=clerk))):
        assert_sound(run)
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any

from django.db import Error, connection

from llm_foundation.models import Run
from tests.runs.passing_time import go_on


class Boundary:
    """The moment before the so-many-th transaction, or statement outside of any, of this thread's connection."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self.left = number
        self.act = act
        self.is_passed = False

    def count(self) -> None:
        if self.is_passed:
            return
        self.left -= 1
        if self.left == 0:
            self.is_passed = True
            self.act()

    def watch(self, execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if not connection.in_atomic_block:
            self.count()
        return execute(sql, params, many, context)


@contextmanager
def acting_at(number: int, act: Callable[[], object]) -> Iterator[Boundary]:
    boundary = Boundary(number, act)
    begin = connection.set_autocommit

    def counted(autocommit: bool, **how: bool) -> None:
        if not autocommit:
            boundary.count()
        begin(autocommit, **how)

    with ExitStack() as stack:
        stack.enter_context(connection.execute_wrapper(boundary.watch))
        connection.set_autocommit = counted  # type: ignore[method-assign, assignment]
        stack.callback(delattr, connection, "set_autocommit")
        yield boundary


def connect_anew() -> None:
    with suppress(Error):  # MariaDB's client may refuse to close what is closed already
        connection.close()


def at_each_boundary(begin: Callable[[], Run], act: Callable[[Run], object]) -> Iterator[Run]:
    """Begin a run, let a segment go on with it, and act meanwhile: one boundary later each time, until none is left.

    The act may end the segment as a process ends, by ``SystemExit``, or take its connection away.
    """
    for number in count(1):
        run = begin()
        with acting_at(number, partial(act, run)) as boundary, suppress(SystemExit, Error):
            go_on(run)
        if connection.errors_occurred:
            connect_anew()
        if not boundary.is_passed:
            assert number > 3, "There was next to nothing to come between."
            return
        yield Run.objects.get(pk=run.pk)
