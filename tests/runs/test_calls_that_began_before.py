"""A write that began, and of which nobody knows what it came to, shall not run any more: no run says it never ran."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from django.contrib.auth.models import User

from llm_foundation import llm
from llm_foundation.exceptions import NotExecuted
from llm_foundation.models import Configuration, Run, RunToolCall, ToolRecord
from llm_foundation.runs.recovery import recover
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.practice import Desk, calls, desk, person, text
from tests.runs.passing_time import attempt_is_over, go_on, go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


class Scene(NamedTuple):
    """``charged`` has one entry for each attempt; the process died in the first one, after its effect."""

    here: Desk
    run: Run
    charged: list[str]
    resolver: User

    @property
    def call(self) -> RunToolCall:
        return self.run.calls.get()

    def assert_in_doubt(self) -> None:
        self.run.refresh_from_db()
        assert (self.run.status, self.call.state, len(self.charged)) == ("in_doubt", "in_doubt", 1)
        assert len(self.here.model.asked) == 1
        assert_sound(self.run)

    def resolve(self) -> Run:
        run = llm.resolve(self.call, by=self.resolver, outcome="happened", result="It was charged.")
        return go_on_until_it_rests(run)


@contextmanager
def began_before(effect: Effect = Effect.IDEMPOTENT_WRITE, second: Exception | None = None) -> Iterator[Scene]:
    """A sweep has given the call back to be repeated; nobody has taken its run yet."""
    with desk() as here, handing_to(DUMMY):
        charged: list[str] = []

        @tool(effect=effect, data_class=DataClass.PUBLIC, approval=False)
        def charge(context: ToolContext) -> str:
            charged.append(context.idempotency_key)
            if len(charged) == 1:
                raise SystemExit
            if second:
                raise second
            return "charged"

        here.grant(charge)
        here.model.always_says(calls("charge"), text("Done."))
        with pytest.raises(SystemExit):
            llm.run("support", "Charge it", user=here.clerk)
        run = Run.objects.get()
        lease_runs_out(run)
        recover()
        assert (Run.objects.get().status, run.calls.get().state) == ("queued", "ready")
        yield Scene(here, run, charged, person("resolver", "resolve_toolcall"))


def test_a_cancel_puts_it_before_a_person() -> None:
    with began_before() as on:
        assert llm.cancel(on.run, by=on.here.clerk).status == "in_doubt"
        on.assert_in_doubt()
        run = on.resolve()
        assert (run.status, run.transcript[-1].text) == ("cancelled", "It was charged.")
        assert_sound(run)


def test_a_tool_switched_off_meanwhile_puts_it_before_a_person() -> None:
    with began_before() as on:
        ToolRecord.objects.update(enabled=False)
        go_on(on.run)
        on.assert_in_doubt()
        run = on.resolve()
        assert (run.status, run.answer, run.transcript[2].text) == ("completed", "Done.", "It was charged.")
        assert_sound(run)


def test_a_denial_puts_it_before_a_person() -> None:
    with began_before() as on:
        ToolRecord.objects.update(always_ask=True)
        assert go_on(on.run).status == "waiting_for_approval"
        llm.deny(on.call, by=on.here.approver, digest=on.call.digest)
        go_on_until_it_rests(on.run)
        on.assert_in_doubt()
        assert on.resolve().status == "completed"


def test_an_approval_lets_it_be_repeated_with_its_key() -> None:
    with began_before() as on:
        ToolRecord.objects.update(always_ask=True)
        go_on(on.run)
        llm.approve(on.call, by=on.here.approver, digest=on.call.digest)
        run = go_on_until_it_rests(on.run)
        first, second = on.charged
        assert (run.status, first) == ("completed", second)
        assert_sound(run)


def test_a_run_that_cannot_go_on_puts_it_before_a_person() -> None:
    with began_before() as on:
        Configuration.objects.update(enabled=False)
        go_on(on.run)
        on.assert_in_doubt()


def test_what_did_not_happen_after_all_is_said_not_to_have_been_executed() -> None:
    with began_before() as on:
        llm.cancel(on.run, by=on.here.clerk)
        attempt_is_over(on.call)
        run = llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        assert (run.status, on.call.state) == ("cancelled", "cancelled")
        assert on.call.result == "Error: the run ended before this call was executed."


def test_an_attempt_that_says_it_did_nothing_speaks_of_itself_alone() -> None:
    with began_before(second=NotExecuted("Not now.")) as on:
        run = go_on_until_it_rests(on.run)
        assert (run.status, on.call.state) == ("in_doubt", "in_doubt")
        assert len(set(on.charged)) == 1


@pytest.mark.parametrize("effect", [Effect.READ_ONLY, Effect.TRANSACTIONAL_WRITE])
def test_what_left_nothing_behind_is_nobodys_concern(effect: Effect) -> None:
    with began_before(effect) as on:
        run = llm.cancel(on.run, by=on.here.clerk)
        assert (run.status, on.call.state) == ("cancelled", "cancelled")
        assert_sound(run)
