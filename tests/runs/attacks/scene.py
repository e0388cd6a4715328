"""What attackers find: a call that waits, one that was released and not executed yet, and hands on the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group, Permission, User

from llm_foundation import llm
from llm_foundation.models import Configuration, Run, RunToolCall
from tests.practice import Desk, calls, desk, person, text
from tests.runs.passing_time import go_on
from tests.tasks.workers import DUMMY, handing_to

BOSS = ("change_group", "decide_toolcall")


@contextmanager
def scene(*granted: str) -> Iterator[Desk]:
    """Runs go on when the test says so: whatever is decided, somebody can act before it is executed."""
    with desk(*(granted or ("refund_order",))) as here, handing_to(DUMMY):
        here.model.always_says(calls("refund_order", number="1", amount="5"), text("Done."))
        yield here


def waiting_call(here: Desk, *, user: User | None = None) -> RunToolCall:
    return llm.run("support", "Refund order 1", user=user or here.clerk).pending_calls.get()


def released_call(here: Desk, *, by: User | None = None, user: User | None = None) -> RunToolCall:
    call = waiting_call(here, user=user)
    assert llm.approve(call, by=by or here.approver, digest=call.digest).status == "queued"
    call.refresh_from_db()
    return call


def boss() -> User:
    """Who may do both: have runs of their own, and decide calls."""
    return person("boss", *BOSS)


def rules(policy: str, group: Group | None = None) -> None:
    """The configuration is changed while runs wait."""
    Configuration.objects.update(approval_policy=policy, approval_group=group)


def loses(user: User, codename: str) -> None:
    user.user_permissions.remove(Permission.objects.get(codename=codename))


def forced(call: RunToolCall) -> Run:
    """Somebody who can write to the database lets the call look released, and the run go on."""
    RunToolCall.objects.filter(pk=call.pk).update(state="ready")
    Run.objects.filter(pk=call.run_id).update(status="queued", not_before=None)
    return go_on(call.run)


def asked_again(call: RunToolCall) -> str | None:
    """Nothing was executed, and the call waits for people: why, as the timeline says last."""
    assert not refunded()
    call.refresh_from_db()
    assert (call.state, call.attempt, Run.objects.get(pk=call.run_id).status) == ("pending", 0, "waiting_for_approval")
    asked: Any = call.run.events.filter(kind="call.pending").order_by("-sequence").first()
    return asked.payload.get("voided") if asked else None


def refunded() -> bool:
    return Group.objects.filter(name__startswith="refund").exists()
