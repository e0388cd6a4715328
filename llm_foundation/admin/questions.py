"""What a call is about, in the words that its tool has for people."""

import re
from collections.abc import Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from llm_foundation.admin.shown_messages import UNREADABLE
from llm_foundation.models import RunToolCall
from llm_foundation.tools import Tool

END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|\s*\n\s*")
"""Where the next word begins in capitals, so that “e.g. a letter” stays whole; or the end of the line."""


def question_of(tool: Tool | None) -> str:
    """What the tool does: the first sentence of its description."""
    if tool is None:
        return _("The code of this project no longer has this tool.")
    return _sentence_and_rest(tool)[0]


def explanation_of(tool: Tool | None) -> str:
    """What its description says beyond that."""
    return _sentence_and_rest(tool)[1] if tool else ""


def _sentence_and_rest(tool: Tool) -> tuple[str, str]:
    found = END_OF_SENTENCE.split(tool.description.strip(), maxsplit=1)
    return found[0], found[1].strip() if len(found) > 1 else ""


def may_read_preview(call: RunToolCall, tool: Tool | None, viewer: Any) -> bool:
    """It was made with the owner's rights: only users of the tool may read it."""
    return bool(call.preview_sealed) and tool is not None and tool.may_use(viewer)


def preview_lines(call: RunToolCall) -> Sequence[str]:
    """What it would change, line by line; empty where there is no preview, or none that can be read."""
    try:
        return list(call.preview["lines"]) if call.preview else ()
    except UNREADABLE:
        return ()
