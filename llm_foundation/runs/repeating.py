"""Transactions that gave in to another one: nothing of them was written, so they are made again."""

from collections.abc import Callable
from functools import wraps
from random import uniform
from time import sleep
from typing import Final, ParamSpec, TypeVar

from django.db import OperationalError, connection

from llm_foundation.runs.conflicts import find_conflict

P = ParamSpec("P")
T = TypeVar("T")

_PAUSES: Final = (0.05, 0.2)
"""Seconds at most before the second attempt and the third."""


def repeated_on_conflict(write: Callable[P, T]) -> Callable[P, T]:
    """For a function that is one transaction, and changes nothing in memory before it is committed."""

    @wraps(write)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> T:
        for pause in _PAUSES:
            try:
                return write(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block or find_conflict(error) is None:
                    raise
            sleep(uniform(0, pause))  # noqa: S311  # those who were in each other's way should not meet again
        return write(*args, **kwargs)

    return repeated
