"""Whose calls are whose, under each approval policy."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import RequestFactory
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.admin.inbox.mine import count_of, waiting_for
from llm_foundation.models import Run, RunToolCall
from tests.admin.conftest import wait_for_refund
from tests.practice import person

pytestmark = pytest.mark.django_db(transaction=True)


def is_mine(who):
    """The list and the number agree."""
    request = RequestFactory().get("/")
    request.user = User.objects.get(pk=who.pk)
    listed = waiting_for(request.user).count()
    counted = count_of(request)
    assert (counted.mine, counted.others) == (listed, 1 - listed)
    return listed == 1


@pytest.fixture
def eve(here):
    return person("eve", "change_group", "decide_toolcall")


def rules(here, **columns):
    for name, value in columns.items():
        setattr(here.configuration, name, value)
    here.configuration.save()


def test_anybody_who_may_decide_and_may_use_the_tool(here, eve, waiting):
    assert is_mine(here.approver)
    assert is_mine(eve)
    assert is_mine(User.objects.create_superuser("root"))


@pytest.mark.parametrize("part", ["owner", "starter"])
def test_under_four_eyes_not_whose_run_it_is_be_it_a_superuser(here, eve, part):
    rules(here, approval_policy="four_eyes")
    wait_for_refund(here)
    root = User.objects.create_superuser("root")
    Run.objects.update(**{part: root})
    assert is_mine(eve)
    assert not is_mine(root)


@pytest.mark.parametrize("part", ["editor", "input_giver"])
def test_under_four_eyes_not_who_changed_it_or_gave_the_input(here, eve, part):
    rules(here, approval_policy="four_eyes")
    wait_for_refund(here)
    RunToolCall.objects.update(**{part: eve})
    assert is_mine(here.approver)
    assert not is_mine(eve)


def test_four_eyes_that_were_loosened_while_the_run_waited_still_count(here, eve):
    rules(here, approval_policy="four_eyes")
    wait_for_refund(here)
    rules(here, approval_policy="any")
    Run.objects.update(starter=eve)
    assert not is_mine(eve)


def test_four_eyes_that_were_asked_for_while_the_run_waited_count(here, eve, waiting):
    rules(here, approval_policy="four_eyes")
    Run.objects.update(starter=eve)
    assert not is_mine(eve)


def test_a_group_has_its_calls(here, eve):
    desk = Group.objects.create(name="desk")
    eve.groups.add(desk)
    rules(here, approval_policy="group", approval_group=desk)
    wait_for_refund(here)
    assert is_mine(eve)
    assert not is_mine(here.approver)
    assert not is_mine(User.objects.create_superuser("root"))


def test_what_is_too_late_is_nobodys_though_no_sweep_has_come_by(here, eve, waiting):
    RunToolCall.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert not is_mine(eve)
    RunToolCall.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    assert is_mine(eve)


def test_after_a_decision_comes_no_call_that_is_not_mine(here, eve, signed_in):
    rules(here, approval_policy="four_eyes")
    others, own = wait_for_refund(here, number="1"), wait_for_refund(here, number="2")
    Run.objects.filter(pk=own.run.pk).update(starter=here.approver)
    client = signed_in(here.approver, "view_run")
    address = f"/admin/llm_foundation/runtoolcall/{others.call.pk}/change/"
    after = client.post(address, {"decision": "deny", "digest": others.call.digest})
    assert after.url == f"/admin/llm_foundation/run/{others.run.pk}/change/"
    assert llm.deny(own.call, by=here.approver, digest=own.call.digest)
