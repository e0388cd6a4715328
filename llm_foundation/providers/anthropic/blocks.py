"""Content blocks of one turn, each put together from whatever pieces it comes in."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.stream import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta
from llm_foundation.chat.tool_calls import ToolCall, decode_arguments
from llm_foundation.providers.text_pieces import TextPieces
from llm_foundation.providers.tool_names import wire_name
from llm_foundation.providers.wire_json import as_text


class Block:
    """Any block: one that we do not read ourselves is kept for its owner as it comes."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.wire = dict(start)
        self.is_closed = False

    def open(self) -> Iterator[StreamEvent]:
        """What the start of the block says already."""
        yield from ()

    def grow(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take a piece. A summary comes whole, in a delta of its own; other fields replace what stood there."""
        self.wire |= {key: value for key, value in delta.items() if key != "type"}
        yield from ()

    def flush(self) -> Iterator[StreamEvent]:
        """End its texts: nothing more will come."""
        yield from ()

    def kept(self) -> dict[str, Any] | None:
        """The block as it goes back to its owner; ``None`` where it cannot."""
        return self.wire


class TextBlock(Block):
    """Text, with what it cites."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        super().__init__(start)
        self.pieces = TextPieces()

    def open(self) -> Iterator[StreamEvent]:
        yield from self._say(as_text(self.wire.get("text")))

    def grow(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if isinstance(delta.get("citation"), dict):
            self.wire["citations"] = [*self.citations, delta["citation"]]
        yield from self._say(as_text(delta.get("text")))

    def flush(self) -> Iterator[StreamEvent]:
        if rest := self.pieces.flush():
            yield TextDelta(text=rest)

    def _say(self, text: str) -> Iterator[StreamEvent]:
        if ready := self.pieces.add(text):
            yield TextDelta(text=ready)

    @property
    def citations(self) -> list[Any]:
        citations = self.wire.get("citations")
        return citations if isinstance(citations, list) else []

    def kept(self) -> dict[str, Any] | None:
        return self.wire | {"text": self.pieces.text}


class ThinkingBlock(Block):
    """Thinking. Its signature comes last, in a piece of its own, and once."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        super().__init__(start)
        self.pieces = TextPieces()

    def open(self) -> Iterator[StreamEvent]:
        yield from self._think(as_text(self.wire.get("thinking")))

    def grow(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if signature := as_text(delta.get("signature")):
            self.wire["signature"] = signature
        yield from self._think(as_text(delta.get("thinking")))

    def flush(self) -> Iterator[StreamEvent]:
        if rest := self.pieces.flush():
            yield ReasoningDelta(text=rest)

    def _think(self, text: str) -> Iterator[StreamEvent]:
        if ready := self.pieces.add(text):
            yield ReasoningDelta(text=ready)

    def kept(self) -> dict[str, Any] | None:
        return self.wire | {"thinking": self.pieces.text}


class InputBlock(Block):
    """A call of a tool that the provider runs itself; its input comes in pieces of JSON."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        super().__init__(start)
        self.pieces = TextPieces()

    def grow(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self.pieces.add(as_text(delta.get("partial_json")))
        yield from ()

    @property
    def input(self) -> Any:
        """The input as it was sent: whole in the start of the block, or in pieces after that."""
        return self.pieces.text or self.wire.get("input")

    def kept(self) -> dict[str, Any] | None:
        """Input that was cut off cannot go back, and is never completed by a guess."""
        decoded, invalid = decode_arguments(self.input)
        return self.wire | {"input": decoded} if invalid is None else None


class CallBlock(InputBlock):
    """A call of one of our tools."""

    def __init__(self, start: Mapping[str, Any], *, position: int, own_id: str, own_name: str) -> None:
        super().__init__(start)
        self.position = position
        self.own_id = own_id
        self.own_name = own_name
        self.is_cut = False

    def grow(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if ready := self.pieces.add(as_text(delta.get("partial_json"))):
            yield ToolCallDelta(index=self.position, arguments=ready)

    def flush(self) -> Iterator[StreamEvent]:
        rest = self.pieces.flush()
        if not self.pieces and self.wire.get("input"):
            rest = _as_json(self.wire["input"])
        if rest:
            yield ToolCallDelta(index=self.position, arguments=rest)

    @property
    def call(self) -> ToolCall:
        """The call. One that was cut off is invalid, even where the text that came is valid JSON by chance."""
        if self.is_cut:
            raw = self.input or ""
            raw = raw if isinstance(raw, str) else _as_json(raw)
            return ToolCall(id=self.own_id, name=self.own_name, invalid_arguments=raw)
        return ToolCall.from_model(id=self.own_id, name=self.own_name, arguments=self.input)

    def kept(self) -> dict[str, Any] | None:
        call = self.call
        return self.wire | {"id": call.id, "name": wire_name(call.name), "input": thaw(call.wire_arguments())}


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
