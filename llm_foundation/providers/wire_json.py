"""JSON as it goes to a provider and comes from one."""

import json
from typing import Any, Final

from llm_foundation.chat.frozen import clean_text

_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_LENIENT: Final = json.JSONDecoder(strict=False)
"""Takes control characters inside strings as they are, like a model writes them (livekit/agents#4196)."""


def to_json(value: Any) -> bytes:
    """UTF-8, compact. A lone surrogate, which no provider takes (opencode#14630), never gets through."""
    text = _COMPACT.encode(value)
    return text.encode() if text.isascii() else clean_text(text).encode()


def from_json(text: str) -> Any:
    """Any JSON value. Raises ``ValueError`` for what is none, whatever is wrong with it."""
    try:
        return _LENIENT.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one: what a provider sends need not have the promised shape."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """A whole number that counts something; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == value // 1 and value < 10**15 else None


def raw_text(arguments: Any) -> str:
    """A call's arguments as text, whether they came as text or as an object; empty for none."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)
