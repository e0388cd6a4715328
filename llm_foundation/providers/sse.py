"""Server-sent events from bytes, in whatever pieces these arrive."""

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event. ``name`` is empty where the server named none; ``data`` joins its lines by line feeds."""

    name: str
    data: str


class SSEDecoder:
    """Feed it bytes, take events. Lines end in LF, CR or CRLF; comments and events without data are skipped.

    Only whole lines are decoded, so a character that is split between two pieces stays whole.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._after_cr = False
        self._at_start = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that these bytes complete."""
        if self._after_cr and chunk:
            chunk = chunk[1:] if chunk[:1] == b"\n" else chunk
            self._after_cr = False
        # A long line that arrives byte by byte is joined once, not once per byte.
        if b"\n" not in chunk and b"\r" not in chunk:
            if chunk:
                self._pieces.append(chunk)
            return []
        self._pieces.append(chunk)
        lines = b"".join(self._pieces).splitlines(keepends=True)
        self._pieces = [lines.pop()] if lines[-1][-1:] not in (b"\n", b"\r") else []
        self._after_cr = not self._pieces and chunk[-1:] == b"\r"
        return self._events(lines)

    def finish(self) -> list[ServerSentEvent]:
        """What is left when the bytes end: servers forget the blank line after their last event."""
        rest = b"".join(self._pieces)
        self._pieces = []
        return self._events([rest, b""])

    def _events(self, lines: list[bytes]) -> list[ServerSentEvent]:
        events = []
        for raw in lines:
            line = raw.rstrip(b"\r\n")
            if self._at_start:
                line, self._at_start = line.removeprefix(_BOM), False
            if line:
                self._read(line)
            elif event := self._dispatch():
                events.append(event)
        return events

    def _read(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")

    def _dispatch(self) -> ServerSentEvent | None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        return ServerSentEvent(name, data) if data.strip() else None
