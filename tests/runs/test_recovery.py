"""A process is lost with the run that it held: what a sweep makes of the run, and of the call that was executing."""

from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall, ToolRecord
from llm_foundation.runs import clock, store
from llm_foundation.runs.recovery import MAX_LOST_LEASES, Recovered, recover
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, registry, tool
from tests.practice import Desk, calls, desk, text, turn
from tests.runs.passing_time import go_on, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


class Fatal:
    """A tool in which the process dies, as long as it is ``deadly``. ``keys`` has one entry for each attempt."""

    def __init__(self, effect: Effect, **said: Any) -> None:
        self.is_deadly = True
        self.keys: list[str] = []

        @tool(effect=effect, data_class=DataClass.PUBLIC, approval=False, **said)
        def fatal(context: ToolContext) -> str:
            self.keys.append(context.idempotency_key)
            if effect is Effect.TRANSACTIONAL_WRITE:
                Group.objects.create(name="effect")
            if self.is_deadly:
                raise SystemExit
            return "survived"

        self.tool: Tool = fatal


def killed(here: Desk, fatal: Fatal) -> Run:
    """A run whose process has died in its tool, and whose lease has run out."""
    here.grant(fatal.tool)
    here.model.always_says(calls("fatal"), text("Done."))
    with pytest.raises(SystemExit):
        llm.run("support", "Do it", user=here.clerk)
    run = Run.objects.latest("created_at")
    lease_runs_out(run)
    return run


def claimed(here: Desk) -> Run:
    """A run that a worker has taken and does not go on with."""
    run = llm.run("support", "Hello", user=here.clerk, mode="queue")
    assert store.claim(run.pk, owner="worker", seconds=60)
    return run


# --- What becomes of the call -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("effect", [Effect.READ_ONLY, Effect.TRANSACTIONAL_WRITE, Effect.IDEMPOTENT_WRITE])
def test_a_call_that_may_be_repeated_is_repeated_with_its_key(effect: Effect) -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, fatal := Fatal(effect))
        assert (run.status, run.calls.get().state) == ("running", "executing")
        assert recover() == Recovered(taken_over=1)
        assert (Run.objects.get().status, run.calls.get().state) == ("queued", "ready")
        fatal.is_deadly = False
        run = go_on(run)

    call = run.calls.get()
    assert (run.status, run.attempts, call.state, call.attempt) == ("completed", 2, "succeeded", 2)
    assert fatal.keys == [str(call.idempotency_key)] * 2
    assert Group.objects.count() == (effect is Effect.TRANSACTIONAL_WRITE)
    assert_sound(run)


def test_a_call_that_cannot_be_repeated_is_in_doubt_and_nobody_repeats_it() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, fatal := Fatal(Effect.NON_IDEMPOTENT_WRITE))
        recover()
        run = go_on(run)
        asked = len(here.model.asked)

    assert (run.status, run.calls.get().state, len(fatal.keys), asked) == ("in_doubt", "in_doubt", 1, 1)
    assert_sound(run)


def test_an_idempotent_write_is_in_doubt_once_its_attempts_are_used_up() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, fatal := Fatal(Effect.IDEMPOTENT_WRITE))
        states = []
        while not states or states[-1] == "ready":
            recover()
            states.append(run.calls.get().state)
            if states[-1] == "ready":
                with pytest.raises(SystemExit):
                    go_on(run)
            lease_runs_out(run)

    assert states == ["ready", "ready", "in_doubt"]
    assert len(fatal.keys) == 3
    assert len(set(fatal.keys)) == 1


def test_an_idempotent_write_is_in_doubt_when_the_other_system_has_forgotten_its_key() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, Fatal(Effect.IDEMPOTENT_WRITE, idempotency_window=3_600))
        RunToolCall.objects.update(started_at=clock.after(-3_601))
        recover()
    assert run.calls.get().state == "in_doubt"


def test_a_tool_declared_stricter_since_then_is_treated_so() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, Fatal(Effect.READ_ONLY))
        with registry.isolated(Fatal(Effect.NON_IDEMPOTENT_WRITE).tool):
            recover()
    assert run.calls.get().state == "in_doubt"


def test_a_tool_declared_milder_since_then_is_treated_as_it_was() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, Fatal(Effect.NON_IDEMPOTENT_WRITE))
        with registry.isolated(Fatal(Effect.READ_ONLY).tool):
            recover()
    assert run.calls.get().state == "in_doubt"


def test_a_tool_that_is_gone_is_treated_as_it_was() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, Fatal(Effect.NON_IDEMPOTENT_WRITE))
        with registry.isolated():
            recover()
            assert go_on(run).status == "in_doubt"


