"""A connection that is lost in the middle: whether the call was committed is known to its row alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from llm_foundation.tools import ToolResult
from tests.runs.transactional_practice import RecordedCall, effects, lose_connection, run_sql, write

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has no connection that could be lost"),
]

LOST = "The connection to the database was lost while tool"


def assert_undecided(call: RecordedCall, function: Callable[[], Any]) -> None:
    """No outcome at all; and the next query opens another connection."""
    with pytest.raises(OperationalError, match=LOST):
        call.perform(function)
    assert (call.state, effects(), call.begun) == ("executing", [], 1)


def test_a_connection_lost_inside_the_tool_is_no_failure_of_the_tool() -> None:
    def lose() -> None:
        write()
        lose_connection()
        write("after")

    assert_undecided(RecordedCall.start(), lose)


def test_nor_where_the_tool_catches_it() -> None:
    def lose() -> str:
        write()
        lose_connection()
        with suppress(DatabaseError):
            write("after")
        return "written"

    assert_undecided(RecordedCall.start(), lose)


def test_nor_where_the_tool_puts_it_into_an_error_of_its_own() -> None:
    def lose() -> None:
        with transaction.atomic():
            lose_connection()
            try:
                write()
            except DatabaseError as error:
                raise LookupError("no order") from error

    assert_undecided(RecordedCall.start(), lose)


def test_nor_where_the_tool_makes_an_error_result_of_it() -> None:
    def lose() -> ToolResult:
        lose_connection()
        try:
            write()
        except DatabaseError as error:
            return ToolResult(str(error), is_error=True)
        return ToolResult("written")

    assert_undecided(RecordedCall.start(), lose)


def test_nor_where_it_was_lost_before() -> None:
    call = RecordedCall.start()
    lose_connection()
    with pytest.raises(OperationalError, match=LOST):
        call.perform(write)
    assert (call.state, effects()) == ("executing", [])


def test_a_tool_that_answers_a_lost_connection_by_closing_it_has_failed() -> None:
    """Nothing was committed, so it is true; and a tool that always closes it would never come to an end."""

    def lose() -> None:
        lose_connection()
        try:
            write()
        except DatabaseError:
            connection.close()
            raise

    call = RecordedCall.start()
    assert (call.perform(lose).state, call.state, effects()) == ("failed", "executing", [])


@contextmanager
def committing(function: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Let it commit as ``function`` says."""
    original = connection._commit
    connection._commit = lambda: function(original)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del connection._commit


def test_a_connection_lost_before_the_commit_arrived_leaves_nothing() -> None:
    def lose_then_commit(commit: Callable[[], None]) -> None:
        lose_connection()
        commit()

    with committing(lose_then_commit):
        assert_undecided(RecordedCall.start(), write)


def test_a_connection_lost_before_the_answer_to_the_commit_leaves_everything_and_the_row_says_so() -> None:
    def commit_then_lose(commit: Callable[[], None]) -> None:
        commit()
        lose_connection()
        run_sql("SELECT 1")

    call = RecordedCall.start()
    with committing(commit_then_lose), pytest.raises(OperationalError, match=LOST):
        call.perform(write)
    assert (call.state, effects(), call.begun) == ("succeeded", ["effect"], 1)
