"""Somebody acts between two transactions of a segment, at each place where that can happen."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from django.contrib.auth.models import Group, User

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall, ToolRecord
from llm_foundation.runs.recovery import recover
from tests.practice import Desk, calls, desk, person, text, turn
from tests.runs.boundaries import at_each_boundary
from tests.runs.meeting import elsewhere
from tests.runs.outside_world import World
from tests.runs.passing_time import go_on, go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


class Scene(NamedTuple):
    here: Desk
    world: World
    resolver: User

    def begin(self) -> Run:
        return begin(self.here)

    def ends_well(self, run: Run) -> None:
        """Once everybody has done their work, the run has its answer, and each effect took place once."""
        run = self.world.bring_to_its_end(run, resolver=self.resolver)
        assert (run.status, run.answer) == ("completed", "Done.")
        assert self.world.done(run) == {"book": 1, "send": 1, "charge": 1}


@contextmanager
def scene() -> Iterator[Scene]:
    """A model that does everything in one turn, looks once more, and answers; nobody is told of a queued run."""
    with desk() as here, handing_to(DUMMY):
        world = World()
        here.grant(*world.tools)
        here.model.always_says(world.everything(), calls("look"), text("Done."))
        yield Scene(here, world, person("resolver", "resolve_toolcall"))


def begin(here: Desk) -> Run:
    return llm.run("support", "Do it", user=here.clerk, mode="queue")


def die(run: Run) -> None:
    raise SystemExit


# --- A decision -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("verdicts", [("approve", "approve"), ("approve", "deny"), ("deny", "deny")])
def test_decisions_between_any_two_steps_of_a_running_segment_are_carried_out(verdicts: tuple[str, str]) -> None:
    """Also those that come when the segment is about to wait: no run waits with nothing pending."""
    refunds = [("refund_order", {"number": number, "amount": "5"}) for number in ("1", "2")]
    approved = verdicts.count("approve")

    def decide() -> None:
        for call in RunToolCall.objects.pending():
            getattr(llm, verdicts[call.index])(call, by=here.approver, digest=call.digest)

    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        here.model.always_says(turn(*refunds, ("find_order", {"number": "1"})), text("Done."))
        for run in at_each_boundary(lambda: begin(here), lambda run: elsewhere(decide)):
            decide()
            run = go_on_until_it_rests(run)
            assert (run.status, run.answer) == ("completed", "Done.")
            assert Group.objects.count() == approved
            assert run.calls.filter(state="succeeded").count() == approved + 1
            assert_sound(run)
            Group.objects.all().delete()


def test_a_call_released_while_its_tool_is_switched_off_is_refused_and_costs_its_sibling_nothing() -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        here.model.always_says(
            turn(("refund_order", {"number": "1", "amount": "5"}), ("find_order", {"number": "1"})), text("Done.")
        )
        refund = ToolRecord.objects.filter(name="refund_order")

        def approve_and_switch_off() -> None:
            for call in RunToolCall.objects.pending():
                llm.approve(call, by=here.approver, digest=call.digest)
            refund.update(enabled=False)

        def start() -> Run:
            refund.update(enabled=True)
            return begin(here)

        for run in at_each_boundary(start, lambda run: elsewhere(approve_and_switch_off)):
            run = go_on_until_it_rests(run)
            assert (run.status, run.answer) == ("completed", "Done.")
            assert run.calls.get(tool_name="find_order").state == "succeeded"
            assert Group.objects.count() == run.calls.filter(tool_name="refund_order", state="succeeded").count()
            assert_sound(run)
            Group.objects.all().delete()


# --- A cancel ---------------------------------------------------------------------------------------------------------
def test_a_cancel_between_any_two_steps_ends_the_run_with_an_honest_result_for_each_call() -> None:
    ends = []
    with scene() as on:
        for run in at_each_boundary(on.begin, lambda run: elsewhere(lambda: llm.cancel(run, by=on.here.clerk))):
            ends.append(run.status)
            assert_sound(run)
            on.world.assert_told_truly(run)

    cancelled = ends.index("completed")  # only where the answer was there already
    assert cancelled > 3
    assert ends == ["cancelled"] * cancelled + ["completed"] * (len(ends) - cancelled)


# --- Another segment --------------------------------------------------------------------------------------------------
def test_a_run_brought_to_its_end_by_others_between_any_two_steps_has_each_effect_once() -> None:
    def take_over(run: Run) -> None:
        lease_runs_out(run)
        recover()
        go_on_until_it_rests(run)

    with scene() as on:
        for run in at_each_boundary(on.begin, lambda run: elsewhere(lambda: take_over(run))):
            on.ends_well(run)


def test_a_run_taken_over_between_any_two_steps_is_left_alone_by_the_segment_that_lost_it() -> None:
    """It is queued again, and nobody has taken it yet."""

    def take_over(run: Run) -> None:
        lease_runs_out(run)
        recover()

    with scene() as on:
        for run in at_each_boundary(on.begin, lambda run: elsewhere(lambda: take_over(run))):
            on.ends_well(run)


def test_a_doubled_message_between_any_two_steps_changes_nothing() -> None:
    with scene() as on:
        for run in at_each_boundary(on.begin, lambda run: elsewhere(lambda: go_on(run))):
            assert (run.status, run.attempts) == ("completed", 1)
            on.ends_well(run)


# --- The end of the process -------------------------------------------------------------------------------------------
def test_a_process_that_dies_between_any_two_steps_leaves_a_run_that_goes_on() -> None:
    with scene() as on:
        for run in at_each_boundary(on.begin, die):
            on.ends_well(run)


@pytest.mark.parametrize("is_swept", [False, True], ids=["before the sweep", "after it"])
def test_a_process_that_dies_between_any_two_steps_leaves_a_run_that_can_be_cancelled(is_swept: bool) -> None:
    with scene() as on:
        for run in at_each_boundary(on.begin, die):
            if is_swept:
                lease_runs_out(run)
                recover()
            llm.cancel(run, by=on.here.clerk)
            run = on.world.bring_to_its_end(run, resolver=on.resolver)
            assert run.status in ("cancelled", "completed")
            on.world.assert_told_truly(run)
