"""A transactional tool that touches another database is refused: nothing there would be undone with the rest."""

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, connections, transaction

from llm_foundation.exceptions import ToolError
from llm_foundation.runs.executions import perform
from llm_foundation.tools import ToolResult
from tests.runs.transactional_practice import RecordedCall, effects, execution, write

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

REFUSED = "A transactional tool may use the database 'default' only, not 'other', not even to read"


@pytest.fixture(autouse=True, scope="module")
def second_alias(django_db_setup: None) -> Iterator[None]:
    """Another connection to the same database: what is written there stays, whatever becomes of the first."""
    connections.settings["other"] = deepcopy(connection.settings_dict)
    yield
    del connections.settings["other"]


@pytest.fixture
def other() -> Iterator[Any]:
    """As nobody has opened it yet."""
    connections["other"].close()
    yield connections["other"]
    connections["other"].close()


def assert_refused(other: Any, function: Any) -> None:
    call = RecordedCall.start()
    outcome = call.perform(function)
    assert (outcome.state, call.state, call.begun) == ("failed", "executing", 1)
    assert outcome.result.content == f"Error: the tool {function.__name__} failed; it changed nothing."
    assert REFUSED in outcome.detail
    assert not effects()
    assert not Group.objects.using("other").exists()


def write_there() -> None:
    write()
    Group.objects.using("other").create(name="there")


def test_writing_to_another_database_is_refused(other: Any) -> None:
    assert_refused(other, write_there)


def read_there() -> int:
    write()
    return Group.objects.using("other").count()


def test_reading_from_another_database_is_refused_and_the_error_says_so(other: Any) -> None:
    assert_refused(other, read_there)


def test_a_cursor_of_another_database_is_refused(other: Any) -> None:
    def use_cursor() -> None:
        with connections["other"].cursor() as cursor:
            cursor.execute("INSERT INTO auth_group (name) VALUES ('there')")

    assert_refused(other, use_cursor)


def test_a_block_around_another_database_changes_nothing_about_it(other: Any) -> None:
    def use_block() -> None:
        with transaction.atomic(using="other"):
            Group.objects.using("other").create(name="there")

    assert_refused(other, use_block)


def catch_it() -> str:
    write()
    with suppress(ToolError):
        Group.objects.using("other").create(name="there")
    return "written"


def test_a_tool_that_catches_the_refusal_has_not_done_its_work(other: Any) -> None:
    assert_refused(other, catch_it)


def test_nor_where_it_makes_an_error_result_of_it(other: Any) -> None:
    def tell() -> ToolResult:
        try:
            write_there()
        except ToolError as error:
            return ToolResult(str(error), is_error=True)
        return ToolResult("written")

    assert_refused(other, tell)


def test_without_storage_it_is_refused_as_well(other: Any) -> None:
    outcome = perform(execution(catch_it))
    assert (outcome.state, effects(), Group.objects.using("other").count()) == ("failed", [], 0)


def test_a_connection_that_a_refused_statement_opened_is_closed_and_the_next_one_is_set_up(other: Any) -> None:
    assert other.connection is None
    RecordedCall.start().perform(write_there)
    assert other.connection is None
    if other.vendor == "mysql":
        with other.cursor() as cursor:
            cursor.execute("SELECT @@session.tx_isolation")
            assert cursor.fetchone() == ("READ-COMMITTED",)


def test_a_connection_that_was_open_before_stays_open_and_serves_again(other: Any) -> None:
    other.ensure_connection()
    opened = other.connection
    RecordedCall.start().perform(write_there)
    assert other.connection is opened
    Group.objects.using("other").create(name="there")
    assert Group.objects.using("other").count() == 1


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite lets one transaction write at a time")
def test_a_transaction_that_was_open_there_before_is_left_alone(other: Any) -> None:
    with transaction.atomic(using="other"):
        Group.objects.using("other").count()
        outcome = perform(execution(read_there))
        Group.objects.using("other").create(name="there")
    assert (outcome.state, effects()) == ("failed", ["there"])
