"""A provider fails: which failures are waited out, how long, how often, and what is kept meanwhile."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.db.models import F
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.exceptions import ServerError
from llm_foundation.models import Run
from llm_foundation.runs import clock, store
from llm_foundation.runs.backoff import pause_before, retry_delay
from llm_foundation.runs.recovery import LOST_AFTER, Recovered, recover
from llm_foundation.runs.runtime import LATER
from llm_foundation.runs.task_framework import task_backends
from llm_foundation.tools import DataClass, Effect, tool
from tests.loopback import answer, close_at_once
from tests.practice import Desk, calls, desk, text
from tests.runs.meeting import elsewhere
from tests.runs.passing_time import comes_due, go_on, go_on_until_it_rests
from tests.runs.soundness import assert_sound
from tests.scripted_server import Behaviour
from tests.tasks.workers import DUMMY, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def failure(status: int, **headers: str) -> Behaviour:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer(json={"error": {"message": "Not now."}}, status=status, headers=fields)


DOWN = failure(500)


def queued(here: Desk) -> Run:
    return llm.run("support", "Hello", user=here.clerk, mode="queue")


def is_due_in(run: Run, least: float, most: float) -> bool:
    """Whether the run waits for so many seconds, on the database's clock."""
    between = {"not_before__gt": clock.after(least - 1), "not_before__lt": clock.after(most + 1)}
    return Run.objects.filter(pk=run.pk, **between).exists()


# --- How often --------------------------------------------------------------------------------------------------------
def test_a_provider_that_recovers_is_asked_again_and_the_caller_waits_for_it() -> None:
    with desk() as here:
        here.model.says(DOWN, DOWN, DOWN, text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk)
        asked = len(here.model.asked)

    assert (run.status, run.answer, asked, run.attempts, run.failures) == ("completed", "Hello.", 4, 4, 0)
    assert_sound(run)


def test_a_provider_that_stays_away_ends_the_run_with_what_it_said() -> None:
    with desk() as here:
        here.model.says(*[DOWN] * 4, text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk)
        asked = len(here.model.asked)

    assert (run.status, run.termination_reason, asked) == ("failed", "provider:ServerError", 4)
    assert run.error
    assert_sound(run)


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 2)])
def test_settings_say_how_often(retries: int, asked: int) -> None:
    with desk() as here, handing_to(IMMEDIATE, RUN_RETRIES=retries):
        here.model.says(*[DOWN] * 3)
        run = llm.run("support", "Hello", user=here.clerk)
        assert (run.status, len(here.model.asked)) == ("failed", asked)


def test_progress_starts_the_count_anew() -> None:
    with desk("find_order") as here:
        look = calls("find_order", number="1")
        here.model.says(DOWN, DOWN, DOWN, look, DOWN, DOWN, DOWN, look, DOWN, DOWN, DOWN, text("Done."))
        run = llm.run("support", "Look", user=here.clerk)
    assert (run.status, run.answer, run.failures) == ("completed", "Done.", 0)
    assert_sound(run)


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (failure(401), "provider:AuthenticationFailed"),
        (failure(400), "provider:InvalidRequest"),
    ],
)
def test_a_failure_that_no_waiting_helps_ends_the_run_at_once(failing: Behaviour, reason: str) -> None:
    with desk() as here:
        here.model.says(failing, text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk)
        asked = len(here.model.asked)
    assert (run.status, run.termination_reason, asked) == ("failed", reason, 1)
    assert_sound(run)


@pytest.mark.parametrize(
    "failing", [failure(429), failure(503), failure(529), close_at_once()], ids=["429", "503", "529", "hang up"]
)
def test_a_failure_that_may_pass_is_waited_out(failing: Behaviour) -> None:
    with desk() as here:
        here.model.says(failing, text("Hello."))
        assert llm.run("support", "Hello", user=here.clerk).status == "completed"


# --- How long ---------------------------------------------------------------------------------------------------------
def test_a_worker_waits_for_nobody_and_leaves_the_run_for_later() -> None:
    with desk() as here, handing_to(DUMMY, RETRY_DELAY=100):
        here.model.says(DOWN)
        run = go_on(queued(here))
        assert (run.status, run.failures) == ("queued", 1)
        assert is_due_in(run, 100, 150)
    assert (run.lease_owner, run.lease_expires_at) == ("", None)


