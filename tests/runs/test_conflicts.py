"""Which errors say that two transactions were in each other's way."""

import sqlite3

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError

from llm_foundation.runs.conflicts import find_conflict


class FromPsycopg2(Exception):
    pgcode = "40P01"


def wrapped(driver: Exception, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    """As Django does it."""
    error = kind(*driver.args)
    error.__cause__ = driver
    return error


def from_sqlite(number: int) -> Exception:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = number
    return error


@pytest.mark.parametrize(
    "driver",
    [
        FromPsycopg2("deadlock detected"),
        Exception(1213, "Deadlock found when trying to get lock"),
        Exception(1205, "Lock wait timeout exceeded"),
        from_sqlite(sqlite3.SQLITE_BUSY),
        from_sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT),
        from_sqlite(sqlite3.SQLITE_LOCKED_SHAREDCACHE),
    ],
)
def test_a_conflict_is_known_by_its_number_in_every_driver(driver: Exception) -> None:
    error = wrapped(driver)
    assert find_conflict(error) in (error, driver)


@pytest.mark.parametrize(
    "error",
    [
        wrapped(Exception(2006, "Server has gone away")),
        wrapped(Exception(1062, "Duplicate entry"), IntegrityError),
        wrapped(from_sqlite(sqlite3.SQLITE_FULL)),
        LookupError(1213),
        DatabaseError(),
    ],
)
def test_other_errors_are_no_conflict(error: Exception) -> None:
    assert find_conflict(error) is None


def test_errors_that_are_each_others_cause_are_looked_at_once() -> None:
    first, second = ValueError(), TypeError()
    first.__cause__, second.__cause__ = second, first
    assert find_conflict(first) is None
