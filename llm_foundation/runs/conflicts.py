"""What a database error means for its transaction, by the database's own numbers: its sentences are translated."""

from collections.abc import Iterator
from typing import Any, Final

from django.db import Error

_SQLSTATES: Final = frozenset(
    {
        "40001",  # serialization failure
        "40P01",  # deadlock
        "55P03",  # lock not available: lock_timeout, or NOWAIT
    }
)
_MYSQL: Final = frozenset(
    {
        1020,  # the record has changed since the snapshot: MariaDB's serialization failure
        1205,  # lock wait timeout, on MariaDB NOWAIT as well
        1213,  # deadlock
        3572,  # NOWAIT on MySQL
    }
)
_SQLITE: Final = frozenset(
    {
        5,  # SQLITE_BUSY, in all its kinds: "database is locked"
        6,  # SQLITE_LOCKED: the same between connections that share a cache
    }
)


def find_conflict(error: BaseException) -> BaseException | None:
    """The error, or what led to it, that says: two transactions were in each other's way, and this one had to give in.

    Once it is rolled back, the whole transaction may be repeated. ``None`` where there is no such error.
    """
    return next((one for one in _with_causes(error) if _is_conflict(one)), None)


def is_missing_savepoint(error: Error) -> bool:
    """Whether the database has no such savepoint, so that the transaction that it was made in is over."""
    driver = error.__cause__ or error
    return _sqlstate(driver) == "3B001" or _mysql_number(error) == 1305 or "no such savepoint" in str(error)


def _is_conflict(error: BaseException) -> bool:
    return (
        _sqlstate(error) in _SQLSTATES
        or _mysql_number(error) in _MYSQL
        or getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE
    )


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what led to it: Django wraps what the driver raises, and a tool may wrap that once more."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__context__ if error.__cause__ is None else error.__cause__


def _sqlstate(error: BaseException) -> Any:
    """The name that psycopg has for it, or psycopg2."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def _mysql_number(error: BaseException) -> Any:
    """MySQL's drivers put the number first; so may others, with another meaning, but Django does not wrap those."""
    return error.args[0] if isinstance(error, Error) and error.args else None
