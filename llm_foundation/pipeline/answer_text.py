"""Finding the JSON object in what a model wrote. Pure, and linear in the length of the text."""

import json
import re
from typing import Final

from llm_foundation.chat.frozen import FrozenDict, freeze_object

_FENCE: Final = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\r?\n\s*(?=\{)", re.MULTILINE)
_DECODER: Final = json.JSONDecoder(strict=False)
"""Takes control characters inside strings as they are, like a model writes them."""

_MARKS: Final = re.compile(r'\\.|["{}]', re.DOTALL)
"""What decides where an object ends; escaped characters are passed over in pairs."""


def object_in(text: str) -> FrozenDict | None:
    """The object that an answer holds: the whole answer; else the one in a fenced block; else the first balanced one.

    Never a part of a broken object: where objects of one kind hold each other, a part could pass for the whole.
    """
    whole = _decoded(text.strip())
    if whole is not None:
        return whole
    fence = _FENCE.search(text)
    return _first_balanced(text, fence.end() if fence else 0)


def _first_balanced(text: str, start: int) -> FrozenDict | None:
    while (opening := text.find("{", start)) >= 0:
        end = _end(text, opening)
        if end is None:
            return None
        found = _decoded(text[opening:end])
        if found is not None:
            return found
        start = end
    return None


def _end(text: str, opening: int) -> int | None:
    """Behind the brace that closes the one at ``opening``; braces in strings do not count."""
    depth, is_quoted = 0, False
    for mark in _MARKS.finditer(text, opening):
        if mark[0] == '"':
            is_quoted = not is_quoted
        elif mark[0] in "{}" and not is_quoted:
            depth += 1 if mark[0] == "{" else -1
            if depth == 0:
                return mark.end()
    return None


def _decoded(text: str) -> FrozenDict | None:
    try:
        return freeze_object(_DECODER.decode(text))
    except (ValueError, RecursionError):
        return None
