"""A form is posted that was true once: twice, by two people, or after the call has gone on without it."""

from typing import Any

import pytest

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided, StaleDigest
from llm_foundation.models import Decision, Run, RunToolCall
from tests.runs.attacks.scene import asked_again, boss, loses, refunded, released_call, rules, scene, waiting_call
from tests.runs.meeting import at_once, kinds
from tests.runs.passing_time import go_on, go_on_until_it_rests

pytestmark = pytest.mark.django_db(transaction=True)

DECISIONS = [llm.approve, llm.deny]


@pytest.mark.parametrize("again", DECISIONS)
def test_the_same_form_posted_twice_decides_once(again: Any) -> None:
    with scene() as here:
        call = released_call(here)
        with pytest.raises(AlreadyDecided) as caught:
            again(call, by=here.approver, digest=call.digest)
    assert (caught.value.decider, caught.value.verdict) == ("approver", "approved")
    assert Decision.objects.count() == 1


def test_of_two_people_at_the_same_moment_one_decides_and_the_other_is_told_what() -> None:
    with scene() as here:
        call, other = waiting_call(here), boss()
        outcomes = at_once(
            [
                lambda: llm.approve(call, by=here.approver, digest=call.digest),
                lambda: llm.deny(call, by=other, digest=call.digest),
            ]
        )
        assert kinds(outcomes) == ["AlreadyDecided", "Run"]
        go_on_until_it_rests(call.run)
    call.refresh_from_db()
    decision = Decision.objects.get()
    assert (decision.verdict, call.state) in [("approved", "succeeded"), ("denied", "denied")]
    assert refunded() == (decision.verdict == "approved")


@pytest.mark.parametrize("decide", DECISIONS)
def test_a_call_whose_run_was_cancelled_is_not_decided_any_more(decide: Any) -> None:
    with scene() as here:
        call = waiting_call(here)
        llm.cancel(call.run, by=here.clerk)
        with pytest.raises(AlreadyDecided) as caught:
            decide(call, by=here.approver, digest=call.digest)
    assert (caught.value.state, refunded()) == ("cancelled", False)


def test_a_call_that_was_changed_and_then_cancelled_with_its_run_was_decided_by_nobody() -> None:
    with scene() as here:
        rules("four_eyes")
        call = waiting_call(here)
        run = llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": "1", "amount": "4"})
        llm.cancel(run, by=here.clerk)
        call.refresh_from_db()
        with pytest.raises(AlreadyDecided, match="no longer waits for a decision: cancelled") as caught:
            llm.approve(call, by=boss(), digest=call.digest)
    assert (caught.value.state, caught.value.decider, refunded()) == ("cancelled", None, False)


@pytest.mark.parametrize("decide", DECISIONS)
def test_a_page_from_before_the_call_was_asked_about_again_decides_nothing(decide: Any) -> None:
    """Everything on it is still so, and yet it was an answer to another question."""
    with scene() as here:
        call = released_call(here)
        loses(here.approver, "decide_toolcall")
        go_on(call.run)
        yesterday = call.digest
        assert asked_again(call) == "permission"
        with pytest.raises(StaleDigest):
            decide(call, by=boss(), digest=yesterday)
    assert Decision.objects.count() == 1


def test_the_digest_of_another_call_that_looks_the_same_is_another_digest() -> None:
    with scene() as here:
        call, twin = waiting_call(here), waiting_call(here)
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest=twin.digest)
    assert Run.objects.filter(status="waiting_for_approval").count() == RunToolCall.objects.pending().count() == 2
