"""What the answers of several formats are put together from."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.stream import ReasoningDelta, StreamEvent, TextDelta
from llm_foundation.providers.text_pieces import TextPieces
from llm_foundation.providers.wire_json import as_list, as_object


class FirstChoice:
    """Picks one of several answers to one question: the first one ever seen, in whatever chunks it comes."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._index: Any = None

    @property
    def has_come(self) -> bool:
        return self._index is not None

    def of(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The choice in a payload. Empty in a chunk that has none of it."""
        for choice in filter(None, map(as_object, as_list(payload.get(self._key)))):
            index = choice.get("index") or 0
            if self._index is None:
                self._index = index
            if index == self._index:
                return choice
        return {}


class SaidTexts:
    """What a model says, and what it thinks, with the events that tell of it."""

    def __init__(self) -> None:
        self.text, self.reasoning = TextPieces(), TextPieces()

    def say(self, piece: str) -> list[StreamEvent]:
        ready = self.text.add(piece)
        return [TextDelta(text=ready)] if ready else []

    def think(self, piece: str) -> list[StreamEvent]:
        ready = self.reasoning.add(piece)
        return [ReasoningDelta(text=ready)] if ready else []

    def flush(self) -> list[StreamEvent]:
        """End both: nothing more will come."""
        events: list[StreamEvent] = []
        if rest := self.reasoning.flush():
            events.append(ReasoningDelta(text=rest))
        if rest := self.text.flush():
            events.append(TextDelta(text=rest))
        return events
