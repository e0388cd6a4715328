"""What a reader of the whole found: rights lost meanwhile, people who are not stored, odd intervals, clocks."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.exceptions import InvalidMessage, RunNotPermitted
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs import clock
from llm_foundation.tools import DataClass, Effect, ToolContext, registry, tool
from tests.practice import calls, desk, text
from tests.runs.meeting import elsewhere
from tests.runs.passing_time import go_on
from tests.scripted_server import Behaviour, Wire
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


# --- The owner's rights, read live ------------------------------------------------------------------------------------
@tool(effect=Effect.IDEMPOTENT_WRITE, data_class=DataClass.INTERNAL, approval=False, permission="auth.change_group")
def pay_out(context: ToolContext) -> str:
    """Pay out money; nobody is asked."""
    return "paid out"


def is_deactivated(owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)


def loses_the_permission(owner: User) -> None:
    User.objects.get(pk=owner.pk).user_permissions.clear()


def is_deleted(owner: User) -> None:
    User.objects.get(pk=owner.pk).delete()


def after(act: Callable[[], None], behaviour: Behaviour) -> Behaviour:
    """The model takes its time, and meanwhile something happens."""

    def behave(_: Wire) -> Behaviour:
        elsewhere(act)
        return behaviour

    return behave


@pytest.mark.parametrize("act", [is_deactivated, loses_the_permission, is_deleted])
def test_a_right_that_was_lost_while_the_model_answered_is_lost_for_its_first_call(act: Callable[[User], None]) -> None:
    with desk() as here, registry.isolated(pay_out):
        here.grant(pay_out)
        here.model.says(after(lambda: act(here.clerk), calls("pay_out")), text("Done."))
        starter = User.objects.get(pk=here.clerk.pk)
        assert starter.has_perm("auth.change_group")  # and the object remembers it
        llm.run("support", "Pay", user=starter)

    assert RunToolCall.objects.get().state == "refused"


def test_how_a_run_stands_is_looked_up_in_one_query_a_step() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"), text("On its way."))
        with CaptureQueriesContext(connection) as queries:
            llm.run("support", "Where?", user=here.clerk)

    looks = [one["sql"] for one in queries if re.match(r"SELECT .* FROM .llm_foundation_run. ", one["sql"])]
    assert len(looks) == 2  # before the call, and before the second answer
    assert all("cancel_requested_at" in sql for sql in looks)


# --- People who are not stored ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["wait", "queue"])
def test_a_user_who_was_never_saved_owns_no_run(mode: Any) -> None:
    with desk(), pytest.raises(InvalidMessage, match="never saved"):
        llm.run("support", "Hello", user=User(username="nobody"), mode=mode)
    assert not Run.objects.exists()


def test_a_run_whose_owner_is_gone_belongs_to_nobody() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(text("Hello."))
        done = go_on(llm.run("support", "Hello", user=here.clerk, mode="queue"))
        queued = llm.run("support", "Hello", user=here.clerk, mode="queue")
        here.clerk.delete()
        with pytest.raises(RunNotPermitted):
            llm.cancel(queued, by=User(username="nobody"))
        for user in (None, User(username="nobody")):
            with pytest.raises(RunNotPermitted):
                llm.run("support", "And now?", user=user, continues=done)


# --- Wrong words ------------------------------------------------------------------------------------------------------
def test_a_text_in_place_of_a_list_of_tools_is_refused() -> None:
    with desk("find_order") as here, pytest.raises(TypeError, match="list of names"):
        llm.run("support", "Hello", user=here.clerk, tools="find_order")
    assert not Run.objects.exists()


@pytest.mark.parametrize("interval", ["0", "-1", "nan", "inf", "1e12"])
def test_an_interval_that_no_clock_can_wait_for_is_refused(interval: str) -> None:
    with pytest.raises(CommandError, match="--every"):
        call_command("llm_recover", f"--every={interval}")


# --- Clocks -----------------------------------------------------------------------------------------------------------
def test_a_moment_of_the_database_is_the_same_for_everybody_whatever_the_time_zone_of_its_session() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        with connection.cursor() as cursor:
            if connection.vendor == "mysql":
                cursor.execute("SET time_zone = '+05:00'")
        try:
            Run.objects.filter(pk=run.pk).update(not_before=clock.after(60))
        finally:
            connection.close()

    run.refresh_from_db()
    assert run.not_before is not None
    assert abs((run.not_before - timezone.now()).total_seconds()) < 1800
