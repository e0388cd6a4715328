"""Whose word ends a run, and how it is said."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from llm_foundation import llm
from llm_foundation.exceptions import RunInsideTransaction, RunNotPermitted
from llm_foundation.models import Run
from tests.practice import Desk, desk, person
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def queued(here: Desk) -> Run:
    return llm.run("support", "Hello", user=here.clerk, mode="queue")


# --- Whose word counts ------------------------------------------------------------------------------------------------
def test_the_starter_may_cancel_as_the_owner_may() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        starter = person("starter")
        Run.objects.update(starter=starter)
        assert llm.cancel(run, by=starter).status == "cancelled"


def test_a_stranger_may_not() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        nobody: Any = None
        for stranger in (here.approver, AnonymousUser(), nobody):
            with pytest.raises(RunNotPermitted, match=r"needs the permission “llm_foundation\.cancel_run”") as caught:
                llm.cancel(run, by=stranger)
            assert caught.value.rule == "permission"
    assert Run.objects.get().status == "queued"


def test_somebody_with_the_permission_may() -> None:
    with desk() as here, handing_to(DUMMY):
        assert llm.cancel(queued(here), by=person("operator", "cancel_run")).status == "cancelled"


def test_a_superuser_may() -> None:
    with desk() as here, handing_to(DUMMY):
        assert llm.cancel(queued(here), by=User.objects.create_superuser("root")).status == "cancelled"


@pytest.mark.parametrize("who", ["clerk", "operator"])
def test_somebody_who_is_switched_off_may_not(who: str) -> None:
    with desk() as here, handing_to(DUMMY):
        person("operator", "cancel_run")
        run = queued(here)
        User.objects.filter(username=who).update(is_active=False)
        with pytest.raises(RunNotPermitted):
            llm.cancel(run, by=User.objects.get(username=who))
    assert Run.objects.get().status == "queued"


def test_a_run_of_nobody_is_cancelled_with_the_permission_only() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", mode="queue")
        with pytest.raises(RunNotPermitted):
            llm.cancel(run, by=here.clerk)
        with pytest.raises(RunNotPermitted):
            llm.cancel(run, by=AnonymousUser())  # type: ignore[arg-type]
        assert llm.cancel(run, by=person("operator", "cancel_run")).status == "cancelled"


# --- How it is said ---------------------------------------------------------------------------------------------------
def test_a_run_may_be_named_by_its_id() -> None:
    with desk() as here, handing_to(DUMMY):
        assert llm.cancel(queued(here).pk, by=here.clerk).status == "cancelled"
        assert llm.cancel(str(queued(here).pk), by=here.clerk).status == "cancelled"


@pytest.mark.parametrize("unknown", [None, "", "abc", 7, "9f8e7d6c-0000-4000-8000-000000000000"])
def test_what_is_no_runs_id_is_no_run(unknown: Any) -> None:
    with desk() as here, pytest.raises(Run.DoesNotExist):
        llm.cancel(unknown, by=here.clerk)


def test_inside_a_transaction_nothing_is_cancelled() -> None:
    with desk() as here, handing_to(DUMMY):
        run = queued(here)
        with transaction.atomic(), pytest.raises(RunInsideTransaction):
            llm.cancel(run, by=here.clerk)
    assert Run.objects.get().status == "queued"


def test_the_async_twin_does_the_same() -> None:
    with desk() as here, handing_to(DUMMY):
        assert async_to_sync(llm.acancel)(queued(here), by=here.clerk).status == "cancelled"
