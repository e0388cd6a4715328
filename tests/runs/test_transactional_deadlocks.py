"""A deadlock repeats the whole call, whatever its tool made of the error."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError

from llm_foundation.runs.executions import perform
from llm_foundation.runs.operations import ToolOutcome
from llm_foundation.tools import NotExecuted, ToolResult
from tests.runs.meeting import Beside, Gate
from tests.runs.transactional_practice import RecordedCall, effects, execution, run_sql, touch, write

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has one lock, and so no deadlock"),
]


class Deadlock:
    """Two rows, and somebody who takes them in the other order. The first to call ``meet`` is the victim."""

    def __init__(self) -> None:
        self.attempts = 0
        self.one = Group.objects.create(name="one").pk
        self.two = Group.objects.create(name="two").pk
        self.gate = Gate()
        self.other = Beside(self._hold_two_and_want_one)
        self.gate.wait_until_reached()

    def meet(self) -> None:
        self.attempts += 1
        touch(self.one)
        if self.attempts == 1:
            self.gate.open()
            self._be_the_one_who_notices()
        touch(self.two)

    @transaction.atomic
    def _hold_two_and_want_one(self) -> None:
        if connection.vendor == "postgresql":
            run_sql("SET LOCAL deadlock_timeout = '600s'")
        # MariaDB spares the one who has more to lose.
        Group.objects.bulk_create(Group(name=f"weight {number}") for number in range(50))
        touch(self.two)
        self.gate.stop_here()
        touch(self.one)
        transaction.set_rollback(True)

    def _be_the_one_who_notices(self) -> None:
        """PostgreSQL looks for a deadlock once, some time after a wait began: the other one has to wait already."""
        if connection.vendor == "postgresql":
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            while not scalar(waiting):
                assert self.other.thread.is_alive()
            run_sql("SET LOCAL deadlock_timeout = '10ms'")


def scalar(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


@pytest.fixture
def deadlock() -> Iterator[Deadlock]:
    made = Deadlock()
    yield made
    made.gate.open()
    made.other.join()


def assert_done_once(call: RecordedCall, outcome: ToolOutcome, deadlock: Deadlock) -> None:
    assert deadlock.other.result is None
    assert (deadlock.attempts, call.begun) == (2, 2)
    assert (outcome.state, call.state) == ("succeeded", "succeeded")
    assert effects() == [str(deadlock.one), str(deadlock.two), "effect"]


def test_a_deadlock_repeats_the_whole_call(deadlock: Deadlock) -> None:
    def meet() -> None:
        write()
        deadlock.meet()

    call = RecordedCall.start()
    assert_done_once(call, call.perform(meet), deadlock)


def test_a_deadlock_repeats_a_call_whose_tool_put_it_into_an_error_of_its_own(deadlock: Deadlock) -> None:
    def meet() -> None:
        write()
        try:
            deadlock.meet()
        except OperationalError as error:
            raise LookupError("no order") from error

    call = RecordedCall.start()
    assert_done_once(call, call.perform(meet), deadlock)


def test_a_deadlock_repeats_a_call_whose_tool_hid_it(deadlock: Deadlock) -> None:
    def meet() -> None:
        write()
        caught = False
        try:
            deadlock.meet()
        except OperationalError:
            caught = True
        if caught:
            raise NotExecuted("Try again later.")

    call = RecordedCall.start()
    assert_done_once(call, call.perform(meet), deadlock)


def test_a_deadlock_repeats_a_call_whose_tool_caught_it_and_went_on(deadlock: Deadlock) -> None:
    """PostgreSQL refuses what follows; MariaDB has undone what came before, and would commit what follows alone."""

    def meet() -> str:
        write()
        with suppress(DatabaseError):
            deadlock.meet()
        with suppress(DatabaseError):
            run_sql("UPDATE auth_group SET name = 'half' WHERE name = 'effect'")
        if deadlock.attempts == 2:
            run_sql("UPDATE auth_group SET name = 'effect' WHERE name = 'half'")
        return "done"

    call = RecordedCall.start()
    assert_done_once(call, call.perform(meet), deadlock)


def test_a_deadlock_repeats_a_call_whose_tool_made_an_error_result_of_it(deadlock: Deadlock) -> None:
    def meet() -> ToolResult:
        write()
        try:
            deadlock.meet()
        except OperationalError as error:
            return ToolResult(f"Failed: {error}", is_error=True)
        return ToolResult("done")

    call = RecordedCall.start()
    assert_done_once(call, call.perform(meet), deadlock)


def test_a_deadlock_inside_an_atomic_block_of_the_tools_own_repeats_the_whole_call(deadlock: Deadlock) -> None:
    def meet() -> None:
        write()
        with transaction.atomic():
            deadlock.meet()

    call = RecordedCall.start()
    assert_done_once(call, call.perform(meet), deadlock)


def test_a_deadlock_that_a_block_of_the_tools_own_contains_is_the_tools_to_handle_where_the_database_allows_it(
    deadlock: Deadlock,
) -> None:
    """PostgreSQL goes back to the savepoint; MariaDB has none any more."""

    def meet() -> str:
        write()
        try:
            with transaction.atomic():
                deadlock.meet()
        except OperationalError:
            return "without the rest"
        return "with the rest"

    call = RecordedCall.start()
    outcome = call.perform(meet)
    assert deadlock.other.result is None
    told = ("without the rest", 1) if connection.vendor == "postgresql" else ("with the rest", 2)
    assert (outcome.result.content, call.begun) == told
    assert (call.state, "effect" in effects()) == ("succeeded", True)


def test_inside_a_transaction_of_the_caller_a_deadlock_that_undid_it_is_the_callers(deadlock: Deadlock) -> None:
    """PostgreSQL undoes the tool's part only, which is repeated."""

    def meet() -> None:
        write()
        deadlock.meet()

    if connection.vendor == "postgresql":
        with transaction.atomic():
            assert perform(execution(meet)).state == "succeeded"
    else:
        with pytest.raises(TransactionManagementError), transaction.atomic():
            perform(execution(meet))
    assert deadlock.other.result is None
    assert ("effect" in effects()) == (connection.vendor == "postgresql")
