"""One item of a streamed output, as it grows."""

import json
from collections.abc import Iterator
from typing import Any, Final

from llm_foundation.chat.frozen import clean_text
from llm_foundation.chat.stream import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta, ToolCallStarted
from llm_foundation.providers.openai_responses.items import (
    CALLS,
    Kind,
    Passage,
    Place,
    is_named_call,
    kind_of_item,
    spoken,
)
from llm_foundation.providers.text_pieces import TextPieces

_PARTS: Final[dict[Kind, tuple[str, str]]] = {
    "text": ("output_text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning": ("reasoning_text", "text"),
}
_LASTING: Final = ("name", "call_id")


class GrowingItem:
    """Takes pieces, and in the end the whole item, which counts before all pieces. The events are what is new in it."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item
        self.is_done = False
        self.own_id = ""
        self.position = -1
        self._texts: dict[Place, tuple[Kind, TextPieces]] = {}
        self._written = TextPieces()
        self._passed_on = 0
        self._paragraph: Place | None = None
        self._told: dict[Kind, list[str]] = {"reasoning": [], "text": []}

    @property
    def kind(self) -> str:
        return kind_of_item(self.item)

    def has(self, place: Place) -> bool:
        """Whether pieces of this text came."""
        return place in self._texts

    @property
    def is_written(self) -> bool:
        """Whether pieces of what the call is given came."""
        return bool(self._written)

    def announce(self, item: dict[str, Any]) -> None:
        """Take what is known of the item before it is done."""
        self.item = self.item | item

    def say(self, passage: Passage) -> Iterator[StreamEvent]:
        """A piece of a text."""
        kind, pieces = self._texts.setdefault(passage.place, (passage.kind, TextPieces()))
        ready = pieces.add(passage.text)
        if ready and kind == "reasoning" and passage.place != self._paragraph:
            # Paragraphs of reasoning stand on lines of their own.
            ready = f"\n{ready}" if self._paragraph else ready
            self._paragraph = passage.place
        yield from self._tell(kind, ready)

    def _tell(self, kind: Kind, text: str) -> Iterator[StreamEvent]:
        if not text or kind == "refusal":
            return
        self._told[kind].append(text)
        yield TextDelta(text=text) if kind == "text" else ReasoningDelta(text=text)

    def start(self, *, own_id: str, position: int, name: str) -> Iterator[StreamEvent]:
        """The call is known by its name. What of its arguments came before is told now."""
        self.own_id, self.position = own_id, position
        yield ToolCallStarted(index=position, call_id=own_id, name=name)
        yield from self._pass_on(self._written.ready)

    def write(self, piece: str) -> Iterator[StreamEvent]:
        """A piece of what the call is given."""
        ready = self._written.add(piece)
        if self.own_id:
            yield from self._pass_on(ready)

    def _pass_on(self, text: str) -> Iterator[StreamEvent]:
        """Free text goes into a JSON string: the call has it as its one argument."""
        self._passed_on += len(text)
        if self.kind == "custom_tool_call":
            begins = self._passed_on == len(text)
            text = ('{"input":"' if text and begins else "") + json.dumps(text, ensure_ascii=False)[1:-1]
        if text:
            yield ToolCallDelta(index=self.position, arguments=text)

    def finish(self, item: dict[str, Any]) -> Iterator[StreamEvent]:
        """The whole item. What its pieces did not tell is told now. A name that was said once stays."""
        if self.kind in CALLS and not is_named_call(item):
            item = item | {key: self.item[key] for key in _LASTING if self.item.get(key) and not item.get(key)}
        self.item, self.is_done = item, True
        for kind, told in self._told.items():
            yield from self._tell(kind, _rest(spoken([item], kind), "".join(told)))

    def finish_call(self) -> Iterator[StreamEvent]:
        """Tell the rest of what the call is given."""
        told = self._written.ready[: self._passed_on]
        yield from self._pass_on(_rest(as_written(self.whole()), told))
        if self.kind == "custom_tool_call":
            yield ToolCallDelta(index=self.position, arguments='"}' if self._passed_on else '{"input":""}')

    def flush(self) -> Iterator[StreamEvent]:
        """Nothing more will come, although nobody said that the item is done."""
        for kind, pieces in self._texts.values():
            yield from self._tell(kind, pieces.flush())
        self._written.flush()
        if self.own_id:
            yield from self.finish_call()

    def whole(self) -> dict[str, Any]:
        """The item as it stands."""
        if self.is_done:
            return self.item
        if self.kind in CALLS:
            return self.item | ({CALLS[self.kind]: self._written.text} if self._written else {})
        grown: dict[str, list[dict[str, Any]]] = {}
        for place in sorted(self._texts):
            grown.setdefault(place[0], []).append(self._part(place))
        return self.item | grown

    def _part(self, place: Place) -> dict[str, Any]:
        kind, pieces = self._texts[place]
        name, key = ("summary_text", "text") if place[0] == "summary" else _PARTS[kind]
        return {"type": name, key: pieces.text}


def as_written(item: dict[str, Any]) -> str:
    """What a call is given, as text; some servers send arguments as an object."""
    written = item.get(CALLS[kind_of_item(item)])
    if written is None or isinstance(written, str):
        return written or ""
    return json.dumps(written, ensure_ascii=False)


def _rest(whole: str, told: str) -> str:
    """What of a text was not told yet; nothing where something else was told."""
    whole = clean_text(whole)
    return whole[len(told) :] if whole.startswith(told) else ""
