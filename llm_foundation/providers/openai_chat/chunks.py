"""Lists inside answers that arrive in pieces: Mistral's content chunks and OpenRouter's reasoning details."""

from collections.abc import Iterator
from typing import Any, Final

from llm_foundation.providers.wire_json import as_list, as_object, as_text


class GrowingEntry:
    """An entry whose one text grows; everything else in it is taken as it comes."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = dict(entry)
        self.pieces: list[str] = []

    def grow(self, text: str, rest: dict[str, Any]) -> None:
        self.pieces.append(text)
        self.entry |= {key: value for key, value in rest.items() if value not in (None, "")}


class Chunks:
    """Content as a list of chunks. Kept only where there is thinking in it: else the text says it all."""

    def __init__(self) -> None:
        self._chunks: list[GrowingEntry] = []
        self._thinks = False

    def read(self, content: Any) -> Iterator[tuple[str, str]]:
        """Take content in any form; give its texts, each as ``("text" | "thinking", text)``."""
        if isinstance(content, str):
            self._grow("text", content, {})
            yield "text", content
        for chunk in map(as_object, as_list(content)):
            if chunk.get("type") == "thinking":
                self._thinks = True
                text, rest = thinking_text(chunk), {key: value for key, value in chunk.items() if key != "thinking"}
                self._grow("thinking", text, rest)
                yield "thinking", text
            elif isinstance(chunk.get("text"), str):
                self._grow("text", chunk["text"], {key: value for key, value in chunk.items() if key != "text"})
                yield "text", chunk["text"]
            elif chunk:
                self._chunks.append(GrowingEntry(chunk))

    def _grow(self, kind: str, text: str, rest: dict[str, Any]) -> None:
        """Pieces of a stream are of the same kind as the chunk before them, and go on with it."""
        if not self._chunks or self._chunks[-1].entry.get("type") != kind:
            if not text:
                return
            self._chunks.append(GrowingEntry({"type": kind}))
        self._chunks[-1].grow(text, rest)

    @property
    def kept(self) -> list[dict[str, Any]]:
        return [_chunk(growing) for growing in self._chunks] if self._thinks else []


def _chunk(growing: GrowingEntry) -> dict[str, Any]:
    text = "".join(growing.pieces)
    if growing.entry.get("type") == "thinking":
        return growing.entry | {"thinking": [{"type": "text", "text": text}]}
    return growing.entry | {"text": text} if growing.pieces else growing.entry


def thinking_text(chunk: dict[str, Any]) -> str:
    thinking = chunk.get("thinking")
    if isinstance(thinking, str):
        return thinking
    return "".join(as_text(as_object(part).get("text")) for part in as_list(thinking))


_GROWING: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}


class ReasoningDetails:
    """OpenRouter's ``reasoning_details``. Pieces of a stream are joined by index and type (agno#8794).

    A piece without an index stands for itself; a last one brings the signature, without any text. The details of a
    ``whole`` message stay as they are.
    """

    def __init__(self) -> None:
        self._entries: list[GrowingEntry] = []

    def add(self, entries: Any, *, whole: bool) -> str:
        """Take details; give what of them can be read."""
        texts = []
        for entry in map(as_object, as_list(entries)):
            field = _GROWING.get(as_text(entry.get("type")), "")
            texts.append(as_text(entry.get(field)))
            earlier = None if whole or not field else self._earlier(entry)
            if earlier is not None:
                earlier.grow(texts[-1], {key: value for key, value in entry.items() if key != field})
            elif entry:
                self._entries.append(GrowingEntry(entry))
        return "".join(texts)

    def _earlier(self, entry: dict[str, Any]) -> GrowingEntry | None:
        if entry.get("index") is None:
            return None
        wanted = (entry["index"], entry["type"])
        known = reversed(self._entries)
        return next((other for other in known if (other.entry.get("index"), other.entry.get("type")) == wanted), None)

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [_detail(growing) for growing in self._entries]


def _detail(growing: GrowingEntry) -> dict[str, Any]:
    if not growing.pieces:
        return growing.entry
    field = _GROWING[growing.entry["type"]]
    return growing.entry | {field: as_text(growing.entry.get(field)) + "".join(growing.pieces)}
