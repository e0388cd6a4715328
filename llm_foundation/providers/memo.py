"""What was made of a value, remembered for as long as the value lives."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

S = TypeVar("S")
T = TypeVar("T")


class Memo(Generic[S, T]):
    """Makes something of a frozen value once per dialect.

    A run sends the same messages and tools with every step; so each is encoded at its first step only. Values count
    by identity, because comparing two messages would cost as much as encoding one. Nothing here keeps a value alive,
    and what was made of it goes when the value goes.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[ref[S], dict[str, T]]] = {}

    def __len__(self) -> int:
        """How many living values it remembers something of."""
        return len(self._made)

    def get(self, value: S, dialect: str, make: Callable[[S], T]) -> T:
        """What ``make(value)`` gave for this dialect; ``make`` is called where nothing is remembered."""
        known, made = self._made.get(id(value), (None, {}))
        if known is None or known() is not value:
            made = self._remember(value)
        if dialect not in made:
            made[dialect] = make(value)
        return made[dialect]

    def _remember(self, value: S) -> dict[str, T]:
        key = id(value)
        made: dict[str, T] = {}
        self._made[key] = (ref(value, lambda _: self._made.pop(key, None)), made)
        return made
