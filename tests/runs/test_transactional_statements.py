"""What would take the transaction out of the tool's hands, or ours: statements, procedures, cursors, connections."""

from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DEFAULT_DB_ALIAS, DatabaseError, IntegrityError, connection, connections, transaction

from tests.runs.transactional_practice import RecordedCall, assert_nothing_stays, effects, run_sql, write

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("end", [transaction.commit, transaction.rollback, lambda: transaction.set_autocommit(True)])
def test_the_transaction_is_not_the_tools_to_end(end: Any) -> None:
    def finish() -> None:
        write()
        end()

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(finish), "forbidden when an 'atomic' block is active")


@pytest.mark.parametrize("statement", ["COMMIT", " rollback", "BEGIN", "Start Transaction"])
@pytest.mark.parametrize("caught", [False, True])
def test_nor_by_a_statement_of_its_own_even_where_it_catches_the_refusal(statement: str, caught: bool) -> None:
    def finish() -> str:
        write()
        try:
            run_sql(statement)
        except Exception:
            if not caught:
                raise
        return "fine"

    call = RecordedCall.start()
    detail = f"A transactional tool may not end the transaction that it runs in, as {statement.split()[0]} does"
    assert_nothing_stays(call, call.perform(finish), detail)


def test_a_table_made_by_the_tool_goes_with_the_rest() -> None:
    """MariaDB commits before it makes a table, so there it is refused."""

    def make_table() -> None:
        write()
        run_sql("CREATE TABLE made_by_a_tool (id integer)")
        raise ValueError("too late")

    call = RecordedCall.start()
    detail = "as CREATE does" if connection.vendor == "mysql" else "too late"
    assert_nothing_stays(call, call.perform(make_table), detail)
    assert "made_by_a_tool" not in connection.introspection.table_names()


def test_a_temporary_table_is_allowed_everywhere() -> None:
    def use_table() -> None:
        run_sql("CREATE TEMPORARY TABLE counted (id integer)")
        run_sql("DROP TABLE counted" if connection.vendor != "mysql" else "DROP TEMPORARY TABLE counted")
        write()

    call = RecordedCall.start()
    call.perform(use_table)
    assert (call.state, effects()) == ("succeeded", ["effect"])


@pytest.mark.skipif("connection.vendor != 'mysql'", reason="only there procedures may commit in a transaction")
def test_a_tool_whose_procedure_commits_is_in_doubt_since_nobody_knows_what_stayed() -> None:
    def call_procedure() -> None:
        write()
        run_sql("CALL commits()")
        write("after")

    run_sql("CREATE OR REPLACE PROCEDURE commits() COMMIT")
    call = RecordedCall.start()
    outcome = call.perform(call_procedure)
    run_sql("DROP PROCEDURE commits")
    assert (outcome.state, call.state, effects()) == ("in_doubt", "executing", ["effect"])
    assert "ended its transaction" in outcome.detail


@pytest.mark.skipif("connection.vendor != 'mysql'", reason="only there procedures may commit in a transaction")
def test_and_so_it_is_where_the_tool_raises_after_that() -> None:
    def call_procedure() -> None:
        write()
        with connection.cursor() as cursor:
            cursor.callproc("commits")
        raise ValueError("too late")

    run_sql("CREATE OR REPLACE PROCEDURE commits() COMMIT")
    outcome = RecordedCall.start().perform(call_procedure)
    run_sql("DROP PROCEDURE commits")
    assert (outcome.state, effects()) == ("in_doubt", ["effect"])


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="only there an error may end a transaction")
def test_what_follows_an_error_that_ended_the_transaction_is_not_committed_by_itself() -> None:
    def go_on() -> None:
        write()
        try:
            run_sql("INSERT OR ROLLBACK INTO auth_group (name) VALUES ('effect')")
        except IntegrityError:
            write("after")

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(go_on), "TransactionManagementError")


def test_cursors_left_open_are_in_nobodys_way() -> None:
    left = []

    def look() -> str:
        write("first")
        write("second")
        rows = Group.objects.iterator(chunk_size=1)
        cursor = connection.cursor()
        cursor.execute("SELECT name FROM auth_group")
        left.extend([rows, cursor])
        return next(rows).name

    call = RecordedCall.start()
    call.perform(look)
    assert (call.state, effects()) == ("succeeded", ["first", "second"])
    left[0].close()
    left[1].close()


def test_a_tool_that_closes_the_connection_has_failed_and_the_next_query_opens_another() -> None:
    def close() -> None:
        write()
        connection.close()

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(close), "or by closing the connection")


def test_a_tool_that_goes_on_with_a_closed_connection_has_failed() -> None:
    def close() -> None:
        connection.close()
        write()

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(close), "rror: ")


def test_another_thread_cannot_use_the_connection_of_the_transaction() -> None:
    raised: list[Exception] = []

    def hand_over() -> None:
        ours = connections[DEFAULT_DB_ALIAS]

        def use() -> None:
            try:
                ours.cursor()
            except DatabaseError as error:
                raised.append(error)

        thread = Thread(target=use)
        thread.start()
        thread.join()
        raise raised[0]

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(hand_over), "can only be used in that same thread")
