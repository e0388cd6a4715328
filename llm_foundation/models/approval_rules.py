"""Who may release the calls of a configuration's runs, how long they wait for it, and what happens then."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Self

from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

MOST_MINUTES: Final = 10 * 365 * 24 * 60
"""Ten years: what is longer is for ever, and databases cannot reckon with any number."""


class ApprovalPolicy(models.TextChoices):
    ANY = "any", _("Anybody who may decide calls")
    FOUR_EYES = "four_eyes", _("Four eyes: nobody who had a part in the call")
    GROUP = "group", _("Members of one group")


class OnExpiry(models.TextChoices):
    GO_ON = "go_on", _("Tell the model, and go on")
    CANCEL = "cancel", _("Cancel the run")


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """The rules as a value. ``group`` is the id of the group that ``policy`` names; ``ttl`` of ``None`` is for ever."""

    policy: ApprovalPolicy = ApprovalPolicy.ANY
    group: Any = None
    ttl: timedelta | None = None
    on_expiry: OnExpiry = OnExpiry.GO_ON

    def written(self) -> dict[str, Any]:
        minutes = None if self.ttl is None else round(self.ttl.total_seconds() / 60)
        return {"policy": self.policy.value, "group": self.group, "ttl": minutes, "on_expiry": self.on_expiry.value}

    @classmethod
    def read(cls, *, policy: str, group: Any, ttl: int | None, on_expiry: str) -> Self:
        """``ttl`` in minutes. Raises ``ValueError`` for words that are none of ours."""
        is_named = policy == ApprovalPolicy.GROUP
        lifetime = None if ttl is None else timedelta(minutes=ttl)
        return cls(ApprovalPolicy(policy), group if is_named else None, lifetime, OnExpiry(on_expiry))


class ApprovalRules(models.Model):
    """What a configuration says of it. A run keeps a copy from its start, and the stricter of the two counts."""

    approval_policy = models.CharField(
        _("who may release calls"),
        max_length=16,
        choices=ApprovalPolicy,
        default=ApprovalPolicy.ANY,
        help_text=_(
            "Whoever it is needs the permission to decide calls, and must be allowed the tool as well. Four eyes: not"
            " who started the run, edited the arguments or gave the input; superusers neither. A run that waits already"
            " is held to the stricter of what stood here when it began and what stands here now."
        ),
    )
    approval_group = models.ForeignKey(
        Group,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("group that releases calls"),
        help_text=_("Only for “Members of one group”. Who leaves the group releases nothing any more, from then on."),
    )
    approval_ttl = models.PositiveIntegerField(
        _("calls wait for"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_MINUTES)],
        help_text=_("In minutes. A call that nobody has decided by then is not executed. Empty: it waits for ever."),
    )
    on_expiry = models.CharField(
        _("when nobody decided in time"),
        max_length=16,
        choices=OnExpiry,
        default=OnExpiry.GO_ON,
        help_text=_("Cancelling ends the whole run, with the calls in it that were released and not executed yet."),
    )

    class Meta:
        abstract = True

    def approval_terms(self) -> ApprovalTerms:
        return ApprovalTerms.read(
            policy=self.approval_policy,
            group=self.approval_group_id,
            ttl=self.approval_ttl,
            on_expiry=self.on_expiry,
        )

    def approval_problems(self) -> dict[str, str]:
        """What ``clean()`` refuses, by field."""
        if self.approval_policy == ApprovalPolicy.GROUP and self.approval_group_id is None:
            return {"approval_group": str(_("Choose the group, or nobody could release a call."))}
        return {}
