"""The root of the tree, and how errors show foreign text."""

from typing import Any, Final

_MAX_LINE: Final = 300


def one_line(text: str) -> str:
    """Foreign text that an error may show: bounded, and without characters that could forge a log or a screen."""
    shown = "".join(character if character.isprintable() else " " for character in text[: 4 * _MAX_LINE])
    line = " ".join(shown.split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


class LLMFoundationError(Exception):
    """The root: ``except LLMFoundationError`` catches all that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross processes (task workers, parallel tests), whatever arguments their makers take."""
        return (_restored, (type(self), self.args), vars(self))


def _restored(kind: type[LLMFoundationError], args: tuple[Any, ...]) -> LLMFoundationError:
    return kind.__new__(kind, *args)
