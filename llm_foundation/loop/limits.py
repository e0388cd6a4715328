"""How far a run may go, how far it has come, and which limit it meets first."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any


class Limit(StrEnum):
    """Which limit ended a run's tool use."""

    ROUNDS = "rounds"
    CALLS = "calls"
    TOKENS = "tokens"
    COST = "cost"
    WALL_CLOCK = "wall_clock"


@dataclass(frozen=True, slots=True)
class RunLimits:
    """``max_tokens`` counts input and output of all model calls, ``max_cost`` is in US dollars; ``None``: no limit."""

    max_rounds: int = 10
    max_calls_per_turn: int = 32
    max_calls: int = 128
    max_tokens: int | None = None
    max_cost: Decimal | None = None
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """What a run has used. ``cost`` is what is known of it, in US dollars; ``seconds`` is time it was executing."""

    rounds: int = 0
    calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    seconds: float = 0.0


def limit_reached(limits: RunLimits, counters: Counters) -> Limit | None:
    """The first limit that leaves no room for another round."""
    used: tuple[tuple[Limit, Any, Any], ...] = (
        (Limit.ROUNDS, counters.rounds, limits.max_rounds),
        (Limit.CALLS, counters.calls, limits.max_calls),
        (Limit.TOKENS, counters.tokens, limits.max_tokens),
        (Limit.COST, counters.cost, limits.max_cost),
        (Limit.WALL_CLOCK, counters.seconds, limits.max_seconds),
    )
    return next((limit for limit, count, most in used if most is not None and count >= most), None)
