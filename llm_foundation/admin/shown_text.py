"""Text that a model, a tool or a stranger wrote, fit to be looked at: nothing in it acts, and nothing in it hides.

Characters that a screen does not show, or that reorder what it shows, appear as their code points. An approver must
not release words that they could not see.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from unicodedata import category, name

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What Unicode counts as letters, marks or symbols although nothing is seen of it."""

LONG: Final = 600
"""Characters from which on a text gets a box of its own, with a scroll bar."""

WORDS: Final = re.compile(r"[^ \n\t]+")
MOST_MARKS: Final = 1_000
"""Runs of hidden characters that a text may have and still get each its own mark with a name."""
MOST_NAMES: Final = 5
VARIATION: Final = "\ufe0f"
JOINER: Final = "\u200d"


@dataclass(frozen=True, slots=True)
class ShownText:
    """``html`` is escaped; ``hidden`` counts the characters that had to be made visible."""

    html: SafeString
    length: int = 0
    hidden: int = 0

    @property
    def is_long(self) -> bool:
        return self.length > LONG or self.html.count("\n") > LONG // 40


def reveal(text: str, *, ends: bool = False) -> ShownText:
    """Make a text visible as it is. ``ends``: blanks at its beginning and its end are marked as well."""
    marks = _marks(text) if ends else _hidden_places(text)
    if not marks:
        return ShownText(escape(text), len(text))
    if sum(place - 1 not in marks for place in marks) > MOST_MARKS:
        return ShownText(escape(text.translate(_codes(text, marks))), len(text), len(marks))
    pieces = (_mark(piece) if is_marked else escape(piece) for is_marked, piece in _pieces(text, marks))
    return ShownText(mark_safe("".join(pieces)), len(text), len(marks))  # noqa: S308  # every piece is escaped


def _pieces(text: str, marks: frozenset[int]) -> Iterator[tuple[bool, str]]:
    for is_marked, group in groupby(enumerate(text), key=lambda entry: entry[0] in marks):
        yield is_marked, "".join(character for _, character in group)


def _marks(text: str) -> frozenset[int]:
    first, after_last = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    return _hidden_places(text) | {*range(first), *range(after_last, len(text))}


def _hidden_places(text: str) -> frozenset[int]:
    suspects = (word.span() for word in WORDS.finditer(text) if not word[0].isprintable() or INVISIBLE.search(word[0]))
    return frozenset(place for span in suspects for place in range(*span) if _is_hidden(text, place, text[place]))


def _codes(text: str, marks: frozenset[int]) -> dict[int, str]:
    """For a text that is full of hidden characters: their codes as text, so that the page does not burst."""
    return {ord(character): f"⟨U+{ord(character):04X}⟩" for character in {text[place] for place in marks}}


def _is_hidden(text: str, index: int, character: str) -> bool:
    if character in (VARIATION, JOINER):
        return not _belongs_to_emoji(text, index)
    if character == "\r":
        return text[index + 1 : index + 2] != "\n"
    return bool(INVISIBLE.match(character)) or not (character.isprintable() or character in "\n\t")


def _belongs_to_emoji(text: str, index: int) -> bool:
    """Between pictures these two characters make other pictures; anywhere else they only hide."""
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if not before or (INVISIBLE.match(before) and before != VARIATION):
        return False
    if text[index] == VARIATION:
        return category(before) in {"So", "Sm"}
    is_picture = before == VARIATION or category(before) in {"So", "Sk"}
    return is_picture and bool(after) and category(after) == "So" and not INVISIBLE.match(after)


def _mark(piece: str) -> SafeString:
    """One run of hidden characters. Repetitions are counted, so that a megabyte of them stays a line."""
    codes = [(code, sum(1 for _ in same)) for code, same in groupby(f"U+{ord(character):04X}" for character in piece)]
    shown = " ".join(code if times == 1 else f"{code} ×{times}" for code, times in codes)
    names = list(dict.fromkeys(name(character, "unnamed character") for character in piece))
    title = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    return format_html('<span class="llm-hidden" title="{}">{}</span>', title, shown)
