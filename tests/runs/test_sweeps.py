"""A sweep hands out again what was lost on the way, and nothing that is wrong with one run stops it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.models import Run, RunEvent
from llm_foundation.runs import clock, store
from llm_foundation.runs.recovery import Recovered, recover
from tests.practice import Desk, desk, text
from tests.runs.boundaries import acting_at
from tests.runs.meeting import elsewhere
from tests.runs.passing_time import (
    comes_due,
    go_on_until_it_rests,
    lease_runs_out,
    message_is_lost,
    message_was_sent,
)
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(here: Desk) -> Run:
    """A run that a worker has taken and does not go on with."""
    run = llm.run("support", "Hello", user=here.clerk, mode="queue")
    assert store.claim(run.pk, owner="worker", seconds=60)
    return run


# --- Messages ---------------------------------------------------------------------------------------------------------
def test_a_run_that_is_taken_over_is_handed_out() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.always_says(text("Hello."))
        with handing_to(DUMMY):
            run = claimed(here)
        lease_runs_out(run)
        recover()
    assert Run.objects.get().status == "completed"


def test_a_message_that_may_still_arrive_is_not_sent_again() -> None:
    with desk() as here, handing_to(DUMMY):
        llm.run("support", "Hello", user=here.clerk, mode="queue")
        assert recover() == Recovered()


def test_a_lost_message_is_sent_again_and_then_given_its_time() -> None:
    with desk() as here, handing_to(DUMMY):
        message_is_lost(llm.run("support", "Hello", user=here.clerk, mode="queue"))
        assert [recover(), recover()] == [Recovered(handed_out=1), Recovered()]


def test_a_message_that_is_not_acted_on_is_sent_again_at_ever_longer_intervals() -> None:
    """Workers that are behind do not find each run in their queue once for every minute that they are behind."""
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
            message_was_sent(run, seconds_ago=minutes * 60 - 10)
            assert recover() == Recovered()
            message_was_sent(run, seconds_ago=minutes * 60 + 10)
            assert recover() == Recovered(handed_out=1)


def test_a_worker_that_acts_on_the_message_starts_the_intervals_anew() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        for _ in range(3):
            message_was_sent(run, seconds_ago=3_600 + 10)
            recover()
        assert store.claim(run.pk, owner="worker", seconds=60)
        lease_runs_out(run)
        assert recover() == Recovered(taken_over=1)
        message_is_lost(run)
        assert recover() == Recovered(handed_out=1)


def test_a_broker_that_is_down_lengthens_nothing() -> None:
    with desk() as here:
        with handing_to(DUMMY):
            run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        with override_settings(TASKS={"default": {"BACKEND": "nowhere.Backend"}}):
            for _ in range(3):
                message_is_lost(run)
                assert recover() == Recovered()
        with handing_to(DUMMY):
            message_is_lost(run)
            assert recover() == Recovered(handed_out=1)


def fails() -> None:
    raise RuntimeError("the mail server is away")


@transaction.atomic
def start_between(here: Desk, *, before: Callable[[], None] | None, behind: Callable[[], None] | None) -> None:
    """Start a run in a transaction in which others leave something for after the commit as well."""
    if before:
        transaction.on_commit(before)
    llm.run("support", "Hello", user=here.clerk, mode="queue")
    if behind:
        transaction.on_commit(behind)


def test_two_sweeps_in_each_other_s_way_send_one_message_and_take_over_once() -> None:
    """Whatever one of them has seen already when the other one acts."""
    with desk() as here, handing_to(DUMMY):
        number, is_passed = 0, True
        while is_passed:
            number += 1
            Run.objects.all().delete()
            lease_runs_out(claimed(here))
            message_is_lost(llm.run("support", "Hello", user=here.clerk, mode="queue"))
            others: list[Recovered] = []
            with acting_at(number, lambda: others.append(elsewhere(recover))) as boundary:  # noqa: B023
                mine = recover()
            is_passed = boundary.is_passed
            swept = [mine, *others]
            assert sum(one.taken_over for one in swept) == sum(one.handed_out for one in swept) == 1
        assert number > 4


def test_a_message_lost_by_an_error_in_somebody_elses_hook_is_sent_again() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.always_says(text("Hello."))
        with pytest.raises(RuntimeError, match="mail server"):
            start_between(here, before=fails, behind=None)
        run = Run.objects.get()
        assert run.status == "queued"
        message_is_lost(run)
        assert recover() == Recovered(handed_out=1)
    assert Run.objects.get().status == "completed"


def test_an_error_in_a_hook_behind_ours_loses_nothing() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.always_says(text("Hello."))
        with pytest.raises(RuntimeError, match="mail server"):
            start_between(here, before=None, behind=fails)
    assert Run.objects.get().status == "completed"


def test_a_run_is_not_handed_out_before_it_is_due() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        Run.objects.update(not_before=clock.after(60), enqueued_at=None)
        assert recover() == Recovered()
        comes_due(run)
        assert recover() == Recovered(handed_out=1)


# --- One run and the others -------------------------------------------------------------------------------------------
def test_a_run_that_cannot_be_taken_over_keeps_no_other_from_it(caplog: pytest.LogCaptureFixture) -> None:
    with desk() as here, handing_to(DUMMY):
        first, second, third = (claimed(here) for _ in range(3))
        for run in (first, second, third):
            lease_runs_out(run)
        with failing_for(second, RuntimeError("odd")):
            assert recover() == Recovered(taken_over=2)
        assert f"Run {second.pk} could not be taken over" in caplog.text
        assert recover() == Recovered(taken_over=1)


def test_a_message_that_cannot_be_sent_keeps_no_other_from_being_sent(caplog: pytest.LogCaptureFixture) -> None:
    with desk() as here, handing_to(DUMMY):
        first, second, third = (llm.run("support", "Hello", user=here.clerk, mode="queue") for _ in range(3))
        for run in (first, second, third):
            message_is_lost(run)
        with failing_for(second, DatabaseError("odd")):
            assert recover() == Recovered(handed_out=2)
        assert recover() == Recovered(handed_out=1)


def failing_for(run: Run, error: Exception) -> Any:
    """Something is odd about this run: the database does not change its row."""

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        is_about_it = sql.startswith("UPDATE") and any(str(one) in (str(run.pk), run.pk.hex) for one in params or ())
        if is_about_it:
            raise error
        return execute(sql, params, many, context)

    return connection.execute_wrapper(watch)


# --- What was being said ----------------------------------------------------------------------------------------------
def test_what_a_lost_segment_was_saying_is_forgotten() -> None:
    from llm_foundation.runs.events import Delta, EventKind

    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        held = store.claim(run.pk, owner="worker", seconds=60)
        assert held is not None
        store.append_deltas(held, [Delta(EventKind.TEXT, "It is on")])
        assert RunEvent.objects.filter(kind="model.text").count() == 1
        lease_runs_out(run)
        recover()
        here.model.always_says(text("It is on its way."))
        run = go_on_until_it_rests(run)

    assert not RunEvent.objects.filter(kind="model.text").exists()
    assert (run.status, run.answer) == ("completed", "It is on its way.")
    assert_sound(run)
