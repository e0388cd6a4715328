"""A slow tool outlives the lease of its run: what its end is still worth, by what it does to the world."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided, NotExecuted, TooEarly
from llm_foundation.models import Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.runs import clock
from llm_foundation.runs.recovery import Recovered, recover
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, tool
from tests.practice import Desk, calls, desk, person, text
from tests.runs.meeting import Beside, Gate, at_once, beside
from tests.runs.passing_time import attempt_is_over, go_on, go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

READ_ONLY, IDEMPOTENT, NON_IDEMPOTENT = Effect.READ_ONLY, Effect.IDEMPOTENT_WRITE, Effect.NON_IDEMPOTENT_WRITE


class Slow:
    """A tool that stops at a gate in its first attempt, after its effect. ``keys`` has one entry for each attempt."""

    def __init__(self, effect: Effect) -> None:
        self.gate = Gate()
        self.keys: list[str] = []
        self.error: Exception | None = None
        self.tool = self._tool(effect)

    def _tool(self, effect: Effect) -> Tool:
        @tool(effect=effect, data_class=DataClass.PUBLIC, approval=False)
        def slow(context: ToolContext) -> str:
            self.keys.append(context.idempotency_key)
            number = len(self.keys)
            if number == 1:
                self.gate.stop_here()
                if self.error:
                    raise self.error
            return f"attempt {number}"

        return slow


class Scene(NamedTuple):
    here: Desk
    slow: Slow
    run: Run
    resolver: User
    segment: Beside

    @property
    def call(self) -> RunToolCall:
        return self.run.calls.get()

    def let_it_end(self) -> None:
        """The tool returns, or raises, and the segment that has lost the run stops."""
        self.slow.gate.open()
        assert isinstance(self.segment.result, Run)

    def told(self) -> str:
        """What the model was told of the call."""
        result: str = self.here.model.asked[-1]["messages"][-1]["content"]
        return result


@contextmanager
def outliving(effect: Effect) -> Iterator[Scene]:
    """The tool is at work, the lease of its run has run out, and a sweep has taken the run over."""
    with desk() as here, handing_to(DUMMY):
        slow = Slow(effect)
        here.grant(slow.tool)
        here.model.always_says(calls("slow"), text("Done."))
        resolver = person("resolver", "resolve_toolcall")
        run = llm.run("support", "Do it", user=here.clerk, mode="queue")
        with beside(lambda: go_on(run)) as segment:
            try:
                slow.gate.wait_until_reached()
                lease_runs_out(run)
                assert recover() == Recovered(taken_over=1)
                yield Scene(here, slow, run, resolver, segment)
            finally:
                slow.gate.open()


# --- What cannot be repeated ------------------------------------------------------------------------------------------
def test_a_late_result_of_the_attempt_in_doubt_settles_it() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        assert (on.call.state, go_on(on.run).status) == ("in_doubt", "in_doubt")
        on.let_it_end()
        run = go_on_until_it_rests(on.run)
        assert (run.status, on.call.state, on.told()) == ("completed", "succeeded", "attempt 1")
        assert len(on.slow.keys) == 1
        assert_sound(run)


def test_a_late_result_that_comes_before_the_next_segment_settles_the_call_as_well() -> None:
    """The run is still queued: nobody has seen the doubt."""
    with outliving(NON_IDEMPOTENT) as on:
        on.let_it_end()
        run = go_on_until_it_rests(on.run)
        assert (run.status, on.call.state, on.told(), len(on.slow.keys)) == ("completed", "succeeded", "attempt 1", 1)
        assert_sound(run)


def test_a_late_word_that_nothing_was_done_settles_the_doubt_as_well() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        on.slow.error = NotExecuted("The line was dead.")
        on.let_it_end()
        run = go_on_until_it_rests(on.run)
        assert (run.status, on.call.state, on.told()) == ("completed", "failed", "Error: The line was dead.")
        assert_sound(run)


def test_a_late_error_leaves_the_doubt_to_a_person() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        on.slow.error = RuntimeError("connection reset")
        on.let_it_end()
        run = go_on_until_it_rests(on.run)
        assert (run.status, on.call.state, len(on.here.model.asked)) == ("in_doubt", "in_doubt", 1)
        assert_sound(run)


def test_a_late_result_does_not_contradict_the_person_who_has_resolved_the_doubt() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        llm.resolve(on.call, by=on.resolver, outcome="happened", result="It stands in the book.")
        on.let_it_end()
        run = go_on_until_it_rests(on.run)
        assert (run.status, on.told()) == ("completed", "It stands in the book.")
        assert_sound(run)


def test_a_person_comes_too_late_for_a_doubt_that_a_late_result_has_settled() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        on.let_it_end()
        with pytest.raises(AlreadyDecided):
            llm.resolve(on.call, by=on.resolver, outcome="give_up")
        assert on.call.state == "succeeded"


def test_nobody_says_that_nothing_happened_while_the_attempt_may_be_at_work() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        with pytest.raises(TooEarly) as caught:
            llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        assert caught.value.not_before == on.call.deadline_at


def test_a_late_result_of_an_attempt_that_a_person_had_repeated_is_worth_nothing() -> None:
    """Much later than its deadline: a sync tool cannot be stopped."""
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        attempt_is_over(on.call)
        llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        run = go_on_until_it_rests(on.run)
        on.let_it_end()
        assert (run.status, on.call.state, on.told()) == ("completed", "succeeded", "attempt 2")
        assert on.call.result == "attempt 2"
        assert_sound(run)


def test_a_late_result_of_a_run_that_is_to_be_cancelled_is_kept_and_the_run_ends() -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        assert llm.cancel(on.run, by=on.here.clerk).status == "in_doubt"
        on.let_it_end()
        run = Run.objects.get()
        assert (run.status, on.call.state, run.transcript[-1].text) == ("cancelled", "succeeded", "attempt 1")
        assert_sound(run)


@pytest.mark.parametrize("outcome", ["happened", "give_up"])
def test_a_person_and_a_late_result_that_come_at_the_same_moment_settle_the_call_once(outcome: Any) -> None:
    with outliving(NON_IDEMPOTENT) as on:
        go_on(on.run)
        call = on.call

        def resolve() -> Run:
            return llm.resolve(call, by=on.resolver, outcome=outcome, result="said" if outcome == "happened" else None)

        said, _ = at_once([resolve, on.let_it_end])
        run = go_on_until_it_rests(on.run)
        was_late = isinstance(said, AlreadyDecided)
        expected = "attempt 1" if was_late else {"happened": "said"}.get(outcome, on.call.result)
        assert (run.status, on.told(), on.call.result) == ("completed", expected, expected)
        assert on.call.decisions.count() == (not was_late)
        assert len(on.slow.keys) == 1
        assert_sound(run)


# --- What may be repeated ---------------------------------------------------------------------------------------------
def test_an_idempotent_write_is_repeated_with_its_key_and_the_late_result_is_worth_nothing() -> None:
    with outliving(IDEMPOTENT) as on:
        assert on.call.state == "ready"
        run = go_on_until_it_rests(on.run)
        on.let_it_end()
        first, second = on.slow.keys
        assert first == second
        assert (run.status, on.call.attempt, on.call.result, on.told()) == ("completed", 2, "attempt 2", "attempt 2")
        assert_sound(run)


def test_a_read_is_repeated_and_its_late_result_is_worth_nothing() -> None:
    with outliving(READ_ONLY) as on:
        run = go_on_until_it_rests(on.run)
        on.let_it_end()
        assert (run.status, on.call.attempt, run.transcript[2].text) == ("completed", 2, "attempt 2")
        assert_sound(run)


def test_a_late_segment_writes_nothing_into_a_run_that_somebody_else_is_at() -> None:
    """Neither its result, nor its end."""
    with outliving(READ_ONLY) as on:
        on.here.grant(other := waiting_tool(gate := Gate()))
        on.here.model.always_says(calls("slow"), calls(other.name), text("Done."))
        Run.objects.update(offer=["slow", other.name])
        with beside(lambda: go_on(on.run)) as second:
            gate.wait_until_reached()
            before = everything_but_the_revision()
            on.let_it_end()
            assert everything_but_the_revision() == before
            gate.open()
        assert second.result.status == "completed"
        assert_sound(on.run)


def everything_but_the_revision() -> list[dict[str, Any]]:
    """A late result takes the run's mutex, which counts, to see whether it is still wanted."""
    rows = [model.objects.order_by("pk").values() for model in (RunToolCall, RunMessage, RunEvent)]
    return [*({**row, "revision": 0} for row in Run.objects.values()), *(one for table in rows for one in table)]


