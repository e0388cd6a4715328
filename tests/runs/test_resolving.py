"""What a person says became of a call in doubt, when, and what follows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User

from llm_foundation import llm
from llm_foundation.exceptions import (
    AlreadyDecided,
    StaleDigest,
    TooEarly,
)
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.practice import Desk, calls, desk, person, text, turn
from tests.runs.meeting import at_once, kinds
from tests.runs.passing_time import attempt_is_over, go_on, go_on_until_it_rests
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


class Scene(NamedTuple):
    """``sent`` has one entry for each attempt of the call in doubt; only the first of them fails."""

    here: Desk
    call: RunToolCall
    resolver: User
    sent: list[str]

    def told(self) -> list[str]:
        """What the model was told of the calls of its turn."""
        return [one["content"] for one in self.here.model.asked[-1]["messages"] if one["role"] == "tool"]

    def approve(self) -> Run:
        self.call.refresh_from_db()
        return llm.approve(self.call, by=self.here.approver, digest=self.call.digest)


@contextmanager
def doubt(*, approval: bool = True, backend: str = IMMEDIATE, siblings: int = 0) -> Iterator[Scene]:
    with desk() as here, handing_to(backend):
        sent: list[str] = []

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=approval)
        def send(context: ToolContext, to: str) -> str:
            sent.append(context.idempotency_key)
            if len(sent) <= 1 + siblings:
                raise RuntimeError("connection reset")
            return f"sent to {to}"

        here.grant(send)
        here.model.always_says(turn(*[("send", {"to": "Ada"})] * (1 + siblings)), text("Done."))
        run = llm.run("support", "Write to Ada", user=here.clerk)
        for call in run.pending_calls:
            llm.approve(call, by=here.approver, digest=call.digest)
        run = go_on_until_it_rests(run)
        assert run.status == "in_doubt"
        yield Scene(here, run.calls.order_by("index")[0], person("resolver", "resolve_toolcall"), sent)


# --- Three outcomes ---------------------------------------------------------------------------------------------------
def test_what_happened_is_told_with_the_result_that_the_person_knows() -> None:
    with doubt() as on:
        run = llm.resolve(on.call, by=on.resolver, outcome="happened", result="Ada has it.")
        assert (run.status, run.answer, on.told(), len(on.sent)) == ("completed", "Done.", ["Ada has it."], 1)
    on.call.refresh_from_db()
    assert (on.call.state, on.call.result, on.call.finished_at is not None) == ("succeeded", "Ada has it.", True)
    assert_sound(run)


def test_what_happened_is_told_although_nobody_knows_its_result() -> None:
    with doubt() as on:
        run = llm.resolve(on.call, by=on.resolver, outcome="happened")
        assert on.told() == ["The call took effect; a person has confirmed it. Its own result is not known."]
    assert run.status == "completed"


def test_what_nobody_can_find_out_is_told_so_and_not_repeated() -> None:
    with doubt() as on:
        run = llm.resolve(on.call, by=on.resolver, outcome="give_up")
        assert on.told() == ["Error: nobody knows whether this call took effect. Do not make it again."]
        assert len(on.sent) == 1
    on.call.refresh_from_db()
    assert (run.status, on.call.state) == ("completed", "failed")
    assert_sound(run)


def test_what_did_not_happen_waits_for_a_fresh_approval_and_then_happens() -> None:
    with doubt() as on:
        attempt_is_over(on.call)
        run = llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        assert (run.status, len(on.sent)) == ("waiting_for_approval", 1)
        assert run.pending_calls.get() == on.call
        run = on.approve()
        assert (run.status, on.told()) == ("completed", ["sent to Ada"])
        first, second = on.sent
    assert first == second
    assert_sound(run)


def test_what_did_not_happen_runs_at_once_where_nobody_is_to_be_asked() -> None:
    with doubt(approval=False) as on:
        attempt_is_over(on.call)
        run = llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        assert (run.status, on.told(), len(on.sent)) == ("completed", ["sent to Ada"], 2)
    assert_sound(run)


def test_what_did_not_happen_can_still_be_denied() -> None:
    with doubt() as on:
        attempt_is_over(on.call)
        llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        on.call.refresh_from_db()
        run = llm.deny(on.call, by=on.here.approver, digest=on.call.digest, reason="Too late now.")
        assert len(on.sent) == 1
    assert (run.status, run.calls.get().state) == ("completed", "denied")


# --- The approval from before -----------------------------------------------------------------------------------------
def test_the_digest_from_before_the_doubt_releases_nothing() -> None:
    with doubt() as on:
        before = on.call.digest
        attempt_is_over(on.call)
        llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        on.call.refresh_from_db()
        with pytest.raises(StaleDigest):
            llm.approve(on.call, by=on.here.approver, digest=before)
        assert (on.call.state, on.call.digest != before, len(on.sent)) == ("pending", True, 1)


def test_the_approval_from_before_the_doubt_releases_nothing() -> None:
    """Whoever can write into the database puts the call back to where the approval would count."""
    with doubt(backend=DUMMY) as on:
        attempt_is_over(on.call)
        llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        RunToolCall.objects.update(state="ready", digest=on.call.digest)
        assert go_on(on.call.run).status == "waiting_for_approval"
        assert len(on.sent) == 1


def test_a_clock_that_is_behind_brings_no_old_approval_back() -> None:
    with doubt(backend=DUMMY) as on:
        attempt_is_over(on.call)
        llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        Decision.objects.filter(verdict="approved").update(decided_at="2100-01-01T00:00:00Z")
        assert go_on(on.call.run).status == "waiting_for_approval"
        assert len(on.sent) == 1


def test_each_doubt_needs_its_own_approval() -> None:
    with doubt(siblings=1) as on:  # the second attempt of the first call fails, too
        other = on.call.run.calls.order_by("index")[1]
        llm.resolve(other, by=on.resolver, outcome="give_up")
        for _ in range(2):
            on.sent.clear()
            attempt_is_over(on.call)
            run = llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
            assert run.status == "waiting_for_approval"
            assert on.approve().status == "in_doubt"
            assert len(on.sent) == 1
    on.call.refresh_from_db()
    assert on.call.repeats == 2
    verdicts = list(on.call.decisions.order_by("number").values_list("verdict", flat=True))
    assert verdicts == ["approved", "did_not_happen", "approved", "did_not_happen", "approved"]


# --- When -------------------------------------------------------------------------------------------------------------
def test_nobody_says_that_nothing_happened_before_the_attempt_must_be_over() -> None:
    with doubt() as on:
        with pytest.raises(TooEarly) as caught:
            llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        assert caught.value.not_before == on.call.deadline_at
        assert not Decision.objects.filter(verdict="did_not_happen").exists()
    assert Run.objects.get().status == "in_doubt"


@pytest.mark.parametrize("outcome", ["happened", "give_up"])
def test_the_other_outcomes_can_be_said_at_once(outcome: Any) -> None:
    with doubt() as on:
        assert llm.resolve(on.call, by=on.resolver, outcome=outcome).status == "completed"


def test_a_doubt_is_resolved_once() -> None:
    with doubt() as on:
        llm.resolve(on.call, by=on.resolver, outcome="give_up")
        with pytest.raises(AlreadyDecided, match="not in doubt: failed") as caught:
            llm.resolve(on.call, by=on.resolver, outcome="happened")
        assert caught.value.state == "failed"
    assert Decision.objects.filter(verdict="happened").count() == 0


def test_a_call_that_is_not_in_doubt_is_not_resolved() -> None:
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1", amount="5"))
        call = llm.run("support", "Refund order 1", user=here.clerk).pending_calls.get()
        with pytest.raises(AlreadyDecided, match="waiting for a decision"):
            llm.resolve(call, by=person("resolver", "resolve_toolcall"), outcome="happened")
    assert call.run.pending_calls.get() == call


def test_of_two_doubts_resolved_at_the_same_moment_both_count_and_the_run_goes_on() -> None:
    with doubt(siblings=1, backend=DUMMY) as on:

        def resolve(call: RunToolCall, result: str) -> Callable[[], Run]:
            return lambda: llm.resolve(call, by=on.resolver, outcome="happened", result=result)

        first, second = on.call.run.calls.order_by("index")
        assert kinds(at_once([resolve(first, "one"), resolve(second, "two")])) == ["Run", "Run"]
        run = go_on_until_it_rests(on.call.run)
        assert (run.status, on.told()) == ("completed", ["one", "two"])
    assert_sound(run)


def test_one_of_two_doubts_resolved_leaves_the_run_in_doubt() -> None:
    with doubt(siblings=1) as on:
        run = llm.resolve(on.call, by=on.resolver, outcome="happened")
        assert (run.status, len(on.here.model.asked)) == ("in_doubt", 1)
    assert list(run.calls.order_by("index").values_list("state", flat=True)) == ["succeeded", "in_doubt"]
    assert_sound(run)


# --- What else may have come ------------------------------------------------------------------------------------------
def test_a_tool_withdrawn_meanwhile_is_not_called_again() -> None:
    with doubt(approval=False) as on:
        attempt_is_over(on.call)
        on.here.configuration.tools.clear()
        run = llm.resolve(on.call, by=on.resolver, outcome="did_not_happen")
        assert len(on.sent) == 1
    assert (run.status, run.calls.get().state, run.calls.get().reason) == ("completed", "refused", "not_granted")


def test_the_timeline_says_who_resolved_what() -> None:
    with doubt() as on:
        run = llm.resolve(on.call, by=on.resolver, outcome="give_up")
    told = run.events.get(kind="call.resolved")
    assert told.payload["verdict"] == "give_up"
    assert told.payload["decider"] == str(on.resolver.pk)
    assert told.tool_call_id == on.call.pk
