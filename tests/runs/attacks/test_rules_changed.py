"""The configuration's rules change between the start of a run, a release and its execution."""

import pytest
from django.contrib.auth.models import Group, User

from llm_foundation import llm
from llm_foundation.exceptions import DecisionNotPermitted
from llm_foundation.models import Run
from tests.runs.attacks.scene import asked_again, boss, refunded, released_call, rules, scene, waiting_call
from tests.runs.passing_time import go_on, go_on_until_it_rests

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_owner_who_loosens_the_rules_while_the_run_waits_does_not_release_its_calls() -> None:
    with scene() as here:
        rules("four_eyes")
        owner = User.objects.create_superuser("owner")
        call = waiting_call(here, user=owner)
        rules("any")
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=owner, digest=call.digest)
        assert caught.value.rule == "four_eyes"
        run = go_on_until_it_rests(llm.approve(call, by=here.approver, digest=call.digest))
    assert (run.status, refunded()) == ("completed", True)


def test_a_superuser_does_not_release_their_own_call_under_four_eyes() -> None:
    with scene() as here:
        rules("four_eyes")
        root = User.objects.create_superuser("root")
        call = waiting_call(here, user=root)
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=root, digest=call.digest)
    assert (caught.value.rule, refunded()) == ("four_eyes", False)


def test_a_release_of_ones_own_call_is_void_where_four_eyes_were_required_before_it_ran() -> None:
    with scene() as here:
        owner = boss()
        call = released_call(here, user=owner, by=owner)
        rules("four_eyes")
        go_on(call.run)
        assert asked_again(call) == "four_eyes"
        assert str(owner) != str(here.approver)
        run = go_on_until_it_rests(llm.approve(call, by=here.approver, digest=call.digest))
    assert run.status == "completed"


def test_who_edited_the_arguments_has_released_nothing_where_four_eyes_were_required_before_it_ran() -> None:
    with scene() as here:
        call = waiting_call(here)
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": "1", "amount": "4"})
        rules("four_eyes")
        go_on(call.run)
        assert asked_again(call) == "four_eyes"
        with pytest.raises(DecisionNotPermitted, match="you edited the arguments") as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
        assert caught.value.rule == "four_eyes"
        run = go_on_until_it_rests(llm.approve(call, by=boss(), digest=call.digest))
    assert (run.status, Group.objects.get().name) == ("completed", "refund 1 4")


def test_nobody_releases_what_they_edited_once_by_letting_another_one_edit_it_again() -> None:
    with scene() as here:
        rules("four_eyes")
        other = boss()
        call = waiting_call(here)
        for editor, amount in ((other, "4"), (here.approver, "3")):
            llm.approve(call, by=editor, digest=call.digest, arguments={"number": "1", "amount": amount})
            call.refresh_from_db()
        for editor in (other, here.approver):
            with pytest.raises(DecisionNotPermitted) as caught:
                llm.approve(call, by=editor, digest=call.digest)
            assert caught.value.rule == "four_eyes"


def test_who_edited_and_released_a_call_once_is_still_one_of_its_editors_where_four_eyes_are_required_by_now() -> None:
    with scene() as here:
        other = boss()
        call = waiting_call(here)
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": "1", "amount": "4"})
        rules("four_eyes")
        go_on(call.run)
        call.refresh_from_db()
        llm.approve(call, by=other, digest=call.digest, arguments={"number": "1", "amount": "4.0"})
        call.refresh_from_db()
        with pytest.raises(DecisionNotPermitted, match="you edited the arguments") as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
    assert (caught.value.rule, refunded()) == ("four_eyes", False)


def test_a_release_is_void_where_its_giver_left_the_group_before_it_ran() -> None:
    with scene() as here:
        bosses = Group.objects.create(name="bosses")
        rules("group", bosses)
        here.approver.groups.add(bosses)
        call = released_call(here)
        here.approver.groups.clear()
        go_on(call.run)
        assert asked_again(call) == "group"


def test_a_release_is_void_where_another_group_was_named_before_it_ran() -> None:
    with scene() as here:
        call = released_call(here)
        rules("group", Group.objects.create(name="bosses"))
        go_on(call.run)
        assert asked_again(call) == "group"


def test_rules_that_are_as_they_were_let_the_call_run() -> None:
    with scene() as here:
        bosses = Group.objects.create(name="bosses")
        rules("group", bosses)
        here.approver.groups.add(bosses)
        call = released_call(here)
        assert go_on_until_it_rests(call.run).status == "completed"
    assert refunded()
    assert Run.objects.get().approval["group"] == bosses.pk
