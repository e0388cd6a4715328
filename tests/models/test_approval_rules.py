"""What a configuration says about decisions, before a run has asked for one."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import ProtectedError

from llm_foundation.models import ApprovalPolicy, ApprovalTerms, OnExpiry
from llm_foundation.models.approval_rules import MOST_MINUTES
from tests.models.builders import make_configuration

pytestmark = pytest.mark.django_db


def test_unless_somebody_says_otherwise_anybody_who_may_decide_releases_calls_and_they_wait_for_ever():
    assert make_configuration().approval_terms() == ApprovalTerms(
        policy=ApprovalPolicy.ANY, group=None, ttl=None, on_expiry=OnExpiry.GO_ON
    )


def test_a_group_policy_without_its_group_is_refused_in_words_that_say_why():
    configuration = make_configuration()
    configuration.approval_policy = "group"
    with pytest.raises(ValidationError) as caught:
        configuration.full_clean()
    assert caught.value.message_dict == {"approval_group": ["Choose the group, or nobody could release a call."]}


def test_a_group_that_releases_calls_cannot_be_deleted():
    bosses = Group.objects.create(name="bosses")
    make_configuration(approval_policy="group", approval_group=bosses)
    with pytest.raises(ProtectedError):
        bosses.delete()


def test_a_group_counts_only_where_the_policy_names_it():
    bosses = Group.objects.create(name="bosses")
    assert make_configuration(approval_group=bosses).approval_terms().group is None


@pytest.mark.parametrize("minutes", [0, MOST_MINUTES + 1, 2**62])
def test_calls_wait_for_a_minute_at_least_and_for_no_time_that_no_calendar_knows(minutes):
    configuration = make_configuration()
    configuration.approval_ttl = minutes
    with pytest.raises(ValidationError) as caught:
        configuration.full_clean()
    assert set(caught.value.message_dict) == {"approval_ttl"}


@pytest.mark.parametrize(
    "terms",
    [
        ApprovalTerms(),
        ApprovalTerms(ApprovalPolicy.FOUR_EYES, None, timedelta(minutes=90), OnExpiry.CANCEL),
        ApprovalTerms(ApprovalPolicy.GROUP, 7, timedelta(days=3650), OnExpiry.GO_ON),
    ],
)
def test_terms_that_were_written_down_are_read_as_they_were(terms):
    assert ApprovalTerms.read(**terms.written()) == terms


def test_other_problems_of_a_configuration_are_still_found():
    configuration = make_configuration()
    configuration.approval_policy, configuration.options = "group", {"temperature": "hot"}
    with pytest.raises(ValidationError) as caught:
        configuration.full_clean()
    assert set(caught.value.message_dict) == {"approval_group", "options"}
