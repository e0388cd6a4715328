"""How much goes into one embedding request."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

from llm_foundation.exceptions import UnusableConfiguration

OPTION: Final = "embedding_limits"
"""Of a provider's record: what its server takes, where that is less or more than we know of."""

_FRAME: Final = 4
"""Tokens that a model may put around each text."""


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """``texts`` in one request; ``tokens`` of all of them together, and ``text_tokens`` of each; ``None`` is no limit.

    The default is for servers that name no limit: their answers stay within what we read, however long their vectors
    are, and no request takes for ever.
    """

    texts: int = 128
    tokens: int | None = None
    text_tokens: int | None = None

    def adjusted(self, options: Mapping[str, Any], *, provider: str) -> Self:
        """As the options of a provider's record say. Raises ``UnusableConfiguration``."""
        changes = options.get(OPTION) or {}
        names = {field.name for field in fields(self)}
        if not isinstance(changes, Mapping) or not changes.keys() <= names or not all(map(_is_limit, changes.values())):
            raise UnusableConfiguration(
                f"Provider {provider!r}: its option {OPTION!r} must map any of {', '.join(sorted(names))} to whole"
                " numbers above 0."
            )
        return replace(self, **changes)

    def batches(self, texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """The texts in groups that fit into one request each, in their order."""
        batch: list[str] = []
        room = self.tokens
        for text in texts:
            weight = self.most_tokens(text)
            too_heavy = room is not None and weight > room
            if batch and (too_heavy or len(batch) == self.texts):
                yield tuple(batch)
                batch, room = [], self.tokens
            batch.append(text)
            room = None if room is None else room - weight
        if batch:
            yield tuple(batch)

    def most_tokens(self, text: str) -> int:
        """No tokenizer makes more tokens of a text than it has bytes; and a text over the limit is refused anyway."""
        bytes_and_frame = len(text.encode()) + _FRAME
        return bytes_and_frame if self.text_tokens is None else min(bytes_and_frame, self.text_tokens)


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
