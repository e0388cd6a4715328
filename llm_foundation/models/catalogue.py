"""Prices and sizes of public models, from the data that ``genai-prices`` brings along. Asks no network.

The package is loaded on first use: it takes a sixth of a second and brings an HTTP client with it.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.utils import timezone

from llm_foundation.models.prices import Prices, Rates, Tier

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

KEYS: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
"""Our names for a rate, and the catalogue's."""
VENDORS: Final = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "openrouter": "openrouter",
    "groq": "groq",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "xai": "x-ai",
    "together": "together",
    "fireworks": "fireworks",
}
"""Adapters and profiles that have a usual address at a vendor, and the catalogue's name for that vendor."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """What the catalogue knows of one model of one provider."""

    context_window: int | None
    prices: Prices


def look_up(model_id: str, *, base_url: str, vendor: str) -> CatalogueEntry | None:
    """Find a model by where it is called; ``vendor`` counts only where there is no address.

    The model's name alone decides nothing: the same weights cost something here and nothing on our own machine.
    """
    from genai_prices.data_snapshot import get_snapshot

    provider_id = None if base_url else VENDORS.get(vendor)
    if not base_url and provider_id is None:
        return None
    try:
        _, model = get_snapshot().find_provider_model(model_id, None, provider_id, base_url or None)
    except LookupError:
        return None
    return CatalogueEntry(model.context_window, _prices(_standard_price(model, timezone.now())))


def _standard_price(model: "ModelInfo", now: datetime) -> "ModelPrice":
    """The price list in force. Prices for certain hours of the day are left out: they would stick to every hour."""
    from genai_prices.types import ModelPrice, StartDateConstraint

    if isinstance(model.prices, ModelPrice):
        return model.prices
    in_force = model.prices[0].prices
    for entry in model.prices:
        dated = isinstance(entry.constraint, StartDateConstraint) and entry.constraint.active(now)
        if entry.constraint is None or dated:
            in_force = entry.prices
    return in_force


def _prices(listed: "ModelPrice") -> Prices:
    from genai_prices.types import TieredPrices

    stored = {name: getattr(listed, key) for name, key in KEYS.items()}
    thresholds = {tier.start for price in stored.values() if isinstance(price, TieredPrices) for tier in price.tiers}
    tiers = [Tier(above, _rates(stored, above + 1)) for above in sorted(thresholds)]
    return Prices(_rates(stored, 0), tuple(tiers))


def _rates(stored: dict[str, Any], input_tokens: int) -> Rates:
    return Rates(**{name: _price_at(price, input_tokens) for name, price in stored.items()})


def _price_at(price: Any, input_tokens: int) -> Decimal | None:
    from genai_prices.types import TieredPrices

    if not isinstance(price, TieredPrices):
        return price  # type: ignore[no-any-return]
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base
