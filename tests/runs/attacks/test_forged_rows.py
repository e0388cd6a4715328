"""Somebody writes to the database between a decision and the execution: states, calls, decisions and rules."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.exceptions import DecisionNotPermitted
from llm_foundation.models import Decision, Run, RunToolCall
from tests.practice import person
from tests.runs.attacks.scene import (
    asked_again,
    boss,
    forced,
    loses,
    refunded,
    released_call,
    rules,
    scene,
    waiting_call,
)
from tests.runs.passing_time import go_on

pytestmark = pytest.mark.django_db(transaction=True)


# --- Of the call ------------------------------------------------------------------------------------------------------
def change_arguments(call: RunToolCall) -> None:
    forged = call.written_call
    forged["function"]["arguments"]["amount"] = "9000"
    RunToolCall.objects.update(arguments_sealed=RunToolCall.written_call.seal(call, forged))


def add_edit(call: RunToolCall) -> None:
    sealed = RunToolCall.edited.seal(call, {"number": "1", "amount": "9000"})
    RunToolCall.objects.update(edited_sealed=sealed, editor=call.decisions.get().decider)


def change_preview(call: RunToolCall) -> None:
    harmless = {"lines": ["Order 1: nothing happens"], "failed": False}
    RunToolCall.objects.update(preview_sealed=RunToolCall.preview.seal(call, harmless))


CHANGES: dict[str, Callable[[RunToolCall], object]] = {
    "other arguments": change_arguments,
    "an edit that nobody made": add_edit,
    "another preview": change_preview,
    "a more harmless effect": lambda call: RunToolCall.objects.update(effect="read_only"),
    "another place in its turn": lambda call: RunToolCall.objects.update(index=7),
    "asked for less often": lambda call: RunToolCall.objects.update(asked=0),
    "no digest": lambda call: RunToolCall.objects.update(digest=""),
    "another digest": lambda call: RunToolCall.objects.update(digest=f"{call.digest[:-1]}x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_call_that_was_changed_after_its_release_is_put_before_people_again(change: str) -> None:
    with scene() as here:
        call = released_call(here)
        CHANGES[change](call)
        go_on(call.run)
        assert asked_again(call) == "digest"


def test_a_call_is_not_executed_for_somebody_else_than_the_decision_was_about() -> None:
    with scene() as here:
        call = released_call(here)
        Run.objects.update(owner=boss())
        go_on(call.run)
        assert asked_again(call) == "digest"


def test_arguments_copied_from_another_call_do_not_even_open() -> None:
    with scene() as here:
        call, other = released_call(here), waiting_call(here)
        RunToolCall.objects.filter(pk=call.pk).update(arguments_sealed=other.arguments_sealed)
        run = go_on(call.run)
    assert (run.status, refunded()) == ("failed", False)


def test_a_state_alone_releases_nothing() -> None:
    with scene() as here:
        call = waiting_call(here)
        forced(call)
        assert asked_again(call) == "decision"


# --- Of the decision --------------------------------------------------------------------------------------------------
def test_a_denial_turned_into_an_approval_releases_nothing() -> None:
    with scene() as here:
        call = waiting_call(here)
        llm.deny(call, by=here.approver, digest=call.digest)
        Decision.objects.update(verdict="approved")
        forced(call)
        assert asked_again(call) == "decision"


FORGERIES: dict[str, dict[str, Any]] = {
    "a made-up seal": {"seal": "00000000." + "0" * 64},
    "no seal": {"seal": ""},
    "another reason": {"reason": "The customer is right."},
    "another place": {"channel": "admin"},
    "another moment": {"decided_at": timezone.now().replace(year=2020)},
    "another number": {"number": 7},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_decision_that_was_changed_releases_nothing(forgery: str) -> None:
    with scene() as here:
        call = released_call(here)
        Decision.objects.update(**FORGERIES[forgery])
        go_on(call.run)
        assert asked_again(call) == "decision"


def test_a_decision_in_the_name_of_somebody_else_releases_nothing() -> None:
    with scene() as here:
        call = released_call(here)
        Decision.objects.update(decider=boss())
        go_on(call.run)
        assert asked_again(call) == "decision"


def test_a_genuine_decision_moved_to_another_call_releases_nothing() -> None:
    with scene() as here:
        given, wanted = released_call(here), waiting_call(here)
        Decision.objects.filter(call=given).update(call=wanted)
        RunToolCall.objects.filter(pk=wanted.pk).update(digest=given.digest)
        forced(wanted)
        assert asked_again(wanted) == "digest"


def test_a_release_that_was_void_once_stays_void_even_where_everything_is_as_it_was() -> None:
    """The decider gets the right back; the call has been asked for anew meanwhile, and the old word is spent."""
    with scene() as here:
        call = released_call(here)
        loses(here.approver, "decide_toolcall")
        go_on(call.run)
        assert asked_again(call) == "permission"

        here.approver.user_permissions.set(boss().user_permissions.all())
        forced(call)
        assert asked_again(call) == "decision"


# --- Of the rules -----------------------------------------------------------------------------------------------------
RULES: dict[str, Callable[[Run], object]] = {
    "looser ones": lambda run: {**run.approval, "policy": "any"},
    "none": lambda run: {},
    "fewer people": lambda run: {**run.approval, "people": []},
    "something else": lambda run: ["any"],
}


@pytest.mark.parametrize("forgery", RULES)
def test_where_the_rules_of_a_run_s_start_were_changed_nobody_releases_its_calls(forgery: str) -> None:
    with scene() as here:
        rules("four_eyes")
        asker = boss()
        call = waiting_call(here, user=asker)
        rules("any")
        Run.objects.update(approval=RULES[forgery](call.run))
        for who in (asker, here.approver):
            with pytest.raises(DecisionNotPermitted, match="changed in the database") as caught:
                llm.approve(call, by=who, digest=call.digest)
            assert caught.value.rule == "snapshot"
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "queued"


def test_the_rules_of_another_run_are_no_rules_of_this_one() -> None:
    with scene() as here:
        lenient = waiting_call(here).run
        rules("four_eyes")
        asker = person("asker", "change_group", "decide_toolcall")
        call = waiting_call(here, user=asker)
        rules("any")
        Run.objects.filter(pk=call.run_id).update(approval=lenient.approval)
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=asker, digest=call.digest)
    assert caught.value.rule == "snapshot"


def test_rules_that_were_changed_after_the_release_void_it() -> None:
    with scene() as here:
        call = released_call(here)
        Run.objects.update(approval={})
        go_on(call.run)
        assert asked_again(call) == "snapshot"
