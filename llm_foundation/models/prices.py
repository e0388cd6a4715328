"""What tokens cost. Prices are US dollars per million tokens; an unknown price is unknown, not free."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Final, Self

from llm_foundation.chat.completions import Usage

MILLION: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Rates:
    """One price list. Cached input and cache writes cost what other input does, where they have no price here."""

    input: Decimal | None = None
    output: Decimal | None = None
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None

    def cost(self, usage: Usage) -> Decimal | None:
        """US dollars; ``None`` where a price or a count that matters is not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        fresh = max(usage.input_tokens - cached - written, 0)
        charges = [
            _charge(fresh, self.input),
            _charge(cached, self.input if self.cached_input is None else self.cached_input),
            _charge(written, self.input if self.cache_write is None else self.cache_write),
            _charge(usage.output_tokens, self.output),
        ]
        known = [charge for charge in charges if charge is not None]
        return sum(known, Decimal(0)) if len(known) == len(charges) else None


@dataclass(frozen=True, slots=True)
class Tier:
    """The rates of a whole call, input and output, whose input is longer than ``above`` tokens."""

    above: int
    rates: Rates

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read ``{"above": 200000, "input": "2.5", …}``. Raises ``ValueError`` naming what is wrong."""
        names = {field.name for field in fields(Rates)}
        if not isinstance(data, Mapping) or not data.keys() <= names | {"above"}:
            raise ValueError(f"a tier is an object with “above” and any of {', '.join(sorted(names))}")
        above = data.get("above")
        if isinstance(above, bool) or not isinstance(above, int) or above < 1:
            raise ValueError("“above” must be a number of tokens")
        return cls(above, Rates(**{name: _price(data[name]) for name in names & data.keys()}))

    def to_dict(self) -> dict[str, Any]:
        priced = {field.name: getattr(self.rates, field.name) for field in fields(Rates)}
        return {"above": self.above} | {name: str(price) for name, price in priced.items() if price is not None}


@dataclass(frozen=True, slots=True)
class Prices:
    """The rates of one model, and those of its long calls."""

    rates: Rates
    tiers: Sequence[Tier] = ()

    def cost(self, usage: Usage) -> Decimal | None:
        """US dollars for one call; ``None`` is unknown. Not for the sum of several calls: tiers are per call."""
        length = usage.input_tokens or 0
        reached = [tier for tier in self.tiers if length > tier.above]
        rates = max(reached, key=lambda tier: tier.above).rates if reached else self.rates
        return rates.cost(usage)


def _charge(tokens: int, price: Decimal | None) -> Decimal | None:
    if tokens == 0:
        return Decimal(0)
    return None if price is None else tokens * price / MILLION


def _price(value: Any) -> Decimal:
    try:
        price = Decimal(str(value))
    except ArithmeticError:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        raise ValueError(f"{value!r} is no price")
    return price
