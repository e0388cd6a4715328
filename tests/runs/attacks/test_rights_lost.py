"""Somebody loses a right between a release and its execution: who gave it, or for whom the call would be made."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User

from llm_foundation import llm
from llm_foundation.exceptions import DecisionNotPermitted
from tests.runs.attacks.scene import asked_again, boss, loses, refunded, released_call, scene, waiting_call
from tests.runs.passing_time import go_on, go_on_until_it_rests

pytestmark = pytest.mark.django_db(transaction=True)

LOSSES: dict[str, tuple[Callable[[User], object], str]] = {
    "the account is deactivated": (lambda user: User.objects.filter(pk=user.pk).update(is_active=False), "permission"),
    "the account is deleted": (lambda user: user.delete(), "decision"),
    "the right to decide": (lambda user: loses(user, "decide_toolcall"), "permission"),
    "the right to the tool": (lambda user: loses(user, "change_group"), "gate:not_permitted"),
    "all rights": (lambda user: user.user_permissions.clear(), "permission"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_somebody_released_waits_again_where_they_could_not_release_it_any_more(loss: str) -> None:
    lose, word = LOSSES[loss]
    with scene() as here:
        call = released_call(here)
        lose(here.approver)
        go_on(call.run)
        assert asked_again(call) == word

        run = go_on_until_it_rests(llm.approve(call, by=boss(), digest=call.digest))
    assert (run.status, refunded()) == ("completed", True)


def test_a_superuser_who_is_none_any_more_has_released_nothing() -> None:
    with scene() as here:
        root = User.objects.create_superuser("root")
        call = released_call(here, by=root)
        User.objects.filter(pk=root.pk).update(is_superuser=False)
        go_on(call.run)
        assert asked_again(call) == "permission"


@pytest.mark.parametrize("is_released", [False, True])
@pytest.mark.parametrize(
    "lose",
    [
        lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
        lambda user: loses(user, "change_group"),
    ],
    ids=["deactivated", "without the right"],
)
def test_an_owner_who_may_not_make_the_call_any_more_has_it_refused(
    lose: Callable[[User], object], is_released: bool
) -> None:
    """Before the release or after it: what is decided for others happens under their own rights."""
    with scene() as here:
        call = released_call(here) if is_released else waiting_call(here)
        lose(here.clerk)
        if not is_released:
            llm.approve(call, by=here.approver, digest=call.digest)
        go_on_until_it_rests(call.run)
    call.refresh_from_db()
    assert (call.state, call.reason, refunded()) == ("refused", "not_permitted", False)


def test_where_the_owner_s_account_is_deleted_nothing_is_executed() -> None:
    with scene() as here:
        call = released_call(here)
        here.clerk.delete()
        run = go_on_until_it_rests(call.run)
    assert (run.status, run.termination_reason, refunded()) == ("failed", "OwnerGone", False)


def test_somebody_whose_account_was_never_stored_decides_nothing() -> None:
    with scene() as here:
        call = waiting_call(here)
        nobody = User(username="nobody", is_superuser=True)
        for decide in (llm.approve, llm.deny):
            with pytest.raises(DecisionNotPermitted) as caught:
                decide(call, by=nobody, digest=call.digest)
            assert caught.value.rule == "permission"


def test_rights_that_come_back_before_the_execution_let_the_call_run() -> None:
    with scene() as here:
        call = released_call(here)
        loses(here.approver, "decide_toolcall")
        here.approver.user_permissions.add(Permission.objects.get(codename="decide_toolcall"))
        assert go_on_until_it_rests(call.run).status == "completed"
    assert refunded()