def waiting_tool(gate: Gate) -> Tool:
    @tool(effect=READ_ONLY, data_class=DataClass.PUBLIC)
    def other() -> str:
        gate.stop_here()
        return "seen"

    return other


# --- What is one transaction with its row -----------------------------------------------------------------------------
def test_a_transactional_tool_that_outlives_its_lease_has_one_effect() -> None:
    """A sweep leaves a call alone whose transaction is at work; on SQLite it has to wait for its end anyway."""
    gate, attempts = Gate(), []

    with desk() as here, handing_to(DUMMY, LEASE_MARGIN=0.001):

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, approval=False, timeout=0.001)
        def book() -> str:
            attempts.append(1)
            Group.objects.create(name=f"attempt {len(attempts)}")
            gate.stop_here()
            return "booked"

        here.grant(book)
        here.model.always_says(calls("book"), text("Done."))
        run = llm.run("support", "Book it", user=here.clerk, mode="queue")
        with beside(lambda: go_on(run)):
            gate.wait_until_reached()
            while not Run.objects.filter(lease_expires_at__lt=clock.now()).exists():
                pass
            with beside(recover) as sweep:
                if connection.features.has_select_for_update_skip_locked:
                    assert sweep.result == Recovered()
                gate.open()
        run = go_on_until_it_rests(run)
        told = here.model.asked[-1]["messages"][-1]["content"]

    assert (run.status, told, attempts) == ("completed", "booked", [1])
    assert Group.objects.get().name == "attempt 1"
    assert_sound(run)
