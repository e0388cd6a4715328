"""How long a provider asks to wait, in all the forms in which it says so."""

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WORDS: Final = {"second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "millisecond": "ms", "day": "d"}
_DURATION: Final = r"(?:\d+(?:\.\d+)?\s*(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?|ms|s|m|h|d)\b\s*)"
_COMPACT: Final = r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))"
_IN_WORDS: Final = re.compile(
    rf"(?:try again|retry|wait)[^.\d]{{0,40}}?((?:{_COMPACT})+\b|(?:{_DURATION})+)", re.IGNORECASE
)
_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


def retry_after(headers: Mapping[str, str], message: str = "", delay: str = "") -> float | None:
    """Seconds to wait, never negative. ``None`` where the provider names no time that can be read.

    ``retry-after-ms`` counts before ``retry-after`` (seconds or an HTTP date), that before the words of the message
    ("Please try again in 6m1.5s"), and those before the ``delay`` that stands in the body ("48s").
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("retry-after")
    seconds = _number(header)
    if seconds is None:
        seconds = _until(header, now=headers.get("date"))
    if seconds is None:
        seconds = _in_words(message)
    return _in_words(f"retry in {delay}") if seconds is None and delay else seconds


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(number, 0.0) if math.isfinite(number) else None


def _until(date: str | None, *, now: str | None) -> float | None:
    """Seconds from the answer's own date, so that it does not matter whether our clock agrees with the provider's."""
    end = _timestamp(date)
    if end is None:
        return None
    start = _timestamp(now)
    return max(end - (time.time() if start is None else start), 0.0)


def _timestamp(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date or "").timestamp()
    except (ValueError, OverflowError, IndexError):
        return None


def _in_words(message: str) -> float | None:
    found = _IN_WORDS.search(message)
    if found is None:
        return None
    return sum(float(number) * _UNITS[_unit(word)] for number, word in _PIECE.findall(found[1]))


def _unit(word: str) -> str:
    word = word.lower()
    return word if word in _UNITS else _WORDS[word.removesuffix("s")]