def test_the_next_wait_is_twice_as_long() -> None:
    with desk() as here, handing_to(DUMMY, RETRY_DELAY=100):
        here.model.says(DOWN, DOWN, DOWN)
        run = queued(here)
        for least, most in ((100, 150), (200, 300), (400, 600)):
            run = go_on(run)
            assert is_due_in(run, least, most)
            comes_due(run)


def test_a_provider_that_says_how_long_is_given_that_long() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(failure(429, retry_after="300"))
        assert is_due_in(go_on(queued(here)), 300, 450)


def test_a_provider_that_asks_for_days_is_asked_after_an_hour() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(failure(429, retry_after="864000"))
        assert is_due_in(go_on(queued(here)), 3_600, 3_600)


def test_nobody_takes_a_run_before_it_is_due() -> None:
    with desk() as here, handing_to(DUMMY, RETRY_DELAY=100):
        here.model.says(DOWN, text("Hello."))
        run = go_on(queued(here))
        assert store.claim(run.pk, owner="worker", seconds=60) is None
        assert (go_on(run).status, len(here.model.asked)) == ("queued", 1)
        comes_due(run)
        assert go_on(run).status == "completed"


def test_a_backend_that_cannot_wait_leaves_the_run_to_the_sweep() -> None:
    with desk() as here, handing_to(IMMEDIATE, RETRY_DELAY=100):
        here.model.says(DOWN, text("Hello."))
        run = queued(here)
        assert Run.objects.get().status == "queued"
        assert recover() == Recovered()
        comes_due(run)
        assert recover() == Recovered(handed_out=1)
        assert Run.objects.get().status == "completed"


def test_a_backend_that_can_wait_is_told_until_when() -> None:
    with desk() as here, handing_to(DUMMY, RETRY_DELAY=100):
        here.model.says(DOWN)
        run = go_on(queued(here))
        first, later = task_backends["default"].results  # type: ignore[attr-defined]
        assert first.task.run_after is None
        assert later.args == [str(run.pk)]
        assert is_due_in(run, 100, 150)
        assert abs((later.task.run_after - Run.objects.get().not_before).total_seconds()) < 60
        assert recover() == Recovered()


def test_a_message_for_later_leaves_room_for_a_worker_whose_clock_is_ahead() -> None:
    """It would find nothing to take, and the run would wait for a sweep."""
    with desk() as here, handing_to(DUMMY, RETRY_DELAY=100):
        here.model.says(DOWN)
        due = go_on(queued(here)).not_before
        later = task_backends["default"].results[-1]  # type: ignore[attr-defined]
        assert due is not None
        assert later.task.run_after - due > timedelta(seconds=LATER / 2)


def test_a_message_for_later_that_was_lost_is_sent_again() -> None:
    with desk() as here, handing_to(DUMMY, RETRY_DELAY=100):
        here.model.says(DOWN)
        go_on(queued(here))
        Run.objects.update(not_before=clock.after(-LOST_AFTER - 1), enqueued_at=clock.after(-LOST_AFTER - 1))
        assert recover() == Recovered(handed_out=1)


# --- What is kept -----------------------------------------------------------------------------------------------------
def test_what_was_done_before_the_failure_is_neither_lost_nor_done_again() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        here.model.says(calls("refund_order", number="1", amount="5"), DOWN, DOWN, text("Refunded."))
        call = llm.run("support", "Refund order 1", user=here.clerk).pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)
        run = go_on_until_it_rests(call.run)
        told = [request["messages"][-1]["content"] for request in here.model.asked[1:]]

    assert (run.status, run.answer) == ("completed", "Refunded.")
    assert told == ["refunded 5"] * 3
    assert Group.objects.get().name == "refund 1 5"
    assert run.calls.get().attempt == 1
    assert_sound(run)


def test_what_was_read_before_the_failure_is_not_read_again() -> None:
    with desk("find_order") as here, handing_to(DUMMY):
        here.model.says(calls("find_order", number="1"), DOWN, text("Done."))
        run = go_on(queued(here))
        assert (run.status, run.calls.get().state) == ("queued", "succeeded")
        run = go_on_until_it_rests(run)
    assert (run.status, run.calls.get().attempt) == ("completed", 1)
    assert_sound(run)


def test_the_timeline_says_what_failed_and_how_long_the_run_waits() -> None:
    with desk() as here:
        here.model.says(DOWN, text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk)
    told = run.events.get(kind="run.requeued").payload
    assert (told["reason"], told["failures"]) == ("provider:ServerError", 1)
    assert [one.kind for one in run.events.order_by("sequence") if one.kind.startswith("run.")] == [
        "run.started",
        "run.requeued",
        "run.resumed",
        "run.finished",
    ]


