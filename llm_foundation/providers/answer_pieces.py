"""What the answers of several formats are put together from."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.chat.stream import ReasoningDelta, StreamEvent, TextDelta
from llm_foundation.providers.text_pieces import TextPieces
from llm_foundation.providers.wire_json import as_list, as_object


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known of an answer before any of it has come.

    ``owner`` is whose its context will be, ``names`` are our tools' own names by those on the wire, and ``taken_ids``
    the call ids that the conversation has already.
    """

    owner: StateOwner
    names: Mapping[str, str] = field(default_factory=dict)
    taken_ids: Collection[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


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
