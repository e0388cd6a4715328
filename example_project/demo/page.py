"""The terminal as a page: headings, indented lines, colour where a person is looking."""

import os
import textwrap
from typing import Final, TextIO

from django.core.management.base import OutputWrapper

WIDTH: Final = 96
INDENT: Final = "  "

BOLD: Final = "1"
DIM: Final = "2"
GREEN: Final = "32"
YELLOW: Final = "33"
RED: Final = "31"


class Page:
    """Writes to a stream, without colour unless it is a terminal. Nothing that a model wrote can move the cursor."""

    def __init__(self, out: TextIO | OutputWrapper) -> None:
        self._out = out
        self._is_coloured = out.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._headings = 0

    def title(self, text: str) -> None:
        self._write(self.colour(text, BOLD))

    def heading(self, text: str) -> None:
        self._headings += 1
        self._write("")
        self._write(self.colour(f"{self._headings}  {text}", BOLD))

    def say(self, text: str, colour: str = "", *, indent: int = 1) -> None:
        """Write a paragraph, or lines that stay lines."""
        margin = INDENT * indent
        for line in printable(text).splitlines() or [""]:
            wrapped = textwrap.fill(line, WIDTH, initial_indent=margin, subsequent_indent=margin)
            self._write(self.colour(wrapped, colour))

    def row(self, name: str, text: str, colour: str = "") -> None:
        """Write a name and what is said about it, in two columns."""
        self._write(f"{INDENT}{printable(name):<16} {self.colour(printable(text), colour)}")

    def colour(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if code and self._is_coloured else text

    def _write(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def printable(text: str) -> str:
    return "".join(character if character.isprintable() or character == "\n" else "�" for character in text)
