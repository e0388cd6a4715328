"""Who says what became of a call in doubt, and how it is said."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from llm_foundation import llm
from llm_foundation.exceptions import (
    DecisionNotPermitted,
    InvalidMessage,
    RunInsideTransaction,
)
from llm_foundation.models import Decision, Run, RunToolCall
from tests.practice import desk, person
from tests.runs.test_resolving import doubt

pytestmark = pytest.mark.django_db(transaction=True)


# --- Who --------------------------------------------------------------------------------------------------------------
def test_who_lacks_the_permission_resolves_nothing_and_learns_nothing() -> None:
    with doubt() as on:
        nobody: Any = None
        for one in (on.here.clerk, on.here.approver, AnonymousUser(), nobody):
            with pytest.raises(DecisionNotPermitted, match=r"needs the permission “llm_foundation\.resolve_toolcall”"):
                llm.resolve(on.call, by=one, outcome="happened")
    assert Run.objects.get().status == "in_doubt"


def test_who_is_switched_off_resolves_nothing() -> None:
    with doubt() as on:
        User.objects.filter(pk=on.resolver.pk).update(is_active=False)
        with pytest.raises(DecisionNotPermitted):
            llm.resolve(on.call, by=User.objects.get(pk=on.resolver.pk), outcome="happened")


def test_what_was_said_is_kept_and_sealed() -> None:
    from llm_foundation.runs.seals import is_genuine

    with doubt() as on:
        llm.resolve(
            on.call, by=on.resolver, outcome="happened", result="Ada has it.", reason="She\x00 called.", channel="phone"
        )
    said = Decision.objects.get(verdict="happened")
    assert (said.decider, said.reason, said.channel, said.number) == (on.resolver, "She called.", "phone", 2)
    assert is_genuine(said)
    said.verdict = "give_up"
    assert not is_genuine(said)


# --- How it is said ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("unknown", [None, "", "abc", 7, "9f8e7d6c-0000-4000-8000-000000000000"])
def test_what_is_no_calls_id_is_no_call(unknown: Any) -> None:
    with desk(), pytest.raises(RunToolCall.DoesNotExist):
        llm.resolve(unknown, by=person("resolver", "resolve_toolcall"), outcome="happened")


@pytest.mark.parametrize("outcome", ["", "approved", "denied", "Happened", None, 1])
def test_another_outcome_is_refused_by_name(outcome: Any) -> None:
    with (
        doubt() as on,
        pytest.raises(InvalidMessage, match="must be one of happened, did_not_happen, give_up") as caught,
    ):
        llm.resolve(on.call, by=on.resolver, outcome=outcome)
    assert caught.value.field == "outcome"


@pytest.mark.parametrize(("outcome", "result"), [("give_up", "x"), ("did_not_happen", "x"), ("happened", 5)])
def test_a_result_belongs_to_what_happened_and_is_a_text(outcome: Any, result: Any) -> None:
    with doubt() as on, pytest.raises(InvalidMessage) as caught:
        llm.resolve(on.call, by=on.resolver, outcome=outcome, result=result)
    assert caught.value.field == "result"


def test_a_result_is_made_fit_for_the_model_like_any_other() -> None:
    with doubt() as on:
        llm.resolve(on.call, by=on.resolver, outcome="happened", result="a\ud800" + "b" * 60_000)
        (told,) = on.told()
    assert told.startswith("a�bbb")
    assert len(told) < 51_000


def test_inside_a_transaction_nothing_is_resolved() -> None:
    with doubt() as on, transaction.atomic(), pytest.raises(RunInsideTransaction):
        llm.resolve(on.call, by=on.resolver, outcome="happened")
    assert Run.objects.get().status == "in_doubt"


def test_the_async_twin_does_the_same() -> None:
    with doubt() as on:
        run = async_to_sync(llm.aresolve)(str(on.call.pk), by=on.resolver, outcome="happened")
    assert run.status == "completed"
