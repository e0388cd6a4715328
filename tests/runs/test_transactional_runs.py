"""Stored runs whose transactional tool meets what a database can do to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection

from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.runs.recovery import recover
from llm_foundation.tools import DataClass, Effect, registry, tool
from tests.practice import Desk, calls, desk, person, text
from tests.runs.passing_time import go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.runs.transactional_practice import effects, lose_connection, run_sql, write

pytestmark = pytest.mark.django_db(transaction=True)

no_connection = pytest.mark.skipif(
    "connection.vendor == 'sqlite'", reason="SQLite has no connection that could be lost"
)


@pytest.fixture
def here() -> Iterator[Desk]:
    with desk() as desk_:
        yield desk_


def let_call(here: Desk, function: Callable[[], Any]) -> None:
    """The model will call this tool, whoever asks it."""
    made = tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, approval=False)(function)
    assert registry.get(made.name) is made
    here.grant(made)
    here.model.always_says(calls(made.name), text("Done."))


def lost(here: Desk) -> Run:
    """A run whose segment ended with its connection."""
    with pytest.raises(OperationalError):
        llm.run("support", "Do it", user=here.clerk)
    run = Run.objects.get()
    assert run.status == "running"
    lease_runs_out(run)
    assert recover().taken_over == 1
    return run


@no_connection
def test_a_connection_lost_in_the_middle_ends_the_segment_and_the_next_one_does_it_once(here: Desk) -> None:
    attempts = []

    def work() -> None:
        attempts.append("attempt")
        write()
        if len(attempts) == 1:
            lose_connection()
        write("more")

    let_call(here, work)
    run = go_on_until_it_rests(lost(here))
    assert_sound(run)
    assert (run.status, run.answer, run.calls.get().state) == ("completed", "Done.", "succeeded")
    assert (len(attempts), effects()) == (2, ["effect", "more"])


@no_connection
def test_a_connection_lost_before_the_answer_to_the_commit_leaves_a_call_that_is_not_made_again(here: Desk) -> None:
    attempts = []
    original = connection._commit

    def commit_then_lose() -> None:
        original()
        if attempts:
            del connection._commit
            lose_connection()
            run_sql("SELECT 1")

    def work() -> str:
        attempts.append("attempt")
        write()
        return "written"

    let_call(here, work)
    connection._commit = commit_then_lose  # type: ignore[method-assign]
    run = go_on_until_it_rests(lost(here))
    assert_sound(run)
    assert (run.status, run.calls.get().state, run.calls.get().result) == ("completed", "succeeded", "written")
    assert (len(attempts), effects()) == (1, ["effect"])


def test_an_error_that_the_tool_caught_without_a_block_of_its_own_is_told_to_the_developer_only(here: Desk) -> None:
    def work() -> str:
        write()
        try:
            write()
        except IntegrityError:
            return "It was there already."
        return ""

    let_call(here, work)
    run = llm.run("support", "Do it", user=here.clerk)
    assert_sound(run)
    call = run.calls.get()
    assert (run.status, call.state, effects()) == ("completed", "failed", [])
    assert call.result == "Error: the tool work failed; it changed nothing."
    assert "Put what may fail into an atomic block of its own" in call.detail


@pytest.mark.skipif("connection.vendor != 'mysql'", reason="only there procedures may commit in a transaction")
def test_a_tool_whose_procedure_commits_leaves_a_doubt_that_a_person_resolves(here: Desk) -> None:
    def work() -> None:
        write()
        run_sql("CALL commits()")

    let_call(here, work)
    run_sql("CREATE OR REPLACE PROCEDURE commits() COMMIT")
    run = llm.run("support", "Do it", user=here.clerk)
    run_sql("DROP PROCEDURE commits")
    assert (run.status, run.calls.get().state, effects()) == ("in_doubt", "in_doubt", ["effect"])

    resolver = person("resolver", "resolve_toolcall")
    llm.resolve(run.calls.get(), by=resolver, outcome="happened", result="written")
    run = go_on_until_it_rests(run)
    assert_sound(run)
    assert (run.status, run.calls.get().result) == ("completed", "written")
