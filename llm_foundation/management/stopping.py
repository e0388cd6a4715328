"""Ending a command that goes on until it is stopped."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any


@contextmanager
def stops_on_signals() -> Iterator[Event]:
    """An event that SIGINT and SIGTERM set, so that what is under way comes to its end first."""
    stopped = Event()

    def stop(_number: int, _frame: Any) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
