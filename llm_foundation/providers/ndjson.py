"""JSON values, one a line, from bytes in whatever pieces these arrive."""

from llm_foundation.providers.sse import ServerSentEvent
from llm_foundation.providers.wire_json import from_json

_BOM = b"\xef\xbb\xbf"


class LineDecoder:
    """Feed it bytes, take lines as events without a name. Blank lines are skipped.

    Only whole lines are decoded, so a character that is split between two pieces stays whole.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The lines that these bytes complete."""
        # A long line that arrives byte by byte is joined once, not once per byte.
        self._pieces.append(chunk)
        if b"\n" not in chunk:
            return []
        *lines, rest = b"".join(self._pieces).split(b"\n")
        self._pieces = [rest]
        return [ServerSentEvent("", text) for line in lines if (text := _text(line))]

    def finish(self) -> list[ServerSentEvent]:
        """The last line, where only its line feed is missing. One that was cut off is nothing that was said."""
        text = _text(b"".join(self._pieces))
        self._pieces = []
        try:
            from_json(text)
        except ValueError:
            return []
        return [ServerSentEvent("", text)]


def _text(line: bytes) -> str:
    return line.removeprefix(_BOM).decode("utf-8", "replace").strip()
