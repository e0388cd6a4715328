"""One model on a provider: what it can do, how much it takes in, what it costs."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models, router
from django.utils.translation import gettext_lazy as _

from llm_foundation.chat.completions import Usage
from llm_foundation.models.catalogue import look_up
from llm_foundation.models.fields import JSONTextField
from llm_foundation.models.prices import Prices, Rates, Tier
from llm_foundation.models.providers import Provider
from llm_foundation.models.timestamps import Timestamped
from llm_foundation.providers.base import ModelSpec

PRICES: Final = ("input_price", "output_price", "cached_input_price", "cache_write_price", "price_tiers")


class PriceSource(models.TextChoices):
    OPERATOR = "operator", _("Entered here")
    CATALOGUE = "catalogue", _("From the catalogue")


def _price_field(name: Any, help_text: Any = "") -> "models.DecimalField[Any, Any]":
    return models.DecimalField(
        name,
        max_digits=14,
        decimal_places=8,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=help_text,
    )


class LanguageModel(Timestamped):
    provider = models.ForeignKey(
        Provider, on_delete=models.CASCADE, related_name="language_models", verbose_name=_("provider")
    )
    model_id = models.CharField(
        _("model id"), max_length=200, help_text=_("As the provider writes it, for example “gpt-4.1-mini”.")
    )
    display_name = models.CharField(_("name"), max_length=200, blank=True)
    context_window = models.PositiveIntegerField(
        _("context window"), null=True, blank=True, help_text=_("In tokens. Empty: not known.")
    )
    max_output_tokens = models.PositiveIntegerField(
        _("longest answer"), null=True, blank=True, help_text=_("In tokens. Empty: not known.")
    )
    supports_tools = models.BooleanField(_("can call tools"), default=True)
    supports_parallel_tool_calls = models.BooleanField(_("can call several tools at once"), default=True)
    supports_vision = models.BooleanField(_("reads images"), default=False)
    supports_json_schema = models.BooleanField(_("keeps to a JSON Schema"), default=False)
    supports_sampling = models.BooleanField(_("takes temperature and top-p"), default=True)
    supports_reasoning = models.BooleanField(_("takes a reasoning effort"), default=False)
    input_price = _price_field(
        _("input price"), _("US dollars per million tokens. Empty: not known. A model that costs nothing has price 0.")
    )
    output_price = _price_field(_("output price"))
    cached_input_price = _price_field(_("price of cached input"), _("Empty: the same as other input."))
    cache_write_price = _price_field(_("price of writing to the cache"), _("Empty: the same as other input."))
    price_tiers = JSONTextField(
        _("prices of long calls"),
        default=list,
        blank=True,
        help_text=_('For example [{"above": 200000, "input": "2.5", "output": "15"}]; "above" counts input tokens.'),
    )
    price_source = models.CharField(
        _("source of the prices"),
        max_length=16,
        choices=PriceSource.choices,
        default=PriceSource.OPERATOR,
        editable=False,
    )

    class Meta:
        verbose_name = _("language model")
        verbose_name_plural = _("language models")
        ordering = ["provider__name", "model_id"]
        constraints = [models.UniqueConstraint(fields=["provider", "model_id"], name="llm_model_once_per_provider")]

    def __str__(self) -> str:
        return self.display_name or self.model_id

    def spec(self) -> ModelSpec:
        return ModelSpec(
            model_id=self.model_id,
            context_window=self.context_window,
            max_output_tokens=self.max_output_tokens,
            supports_tools=self.supports_tools,
            supports_parallel_tool_calls=self.supports_parallel_tool_calls,
            supports_vision=self.supports_vision,
            supports_json_schema=self.supports_json_schema,
            supports_sampling=self.supports_sampling,
            supports_reasoning=self.supports_reasoning,
        )

    def prices(self) -> Prices:
        """US dollars per million tokens. Raises ``ValueError`` where the tiers are malformed."""
        rates = Rates(self.input_price, self.output_price, self.cached_input_price, self.cache_write_price)
        return Prices(rates, tuple(Tier.from_dict(tier) for tier in self.price_tiers or ()))

    def cost(self, usage: Usage) -> Decimal | None:
        """What one call costs in US dollars; ``None`` where that is not known."""
        try:
            return self.prices().cost(usage)
        except ValueError:  # malformed tiers, written past the form: no reason to lose the answer that was paid for
            return None

    def fill_from_catalogue(self) -> bool:
        """Take prices, and a context window where none is set, from the catalogue; does not save.

        Gives ``False`` and changes nothing where the catalogue does not know this model at this address, or where
        somebody entered a price here.
        """
        if self.price_source == PriceSource.OPERATOR and self._has_prices():
            return False
        provider = self.provider
        entry = look_up(self.model_id, base_url=provider.base_url, vendor=provider.profile or provider.adapter)
        if entry is None:
            return False
        rates = entry.prices.rates
        self.input_price, self.output_price = rates.input, rates.output
        self.cached_input_price, self.cache_write_price = rates.cached_input, rates.cache_write
        self.price_tiers = [tier.to_dict() for tier in entry.prices.tiers]
        self.context_window = self.context_window or entry.context_window
        self.price_source = PriceSource.CATALOGUE
        self._from_catalogue = self._price_values()
        return True

    def clean(self) -> None:
        super().clean()
        try:
            if not isinstance(self.price_tiers, list):
                raise ValueError(_("write a list, for example []"))
            self.prices()
        except ValueError as error:
            raise ValidationError({"price_tiers": str(error)}) from None

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save; a new record without prices takes them from the catalogue, and an edited price is the operator's."""
        if self._state.adding and not self._has_prices():
            self.fill_from_catalogue()
        elif self._prices_were_edited():
            self.price_source = PriceSource.OPERATOR
            update_fields = None if update_fields is None else {*update_fields, "price_source"}
        super().save(*args, update_fields=update_fields, **kwargs)

    save.alters_data = True  # type: ignore[attr-defined]

    def _prices_were_edited(self) -> bool:
        if self.price_source != PriceSource.CATALOGUE or getattr(self, "_from_catalogue", None) == self._price_values():
            return False
        rows = type(self)._base_manager.using(router.db_for_write(type(self), instance=self))
        stored = rows.filter(pk=self.pk).values_list(*PRICES).first()
        return stored is not None and stored != self._price_values()

    def _price_values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in PRICES)

    def _has_prices(self) -> bool:
        return any(value not in (None, []) for value in self._price_values())