def test_a_call_that_the_gate_refuses_meanwhile_is_not_repeated() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, fatal := Fatal(Effect.READ_ONLY))
        recover()
        ToolRecord.objects.update(enabled=False)
        run = go_on(run)

    assert (run.status, run.calls.get().state, len(fatal.keys)) == ("completed", "refused", 1)
    assert_sound(run)


def test_calls_that_were_not_executing_stay_where_they_were() -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        fatal = Fatal(Effect.READ_ONLY)
        here.grant(fatal.tool)
        refund = ("refund_order", {"number": "1", "amount": "5"})
        here.model.always_says(calls("find_order", number="1"), turn(refund, ("fatal", {})), text("Done."))
        with pytest.raises(SystemExit):
            llm.run("support", "Do it", user=here.clerk)
        run = Run.objects.get()
        lease_runs_out(run)
        recover()

    states = list(run.calls.order_by("turn", "index").values_list("tool_name", "state"))
    assert states == [("find_order", "succeeded"), ("refund_order", "pending"), ("fatal", "ready")]


# --- Whose lease has run out ------------------------------------------------------------------------------------------
def test_a_run_whose_lease_lasts_is_left_alone() -> None:
    with desk() as here, handing_to(DUMMY):
        run = claimed(here)
        assert recover() == Recovered()
    run.refresh_from_db()
    assert (run.status, run.lost_leases) == ("running", 0)


def test_runs_that_wait_or_have_ended_are_left_alone() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        here.model.says(text("Hello."), calls("refund_order", number="1", amount="5"))
        llm.run("support", "Hello", user=here.clerk)
        llm.run("support", "Refund order 1", user=here.clerk)
        Run.objects.update(lease_expires_at=clock.after(-1))
        assert recover() == Recovered()
    assert sorted(Run.objects.values_list("status", flat=True)) == ["completed", "waiting_for_approval"]


def test_the_lease_lasts_for_what_the_segment_is_at() -> None:
    """Longer than the tool may take, although it may take an hour."""
    seen = []

    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC, timeout=3_600)
        def slow() -> str:
            seen.append(Run.objects.filter(lease_expires_at__gt=clock.after(3_600)).exists())
            return "seen"

        here.grant(slow)
        here.model.says(turn(("slow", {}), ("slow", {})), text("Done."))
        llm.run("support", "Look", user=here.clerk)
    assert seen == [True, True]


# --- Too many times ---------------------------------------------------------------------------------------------------
def test_a_run_whose_processes_all_vanish_is_given_up() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        for _ in range(MAX_LOST_LEASES + 1):
            assert store.claim(run.pk, owner="worker", seconds=60)
            lease_runs_out(run)
            assert recover().taken_over == 1
        run.refresh_from_db()

    assert (run.status, run.termination_reason) == ("failed", "abandoned")
    assert run.error == "Every process that executed this run was lost."
    assert run.attempts == MAX_LOST_LEASES + 1
    assert_sound(run)


def test_a_run_that_is_given_up_has_a_result_for_each_call() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, Fatal(Effect.READ_ONLY))
        Run.objects.update(lost_leases=MAX_LOST_LEASES)
        recover()
        run.refresh_from_db()

    assert (run.status, run.calls.get().state) == ("failed", "cancelled")
    assert run.transcript[-1].text == "Error: the run ended before this call was executed."
    assert_sound(run)


def test_a_run_with_a_call_in_doubt_is_not_given_up_before_somebody_has_found_out() -> None:
    with desk() as here, handing_to(DUMMY):
        run = killed(here, Fatal(Effect.NON_IDEMPOTENT_WRITE))
        Run.objects.update(lost_leases=MAX_LOST_LEASES)
        recover()
        run.refresh_from_db()
    assert (run.status, run.calls.get().state) == ("in_doubt", "in_doubt")
    assert_sound(run)


def test_progress_between_two_losses_starts_the_count_anew() -> None:
    with desk() as here, handing_to(DUMMY):
        fatal = Fatal(Effect.READ_ONLY)
        here.grant(fatal.tool)
        here.model.always_says(calls("fatal"), calls("fatal"), text("Done."))
        run = llm.run("support", "Do it", user=here.clerk, mode="queue")
        Run.objects.update(lost_leases=MAX_LOST_LEASES)
        with pytest.raises(SystemExit):
            go_on(run)
        lease_runs_out(run)
        recover()
        run.refresh_from_db()
    assert (run.status, run.lost_leases) == ("queued", 1)
