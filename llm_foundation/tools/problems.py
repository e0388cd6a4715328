"""What is wrong with arguments, in words that a model can act on and that repeat nothing at length."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Problem = tuple[str, str]
"""Where, as ``lines[0].sku``; and why."""

WHOLE: Final = "(arguments)"
MAX_PROBLEMS: Final = 20
_MAX_PATH: Final = 120
_MAX_REASON: Final = 300


class Rejected(Exception):
    """The arguments do not fit. Becomes ``InvalidArguments`` where the tool's name is known."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = summarised(problems)
        super().__init__()


def path_of(parts: Iterable[str | int]) -> str:
    """``("lines", 0, "sku")`` as ``lines[0].sku``."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or WHOLE


def unknown_argument(known: Iterable[str]) -> str:
    names = ", ".join(known)
    return f"unknown argument; this tool takes {names}" if names else "unknown argument; this tool takes none"


def summarised(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """One entry per path, short, and not more than anybody would read."""
    reasons: dict[str, list[str]] = {}
    for path, why in problems:
        known = reasons.setdefault(shortened(path, _MAX_PATH), [])
        if why not in known:
            known.append(why)
    listed = [(path, shortened("; or: ".join(whys), _MAX_REASON)) for path, whys in reasons.items()]
    if len(listed) > MAX_PROBLEMS:
        rest = len(listed) - MAX_PROBLEMS
        return (*listed[:MAX_PROBLEMS], (WHOLE, f"and {rest} more problems"))
    return tuple(listed)


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def place_in(arguments: Any, location: Sequence[str | int], *, missing: bool) -> tuple[str | int, ...]:
    """The part of a location that stands in the arguments: pydantic also names the branch of a union that it tried."""
    kept: list[str | int] = []
    here = arguments
    for index, part in enumerate(location):
        if _stands_in(here, part):
            here = here[part]
            kept.append(part)
        elif missing and index == len(location) - 1:
            kept.append(part)
    return tuple(kept)


def _stands_in(value: Any, part: str | int) -> bool:
    if isinstance(value, Mapping):
        return part in value
    return isinstance(value, list | tuple) and isinstance(part, int) and 0 <= part < len(value)
