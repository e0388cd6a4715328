"""Who may release a call: the rules of its configuration, as they were when the run began and as they are now."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from llm_foundation import llm
from llm_foundation.exceptions import DecisionNotPermitted
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.runs.approvers import why_not_approve
from tests.practice import Desk, calls, desk, person, text

pytestmark = pytest.mark.django_db(transaction=True)

BOSS = ("change_group", "decide_toolcall")


def rules(policy: str, group: Group | None = None) -> None:
    """The operator sets the configuration's rules."""
    Configuration.objects.update(approval_policy=policy, approval_group=group)


def waiting_call(here: Desk, *, user: Any, **start: Any) -> RunToolCall:
    here.model.says(calls("refund_order", number="1138", amount="5"), text("Done."))
    return llm.run("support", "Refund order 1138", user=user, **start).pending_calls.get()


def refused(call: RunToolCall, *, by: User) -> DecisionNotPermitted:
    with pytest.raises(DecisionNotPermitted) as caught:
        llm.approve(call, by=User.objects.get(pk=by.pk), digest=call.digest)
    return caught.value


def approved(call: RunToolCall, *, by: User) -> bool:
    run = llm.approve(call, by=User.objects.get(pk=by.pk), digest=call.digest)
    return run.status == "completed" and Group.objects.filter(name="refund 1138 5").exists()


# --- Any --------------------------------------------------------------------------------------------------------------
def test_where_anybody_releases_calls_one_releases_ones_own() -> None:
    with desk("refund_order") as here:
        boss = person("boss", *BOSS)
        assert approved(waiting_call(here, user=boss), by=boss)


# --- Four eyes --------------------------------------------------------------------------------------------------------
def test_under_four_eyes_nobody_releases_a_call_of_their_own_run() -> None:
    with desk("refund_order") as here:
        rules("four_eyes")
        boss = person("boss", *BOSS)
        call = waiting_call(here, user=boss)

        error = refused(call, by=boss)
        assert error.rule == "four_eyes"
        assert str(error) == ("Four eyes are required, and the run is yours: somebody else has to release its calls.")
        assert approved(call, by=here.approver)


def test_under_four_eyes_denying_ones_own_call_needs_the_permission_only() -> None:
    with desk("refund_order") as here:
        rules("four_eyes")
        boss = person("boss", *BOSS)
        call = waiting_call(here, user=boss)
        assert llm.deny(call, by=boss, digest=call.digest).status == "completed"
    assert not Group.objects.exists()


def test_under_four_eyes_a_run_of_nobody_releases_nothing() -> None:
    with desk("send_message") as here:
        rules("four_eyes")
        here.model.says(calls("send_message", to="Ada"), text("Done."))
        call = llm.run("support", "Write to Ada").pending_calls.get()
        assert refused(call, by=here.approver).rule == "four_eyes"
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "completed"


def test_under_four_eyes_an_owner_of_a_continued_run_is_barred_from_the_later_one_as_well() -> None:
    with desk("refund_order") as here:
        rules("four_eyes")
        boss = person("boss", *BOSS)
        here.model.says(text("How much?"))
        first = llm.run("support", "Refund order 1138", user=boss)
        here.model.says(calls("refund_order", number="1138", amount="5"))
        call = llm.run("support", "5 euros", user=boss, continues=first).pending_calls.get()
        assert str(boss.pk) in call.run.approval["people"]
        assert refused(call, by=boss).rule == "four_eyes"


# --- A group ----------------------------------------------------------------------------------------------------------
def test_only_members_of_the_group_release_a_call_and_superusers_are_members_only_if_they_are() -> None:
    with desk("refund_order") as here:
        bosses = Group.objects.create(name="bosses")
        rules("group", bosses)
        root = User.objects.create_superuser("root")
        call = waiting_call(here, user=here.clerk)
        for stranger in (here.approver, root):
            error = refused(call, by=stranger)
            assert error.rule == "group"
            assert str(error) == "Only members of the group “bosses” may release this call."

        here.approver.groups.add(bosses)
        assert approved(call, by=here.approver)


def test_who_left_the_group_releases_nothing_any_more() -> None:
    with desk("refund_order") as here:
        bosses = Group.objects.create(name="bosses")
        rules("group", bosses)
        here.approver.groups.add(bosses)
        call = waiting_call(here, user=here.clerk)
        here.approver.groups.remove(bosses)
        assert refused(call, by=here.approver).rule == "group"


def test_a_group_that_is_gone_leaves_nobody_who_could_release_the_call() -> None:
    with desk("refund_order") as here:
        bosses = Group.objects.create(name="bosses")
        rules("group", bosses)
        here.approver.groups.add(bosses)
        call = waiting_call(here, user=here.clerk)
        rules("any")
        bosses.delete()
        error = refused(call, by=here.approver)
        assert error.rule == "group"
        assert "no longer exists, so nobody may: it can only be denied" in str(error)
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "completed"


# --- Then and now -----------------------------------------------------------------------------------------------------
def test_whoever_loosens_the_rules_while_a_run_waits_gains_nothing() -> None:
    with desk("refund_order") as here:
        rules("four_eyes")
        boss = person("boss", *BOSS)
        call = waiting_call(here, user=boss)
        rules("any")
        assert refused(call, by=boss).rule == "four_eyes"


def test_whoever_tightens_the_rules_while_a_run_waits_is_obeyed() -> None:
    with desk("refund_order") as here:
        boss = person("boss", *BOSS)
        call = waiting_call(here, user=boss)
        rules("four_eyes")
        assert refused(call, by=boss).rule == "four_eyes"


def test_where_both_name_a_group_one_has_to_be_a_member_of_both() -> None:
    with desk("refund_order") as here:
        then, now = Group.objects.create(name="then"), Group.objects.create(name="now")
        rules("group", then)
        call = waiting_call(here, user=here.clerk)
        rules("group", now)

        here.approver.groups.add(then)
        assert str(refused(call, by=here.approver)) == "Only members of the group “now” may release this call."
        here.approver.groups.set([now])
        assert str(refused(call, by=here.approver)) == "Only members of the group “then” may release this call."
        here.approver.groups.set([then, now])
        call.refresh_from_db()
        run = llm.approve(call, by=here.approver, digest=call.digest)
    assert run.status == "completed"


def test_a_run_that_continues_another_one_begins_under_the_rules_of_its_own_start() -> None:
    with desk("refund_order") as here:
        boss = person("boss", *BOSS)
        here.model.says(text("How much?"))
        first = llm.run("support", "Refund order 1138", user=boss)
        rules("four_eyes")
        here.model.says(calls("refund_order", number="1138", amount="5"))
        call = llm.run("support", "5 euros", user=boss, continues=first).pending_calls.get()
        rules("any")
        assert refused(call, by=boss).rule == "four_eyes"


def test_the_rules_are_asked_in_one_query_where_anybody_may_release(django_assert_num_queries: Any) -> None:
    with desk("refund_order") as here:
        call = waiting_call(here, user=here.clerk)
        run = Run.objects.get()
        with django_assert_num_queries(1):
            assert why_not_approve(run, call, here.approver) is None
