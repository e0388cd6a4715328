"""Text that arrives in pieces."""

from llm_foundation.chat.frozen import clean_text


class TextPieces:
    """Joins pieces of text. Half a surrogate pair at the end of one waits for the other half."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held = ""

    def __bool__(self) -> bool:
        return bool(self._parts or self._held)

    def add(self, piece: str) -> str:
        """Take a piece. Gives back what can be passed on now, which may be nothing."""
        if not piece:
            return ""
        piece = self._held + piece
        self._held = piece[-1] if "\ud800" <= piece[-1] <= "\udbff" else ""
        ready = clean_text(piece[:-1] if self._held else piece)
        if ready:
            self._parts.append(ready)
        return ready

    def flush(self) -> str:
        """What still waits, made clean."""
        rest, self._held = clean_text(self._held), ""
        if rest:
            self._parts.append(rest)
        return rest

    @property
    def text(self) -> str:
        """All text so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return (self._parts[0] if self._parts else "") + clean_text(self._held)

    @property
    def ready(self) -> str:
        """All text so far, without a half that waits."""
        return "".join(self._parts)
