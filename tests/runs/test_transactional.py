"""A transactional tool may do with its transaction what Django allows; effect and result stay together."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, IntegrityError, connection, transaction

from llm_foundation.exceptions import RunLost
from llm_foundation.runs.executions import perform
from llm_foundation.runs.operations import ToolOutcome
from llm_foundation.runs.transactional import perform_transactional
from llm_foundation.tools import ToolResult
from tests.runs.transactional_practice import (
    RecordedCall,
    assert_nothing_stays,
    effects,
    execution,
    run_sql,
    write,
    write_and_tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_effect_and_result_are_written_together() -> None:
    call = RecordedCall.start()
    outcome = call.perform(write_and_tell)
    assert (outcome.result.content, call.state, effects()) == ("written", "succeeded", ["effect"])


def test_atomic_blocks_of_the_tools_own_are_part_of_it() -> None:
    def nest() -> None:
        with transaction.atomic():
            write("outer")
            with transaction.atomic():
                write("inner")

    call = RecordedCall.start()
    call.perform(nest)
    assert (call.state, effects()) == ("succeeded", ["inner", "outer"])


def test_a_tool_that_raises_after_its_own_atomic_block_leaves_nothing() -> None:
    def crash() -> None:
        with transaction.atomic():
            write()
        raise ValueError("too late")

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(crash), "ValueError: too late")


def test_a_tool_may_try_something_in_a_block_of_its_own_and_go_on_without_it() -> None:
    def write_twice() -> str:
        write()
        try:
            with transaction.atomic():
                write("tried")
                write()
        except IntegrityError:
            return "It was there already."
        return ""

    call = RecordedCall.start()
    outcome = call.perform(write_twice)
    assert (outcome.result.content, call.state, effects()) == ("It was there already.", "succeeded", ["effect"])


def swallow() -> str:
    write()
    with suppress(IntegrityError):
        write()
    return "fine"


def test_a_tool_that_catches_an_error_without_such_a_block_has_failed_and_is_told_what_to_do() -> None:
    call = RecordedCall.start()
    outcome = call.perform(swallow)
    assert_nothing_stays(call, outcome, "Put what may fail into an atomic block of its own")


def test_without_storage_a_broken_transaction_is_no_success_either() -> None:
    outcome = perform(execution(swallow))
    assert (outcome.state, effects()) == ("failed", [])


@pytest.mark.parametrize("stored", [False, True])
def test_a_failed_statement_that_the_tool_caught_is_either_all_that_is_missing_or_the_end_of_it(stored: bool) -> None:
    """PostgreSQL does nothing after it, and would answer a commit with a rollback; the others go on."""

    def catch() -> None:
        write()
        with suppress(DatabaseError):
            run_sql("INSERT INTO no_such_table VALUES (1)")

    outcome = RecordedCall.start().perform(catch) if stored else perform(execution(catch))
    expected = ("failed", []) if connection.vendor == "postgresql" else ("succeeded", ["effect"])
    assert (outcome.state, effects()) == expected


def test_a_durable_block_inside_the_tool_is_a_clear_error() -> None:
    def insist() -> None:
        with transaction.atomic(durable=True):
            write()

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(insist), "A durable atomic block cannot be nested")


def test_a_tool_that_marks_its_transaction_for_rollback_has_failed() -> None:
    def mark() -> str:
        write()
        transaction.set_rollback(True)
        return "written"

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(mark), "by set_rollback()")


def test_a_block_of_the_tools_own_may_be_marked_for_rollback() -> None:
    def try_out() -> None:
        with transaction.atomic():
            write("tried")
            transaction.set_rollback(True)
        write("kept")

    call = RecordedCall.start()
    call.perform(try_out)
    assert (call.state, effects()) == ("succeeded", ["kept"])


def test_savepoints_of_the_tools_own_are_its_own_business() -> None:
    def go_back() -> None:
        savepoint = connection.savepoint()
        write("tried")
        connection.savepoint_rollback(savepoint)
        write("kept")

    call = RecordedCall.start()
    call.perform(go_back)
    assert (call.state, effects()) == ("succeeded", ["kept"])


def test_hooks_run_after_the_commit_and_see_the_result() -> None:
    seen = []

    def leave_hook() -> None:
        transaction.on_commit(lambda: seen.append((call.state, effects(), connection.in_atomic_block)))
        write()

    call = RecordedCall.start()
    call.perform(leave_hook)
    assert seen == [("succeeded", ["effect"], False)]


def test_a_hook_that_raises_undoes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RunLost("of something else")

    def leave_hook() -> str:
        transaction.on_commit(fail)
        write()
        return "written"

    call = RecordedCall.start()
    outcome = call.perform(leave_hook)
    assert (outcome.result.content, call.state, effects()) == ("written", "succeeded", ["effect"])
    assert "What tool leave_hook left for after its commit failed" in caplog.text


def test_hooks_of_a_tool_that_failed_never_run() -> None:
    seen: list[str] = []

    def leave_hook() -> ToolResult:
        transaction.on_commit(lambda: seen.append("ran"))
        return ToolResult("No.", is_error=True)

    RecordedCall.start().perform(leave_hook)
    write()
    assert seen == []


def test_an_error_result_commits_nothing() -> None:
    def refuse() -> ToolResult:
        write()
        return ToolResult("Nothing left to refund.", is_error=True)

    call = RecordedCall.start()
    outcome = call.perform(refuse)
    assert (outcome.state, outcome.result.content) == ("failed", "Nothing left to refund.")
    assert (call.state, effects()) == ("executing", [])


def test_a_result_that_cannot_be_shown_commits_nothing() -> None:
    def show() -> Any:
        write()
        return Group.objects.all()

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(show), "InvalidResult")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_an_interruption_undoes_everything_and_is_no_result(interruption: type[BaseException]) -> None:
    def interrupt() -> None:
        write()
        raise interruption

    call = RecordedCall.start()
    with pytest.raises(interruption):
        call.perform(interrupt)
    assert (call.state, effects(), connection.in_atomic_block) == ("executing", [], False)


def test_a_result_for_which_the_run_is_no_longer_held_takes_the_effect_with_it() -> None:
    call = RecordedCall.start()

    def lose_it(outcome: ToolOutcome) -> None:
        raise RunLost("taken over")

    with pytest.raises(RunLost):
        perform_transactional(execution(write_and_tell), begin=call.begin, end=lose_it)
    assert (call.state, effects(), call.begun) == ("executing", [], 1)


def test_a_run_that_the_tool_itself_has_lost_is_an_error_of_the_tool() -> None:
    def lose() -> None:
        write()
        raise RunLost("another run")

    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(lose), "The tool lost a run of its own")