# --- Calls ------------------------------------------------------------------------------------------------------------
def test_the_lease_lasts_while_a_call_waits_for_its_next_attempt(instead_of_waiting: Any) -> None:
    attempts: list[int] = []
    swept: list[Recovered] = []

    def sweep_at_the_end_of(seconds: float) -> None:
        Run.objects.update(lease_expires_at=F("lease_expires_at") - timedelta(seconds=seconds))
        swept.append(recover())

    with desk() as here, handing_to(DUMMY, RETRY_DELAY=1_000):

        @tool(effect=Effect.IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def charge() -> str:
            attempts.append(len(swept))
            if len(attempts) < 3:
                raise ConnectionError("reset")
            return "charged"

        here.grant(charge)
        here.model.says(calls("charge"), text("Done."))
        instead_of_waiting(sweep_at_the_end_of)
        run = llm.run("support", "Charge it", user=here.clerk)

    assert (run.status, run.calls.get().state, attempts) == ("completed", "succeeded", [0, 1, 2])
    assert swept == [Recovered()] * 2


def test_no_pause_between_two_attempts_is_longer_than_an_hour() -> None:
    with override_settings(LLM_FOUNDATION={"RETRY_DELAY": 30_000_000}):
        assert pause_before(2) == 3_600


def test_a_provider_that_has_failed_for_ages_is_still_asked_once_an_hour() -> None:
    with override_settings(LLM_FOUNDATION={"RUN_RETRIES": 1_000_000}):
        assert retry_delay(ServerError("down"), failures=5_000) == 3_600


# --- Who waits --------------------------------------------------------------------------------------------------------
@pytest.fixture
def instead_of_waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[float], object]], None]:
    """No time passes: in the moment in which the starter would sleep, somebody acts, who is told for how long."""

    def let(act: Callable[[float], object]) -> None:
        monkeypatch.setattr("llm_foundation.runs.operations.sleep", act)

    return let


def test_a_run_cancelled_while_its_starter_waits_is_given_back_cancelled(instead_of_waiting: Any) -> None:
    with desk() as here:
        here.model.says(DOWN, text("Hello."))
        instead_of_waiting(lambda _: elsewhere(lambda: llm.cancel(Run.objects.get(), by=here.clerk)))
        run = llm.run("support", "Hello", user=here.clerk)
        assert (run.status, len(here.model.asked)) == ("cancelled", 1)
    assert_sound(run)


def test_a_run_that_somebody_else_takes_while_its_starter_waits_is_given_back_as_it_is(instead_of_waiting: Any) -> None:
    with desk() as here:
        here.model.says(DOWN, text("Hello."))
        instead_of_waiting(lambda _: elsewhere(lambda: go_on_until_it_rests(Run.objects.get())))
        run = llm.run("support", "Hello", user=here.clerk)
        assert (run.status, run.answer, len(here.model.asked)) == ("completed", "Hello.", 2)
    assert_sound(run)


def test_a_starter_that_dies_while_it_waits_leaves_the_run_to_the_sweep(instead_of_waiting: Any) -> None:
    def die(_: float) -> None:
        raise SystemExit

    with desk() as here:
        here.model.says(DOWN, text("Hello."))
        instead_of_waiting(die)
        with pytest.raises(SystemExit):
            llm.run("support", "Hello", user=here.clerk)
        Run.objects.update(not_before=clock.after(-LOST_AFTER - 1), enqueued_at=clock.after(-LOST_AFTER - 1))
        assert recover() == Recovered(handed_out=1)
    assert Run.objects.get().status == "completed"


def test_a_starter_does_not_wait_for_minutes(instead_of_waiting: Any) -> None:
    """It is given the queued run, and a worker takes it up when it is due."""
    with desk() as here, handing_to(DUMMY):
        here.model.says(failure(429, retry_after="300"))
        instead_of_waiting(lambda _: pytest.fail("The starter waits."))
        run = llm.run("support", "Hello", user=here.clerk)
        assert run.status == "queued"
        assert len(task_backends["default"].results) == 1  # type: ignore[attr-defined]


def test_the_async_twin_waits_as_well() -> None:
    with desk() as here:
        here.model.says(DOWN, DOWN, text("Hello."))
        run = async_to_sync(llm.arun)("support", "Hello", user=here.clerk)
    assert (run.status, run.answer, run.attempts) == ("completed", "Hello.", 3)
