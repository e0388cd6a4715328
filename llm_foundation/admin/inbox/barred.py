"""Calls that the approval policy of their run keeps from a person, as a condition for the database.

The same rules as ``runs.approvers``, which has the last word on the page of the call. A group that only the run's
beginning named is left to it.
"""

from typing import Any

from django.db.models import Q

from llm_foundation.models import ApprovalPolicy
from llm_foundation.policy.gate import NEEDS_INPUT
from llm_foundation.runs import clock

ASKS_FOR_INPUT_ONLY = Q(reason=NEEDS_INPUT, edited_sealed="")
"""An answer is no approval: the policy has nothing to say about who gives it."""


def too_late() -> Q:
    """Nobody decides these any more, whether or not a sweep has come by."""
    return Q(expires_at__isnull=False, expires_at__lte=clock.now())


def barred(person: Any) -> Q:
    return (_four_eyes(person) | _other_groups(person)) & ~ASKS_FOR_INPUT_ONLY


def _four_eyes(person: Any) -> Q:
    policy = ApprovalPolicy.FOUR_EYES.value
    holds = Q(run__configuration__approval_policy=policy) | Q(run__approval__contains=f'"{policy}"')
    own = Q(run__owner=person.pk) | Q(run__starter=person.pk)
    had_part = Q(editor=person.pk) | Q(input_giver=person.pk) | Q(run__approval__contains=f'"{person.pk}"')
    return holds & (own | had_part)


def _other_groups(person: Any) -> Q:
    is_members = Q(run__configuration__approval_group__in=person.groups.values("pk"))
    return Q(run__configuration__approval_policy=ApprovalPolicy.GROUP.value) & ~is_members
