"""Serialization failures, and locks that cannot be had, repeat the whole call, a bounded number of times."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection, transaction

from llm_foundation.runs.executions import perform
from llm_foundation.runs.operations import ToolOutcome
from llm_foundation.runs.transactional import MAX_ATTEMPTS, perform_transactional
from tests.runs.meeting import Gate, beside, elsewhere
from tests.runs.transactional_practice import RecordedCall, effects, execution, run_sql, touch, write

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def snapshots() -> Iterator[None]:
    """Transactions that see the database as it was when they began."""
    if connection.vendor == "postgresql":
        run_sql("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    elif connection.vendor == "mysql":
        run_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        run_sql("SET SESSION innodb_snapshot_isolation = ON")
    else:
        connection.transaction_mode = None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection.close()


def overtaken(times: int) -> Callable[[], None]:
    """A tool that reads a row, is overtaken by somebody who changes it, and then changes it itself."""
    pk = Group.objects.create(name="0").pk
    left = iter(range(times))

    def increase() -> None:
        name = Group.objects.get(pk=pk).name
        if next(left, None) is not None:
            elsewhere(lambda: Group.objects.filter(pk=pk).update(name=int(name) + 1))
        Group.objects.filter(pk=pk).update(name=int(name) + 1)

    return increase


def test_a_serialization_failure_repeats_the_whole_call() -> None:
    tool = overtaken(times=2)
    with snapshots():
        outcome = perform(execution(tool))
    assert (outcome.state, effects()) == ("succeeded", ["3"])


def test_after_three_attempts_the_call_has_failed_and_changed_nothing(caplog: pytest.LogCaptureFixture) -> None:
    tool = overtaken(times=MAX_ATTEMPTS)
    with snapshots():
        outcome = perform(execution(tool))
    assert (outcome.state, effects()) == ("failed", ["3"])
    assert outcome.result.content == "Error: the tool increase failed; it changed nothing."
    assert caplog.text.count("Tool increase met a conflict and is repeated") == 2


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL refuses a commit for it")
def test_a_serialization_failure_at_the_commit_repeats_the_whole_call() -> None:
    call = RecordedCall.start()
    ends = []

    def count_and_write(name: str = "effect") -> None:
        write(f"{name} {Group.objects.count()}")

    def end(outcome: ToolOutcome) -> None:
        call.end(outcome)
        if not ends:
            elsewhere(lambda: serializable(lambda: count_and_write("other")))
        ends.append(outcome)

    run_sql("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    outcome = perform_transactional(execution(count_and_write), begin=call.begin, end=end)
    connection.close()
    assert (outcome.state, call.state, len(ends)) == ("succeeded", "succeeded", 2)
    assert effects() == ["effect 1", "other 0"]


def serializable(function: Callable[[], None]) -> None:
    with transaction.atomic():
        run_sql("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        function()


@contextmanager
def locked(pk: int) -> Iterator[None]:
    """Somebody else has the row, and on SQLite everything; nobody waits for it."""
    gate = Gate()

    @transaction.atomic
    def hold() -> None:
        touch(pk)
        gate.stop_here()

    with beside(hold):
        gate.wait_until_reached()
        if connection.vendor == "sqlite":
            run_sql("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            gate.open()
            connection.close()


def test_a_lock_that_cannot_be_had_fails_after_three_attempts(caplog: pytest.LogCaptureFixture) -> None:
    pk = Group.objects.create(name="row").pk

    def take() -> None:
        write()
        Group.objects.select_for_update(nowait=True).get(pk=pk)

    call = RecordedCall.start()
    with locked(pk):
        outcome = call.perform(take)
    assert caplog.text.count("Tool take met a conflict and is repeated") == 2
    assert (outcome.state, call.state, effects()) == ("failed", "executing", [str(pk)])


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has no locks of rows")
def test_a_tool_may_go_on_without_a_lock_that_it_tried_for_in_a_block_of_its_own() -> None:
    pk = Group.objects.create(name="row").pk

    def take() -> str:
        write()
        try:
            with transaction.atomic():
                Group.objects.select_for_update(nowait=True).get(pk=pk)
        except OperationalError:
            return "busy"
        return "taken"

    call = RecordedCall.start()
    with locked(pk):
        outcome = call.perform(take)
    assert (outcome.result.content, call.state, call.begun) == ("busy", "succeeded", 1)
    assert "effect" in effects()


def test_what_the_tool_does_wrong_is_not_repeated() -> None:
    def crash() -> None:
        write()
        run_sql("SELECT * FROM no_such_table")

    call = RecordedCall.start()
    outcome = call.perform(crash)
    assert (outcome.state, call.begun, effects()) == ("failed", 1, [])
