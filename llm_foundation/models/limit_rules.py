"""How far the runs of a configuration may go."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from llm_foundation.conf import settings
from llm_foundation.loop.limits import RunLimits


class LimitRules(models.Model):
    """What a configuration says of it. The settings' hard ceilings hold whatever stands here."""

    max_rounds = models.PositiveIntegerField(
        _("rounds a run"),
        default=10,
        validators=[MinValueValidator(1)],
        help_text=_("How often the model may be asked in one run; after that it has to answer without tools."),
    )
    max_calls_per_turn = models.PositiveIntegerField(
        _("tool calls a turn"), default=32, validators=[MinValueValidator(1)]
    )
    max_calls_per_run = models.PositiveIntegerField(
        _("tool calls a run"), default=128, validators=[MinValueValidator(1)]
    )
    max_tokens = models.PositiveIntegerField(
        _("tokens a run"), null=True, blank=True, help_text=_("Of all its model calls, in and out. Empty: no limit.")
    )
    max_cost = models.DecimalField(
        _("cost of a run"),
        max_digits=12,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=_("In US dollars. Empty: no limit."),
    )
    max_seconds = models.PositiveIntegerField(
        _("seconds a run"), null=True, blank=True, help_text=_("Of work, without waiting for people. Empty: no limit.")
    )

    class Meta:
        abstract = True

    def limits(self) -> RunLimits:
        """The same for the loop."""
        return RunLimits(
            max_rounds=min(self.max_rounds, settings.MAX_ROUNDS),
            max_calls_per_turn=min(self.max_calls_per_turn, settings.MAX_CALLS_PER_TURN),
            max_calls=min(self.max_calls_per_run, settings.MAX_CALLS_PER_RUN),
            max_tokens=self.max_tokens,
            max_cost=self.max_cost,
            max_seconds=self.max_seconds,
        )

    def limit_problems(self) -> dict[str, str]:
        """What ``clean()`` refuses, by field."""
        return {
            field: _("At most %(ceiling)s; the project's settings allow no more.") % {"ceiling": ceiling}
            for field, ceiling in _ceilings().items()
            if (getattr(self, field) or 0) > ceiling
        }


def _ceilings() -> dict[str, int]:
    return {
        "max_rounds": settings.MAX_ROUNDS,
        "max_calls_per_turn": settings.MAX_CALLS_PER_TURN,
        "max_calls_per_run": settings.MAX_CALLS_PER_RUN,
    }
