"""Arguments that Vertex streams value by value, each with the JSON path where it belongs."""

import re
from collections.abc import Iterator
from typing import Any, Final

from llm_foundation.chat.frozen import MAX_DEPTH
from llm_foundation.providers.wire_json import as_list, as_object, as_text

Step = str | int

_STEP: Final = re.compile(r"""\.([^.\[\]'"]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_ESCAPED: Final = re.compile(r"\\(.)")
_VALUES: Final = ("stringValue", "numberValue", "boolValue")


class PartialArgs:
    """Puts an object together. ``is_broken`` once a value had no place in it: then nothing of it may be executed."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self.is_broken = False
        self._growing: tuple[Step, ...] | None = None

    def add(self, pieces: Any) -> None:
        for piece in map(as_object, as_list(pieces)):
            steps = _steps(as_text(piece.get("jsonPath")))
            values = [piece[name] for name in _VALUES if name in piece] or ([None] if "nullValue" in piece else [])
            if not steps or len(values) > 1:
                self.is_broken = True
            elif values:
                self._set(steps, values[0], goes_on=steps == self._growing)
            self._growing = steps if piece.get("willContinue") is True else None

    def _set(self, steps: tuple[Step, ...], value: Any, *, goes_on: bool) -> None:
        """Put a value at its place; text that goes on is added to what stands there."""
        holder: Any = self.value
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if not _has_place(holder, step):
                self.is_broken = True
                return
            if isinstance(holder, dict):
                holder.setdefault(step, None)
            elif step == len(holder):
                holder.append(None)
            known = holder[step]
            if following is None:
                holder[step] = known + value if goes_on and _are_texts(known, value) else value
            elif known is None:
                holder[step] = [] if isinstance(following, int) else {}
            holder = holder[step]


def _steps(path: str) -> tuple[Step, ...]:
    """The steps of a JSON path (RFC 9535, names and indexes only); empty for any other."""
    if not path.startswith("$") or len(path) == 1:
        return ()
    found = list(_STEP.finditer(path, 1))
    is_whole = "".join(step[0] for step in found) == path[1:]
    return tuple(_read(found)) if is_whole and len(found) <= MAX_DEPTH else ()


def _read(found: list[re.Match[str]]) -> Iterator[Step]:
    for step in found:
        name, index, single, double = step.groups()
        yield int(index) if index is not None else name or _ESCAPED.sub(r"\1", single if single is not None else double)


def _has_place(holder: Any, step: Step) -> bool:
    """Whether a step leads into a value: a name into an object, an index into a list or to its end."""
    if isinstance(holder, list):
        return isinstance(step, int) and step <= len(holder)
    return isinstance(holder, dict) and isinstance(step, str)


def _are_texts(known: Any, value: Any) -> bool:
    return isinstance(known, str) and isinstance(value, str)
