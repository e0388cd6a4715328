"""What tools, settings, configurations, gate and runs share: effects, data classes, trust zones, the longest time."""

from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

MOST_SECONDS: Final = 365 * 24 * 60 * 60
"""A year. Nothing is declared or set to last longer: that would be a mistake, and calendars come to an end."""


class _Ranked(StrEnum):
    """Members compare by their place in the list. As plain strings they would compare by spelling, which means nothing.

    Against anything else, a stored string included, a comparison raises ``TypeError``; equality stays that of strings.
    """

    rank: int

    def __new__(cls, value: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = len(cls.__members__)
        return member

    def __lt__(self, other: str) -> bool:
        return self.rank < self._rank_of(other)

    def __le__(self, other: str) -> bool:
        return self.rank <= self._rank_of(other)

    def __gt__(self, other: str) -> bool:
        return self.rank > self._rank_of(other)

    def __ge__(self, other: str) -> bool:
        return self.rank >= self._rank_of(other)

    def _rank_of(self, other: object) -> int:
        if not isinstance(other, type(self)):
            raise TypeError(f"{type(self).__name__} has no order with {type(other).__name__}; convert it first.")
        return other.rank


class Effect(_Ranked):
    """What a call of a tool does to the world; from the least strict to the strictest."""

    READ_ONLY = "read_only"
    TRANSACTIONAL_WRITE = "transactional_write"
    IDEMPOTENT_WRITE = "idempotent_write"
    NON_IDEMPOTENT_WRITE = "non_idempotent_write"

    @property
    def writes(self) -> bool:
        return self is not Effect.READ_ONLY

    @property
    def strictness(self) -> int:
        """Higher is handled with more care; of two declarations the stricter one counts."""
        return self.rank


class DataClass(_Ranked):
    """How sensitive data is, from ``PUBLIC`` up to ``SECRET``."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    CONFIDENTIAL = "confidential"
    SECRET = "secret"

    @property
    def level(self) -> int:
        return self.rank

    def fits(self, ceiling: "DataClass") -> bool:
        """Whether data of this class may stand where at most ``ceiling`` is allowed."""
        return self <= ceiling


def highest(*classes: DataClass) -> DataClass:
    """The most sensitive of the classes; ``PUBLIC`` for none."""
    return max(classes, default=DataClass.PUBLIC)


class TrustZone(_Ranked):
    """Where a provider runs, as its operator declares it; from the most trusted to the least."""

    LOCAL = "local"
    PRIVATE = "private"
    REGIONAL = "regional"
    EXTERNAL = "external"


DEFAULT_CEILINGS: Final = MappingProxyType(
    {
        TrustZone.LOCAL: DataClass.SECRET,
        TrustZone.PRIVATE: DataClass.CONFIDENTIAL,
        TrustZone.REGIONAL: DataClass.PERSONAL,
        TrustZone.EXTERNAL: DataClass.INTERNAL,
    }
)
"""The highest data class that a run reaching a zone may hold, unless settings say otherwise."""
