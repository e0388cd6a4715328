"""Text that a model, a tool or a stranger wrote, fit to be looked at: nothing in it acts, and nothing in it hides.

Characters that a screen does not show, or that reorder what it shows, appear as their code points. An approver must
not release words that they could not see.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
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

Span = tuple[int, int]

MOST_MARKS: Final = 1_000
"""Runs of hidden characters that a text may have and still get each its own mark with a name."""
MOST_NAMES: Final = 5
VARIATION: Final = "\ufe0f"
JOINER: Final = "\u200d"
DEPENDS: Final = frozenset({VARIATION, JOINER, "\r"})
"""Whether these are seen depends on what stands beside them."""


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
    spans = _joined(sorted([*_hidden_spans(text), *(_blank_ends(text) if ends else ())]))
    hidden = sum(end - start for start, end in spans)
    if not spans:
        return ShownText(escape(text), len(text))
    if len(spans) > MOST_MARKS:
        return ShownText(escape(text.translate(_codes(text, spans))), len(text), hidden)
    return ShownText(mark_safe("".join(_pieces(text, spans))), len(text), hidden)  # noqa: S308  # every piece is escaped


def _pieces(text: str, spans: Sequence[Span]) -> Iterator[SafeString]:
    here = 0
    for start, end in spans:
        yield escape(text[here:start])
        yield _mark(text[start:end])
        here = end
    yield escape(text[here:])


def _hidden_spans(text: str) -> Iterator[Span]:
    """Each kind of character is looked at once: a megabyte of them must not take the reader's time."""
    kinds = set(text)
    unsure = kinds & DEPENDS
    suspects = unsure | {kind for kind in kinds - unsure if _is_never_seen(kind)}
    if not suspects:
        return
    for found in re.finditer(f"[{re.escape(''.join(sorted(suspects)))}]+", text):
        if unsure.isdisjoint(found[0]):
            yield found.span()
        else:
            places = range(*found.span())
            yield from ((place, place + 1) for place in places if _is_hidden(text, place, text[place]))


def _blank_ends(text: str) -> Iterator[Span]:
    first, after_last = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    if first:
        yield 0, first
    if first <= after_last < len(text):
        yield after_last, len(text)


def _joined(spans: Iterable[Span]) -> list[Span]:
    """What stands beside each other is one mark."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _codes(text: str, spans: Iterable[Span]) -> dict[int, str]:
    """For a text that is full of hidden characters: their codes as text, so that the page does not burst."""
    found = {character for start, end in spans for character in text[start:end]}
    return {ord(character): f"⟨U+{ord(character):04X}⟩" for character in found}


def _is_never_seen(character: str) -> bool:
    return bool(INVISIBLE.match(character)) or not (character.isprintable() or character in "\n\t")


def _is_hidden(text: str, index: int, character: str) -> bool:
    if character not in DEPENDS:
        return _is_never_seen(character)
    if character == "\r":
        return text[index + 1 : index + 2] != "\n"
    return not _belongs_to_emoji(text, index)


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
    runs = [(f"U+{ord(character):04X}", sum(1 for _ in same)) for character, same in groupby(piece)]
    shown = " ".join(code if times == 1 else f"{code} ×{times}" for code, times in runs)
    names = list(dict.fromkeys(name(character, "unnamed character") for character in dict.fromkeys(piece)))
    title = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    return format_html('<span class="llm-hidden" title="{}">{}</span>', title, shown)
