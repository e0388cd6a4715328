"""What is known of a model that a provider offers, and by whom. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from llm_foundation.models import LanguageModel, PriceSource
from llm_foundation.models.catalogue import CatalogueEntry
from llm_foundation.models.language_models import PRICES
from llm_foundation.providers.discovery import FoundModel


class FactSource(StrEnum):
    """Who says so: the provider's own list, the catalogue of public prices, or the record in the admin."""

    PROVIDER = "provider"
    CATALOGUE = "catalogue"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Fact:
    value: Any
    source: FactSource


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """One model that a provider offers.

    ``facts`` are by the field names of ``LanguageModel`` (``context_window``, ``supports_tools``, ``input_price``, …),
    with ``supports_chat`` and ``supports_embeddings``; what nobody knows is not among them.
    """

    model_id: str
    facts: Mapping[str, Fact]
    is_configured: bool = False
    """Whether a language model with this id is set up already."""

    def value(self, name: str) -> Any:
        """What is known by this name; ``None`` where nothing is."""
        fact = self.facts.get(name)
        return fact.value if fact else None

    def source(self, name: str) -> FactSource | None:
        """Who says so; ``None`` where nobody says anything."""
        fact = self.facts.get(name)
        return fact.source if fact else None


_RECORDED: Final = (
    "display_name",
    "context_window",
    "max_output_tokens",
    "supports_tools",
    "supports_parallel_tool_calls",
    "supports_vision",
    "supports_json_schema",
    "supports_sampling",
    "supports_reasoning",
)


def described(found: FoundModel, entry: CatalogueEntry | None, record: LanguageModel | None) -> AvailableModel:
    """The record counts before the provider, the provider before the catalogue.

    Prices are taken from one of them as a whole: the parts of two price lists make none.
    """
    facts = {name: Fact(value, FactSource.PROVIDER) for name, value in found.facts().items()}
    if entry is not None:
        facts = _by_catalogue(entry, has_prices="input_price" in facts) | facts
    if record is not None:
        facts = _by_record(record, facts)
    return AvailableModel(found.model_id, facts, is_configured=record is not None)


def _by_catalogue(entry: CatalogueEntry, *, has_prices: bool) -> dict[str, Fact]:
    known: dict[str, Any] = {"context_window": entry.context_window}
    if not has_prices:
        rates = entry.prices.rates
        known |= {
            "input_price": rates.input,
            "output_price": rates.output,
            "cached_input_price": rates.cached_input,
            "cache_write_price": rates.cache_write,
            "price_tiers": [tier.to_dict() for tier in entry.prices.tiers],
        }
    return {name: Fact(value, FactSource.CATALOGUE) for name, value in known.items() if value not in (None, [])}


def _by_record(record: LanguageModel, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """What the record repeats keeps the source that it has without it."""
    prices = {name: value for name in PRICES if (value := getattr(record, name)) not in (None, [])}
    source = FactSource.CATALOGUE if record.price_source == PriceSource.CATALOGUE else FactSource.OPERATOR
    known = {name: fact for name, fact in facts.items() if not (prices and name in PRICES)}
    known |= {name: Fact(value, source) for name, value in prices.items()}
    for name in _RECORDED:
        value = getattr(record, name)
        if value not in (None, "") and (name not in known or known[name].value != value):
            known[name] = Fact(value, FactSource.OPERATOR)
    return known
