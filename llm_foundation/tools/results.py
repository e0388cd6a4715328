"""What a tool gives back: text for the model, artifacts for people."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from enum import Enum
from typing import Annotated, Any, Final, Literal

from django.utils.functional import Promise
from pydantic import AfterValidator, BaseModel
from pydantic_core import to_jsonable_python

from llm_foundation.chat.frozen import MAX_DEPTH, JSONValue, Text, Value, clean_text
from llm_foundation.exceptions import InvalidResult

MAX_CHARACTERS: Final = 50_000
NOTHING_TO_SAY: Final = "Done."


def _without_nul(text: str) -> str:
    """PostgreSQL stores no NUL, and no model needs one."""
    return clean_text(text).replace("\x00", "")


class Artifact(Value):
    """Something for people only: ``data`` is JSON that a screen knows how to show for this ``kind``."""

    title: Text
    kind: Literal["table", "file", "link"]
    data: JSONValue


class ToolResult(Value):
    """What the model sees (``content``), whether it reports a failure, and what only people see."""

    content: Annotated[Text, AfterValidator(_without_nul)]
    is_error: bool = False
    artifacts: tuple[Artifact, ...] = ()

    def __init__(self, content: str, is_error: bool = False, artifacts: Sequence[Artifact] = ()) -> None:
        fields: dict[str, Any] = {"content": content, "is_error": is_error, "artifacts": tuple(artifacts)}
        super().__init__(**fields)


def to_result(value: Any) -> ToolResult:
    """A result from whatever a tool returned. Raises ``InvalidResult`` for what no model should be shown as it is.

    Text stays as it is; ``None`` says that the tool is done; everything else becomes JSON text, with decimals and dates
    as strings. A Django model or queryset is refused: nobody chose which of its columns may leave.
    """
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult(NOTHING_TO_SAY)
    try:
        plain = _plain(value, depth=MAX_DEPTH)
        return ToolResult(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))
    except ValueError as error:
        raise InvalidResult(f"A {_kind(value)} cannot be shown to the model: it cannot be written as JSON.") from error


def bounded(result: ToolResult, limit: int = MAX_CHARACTERS) -> ToolResult:
    """The same result with at most ``limit`` characters of content: head and tail, and between them what was cut."""
    content = result.content
    if len(content) <= limit:
        return result
    room = max(limit - len(_cut(len(content))), 0)
    tail = room // 3
    head = room - tail
    kept = content[:head] + _cut(len(content) - room) + content[len(content) - tail :]
    return ToolResult(kept[:limit], result.is_error, result.artifacts)


def _cut(characters: int) -> str:
    return f"\n\n[… {characters:,} characters are left out here …]\n\n"


def _plain(value: Any, *, depth: int) -> Any:
    """The value in JSON's own types. Raises ``InvalidResult``."""
    if depth < 0:
        raise InvalidResult(f"The result is nested more than {MAX_DEPTH} levels deep, or contains itself.")
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str | Promise):
        return _without_nul(str(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _plain_structure(value, lambda item: _plain(item, depth=depth - 1))


def _plain_structure(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, BaseModel):
        return convert(value.model_dump(mode="json", fallback=_refuse))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # repr=False is how a dataclass says that a field is not to be shown.
        return {field.name: convert(getattr(value, field.name)) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {_without_nul(str(convert(key))): convert(item) for key, item in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        raise _refused(value, "return text, or what the bytes mean")
    if isinstance(value, Set):
        # A set has no order of its own; sorted, the same set is always the same text.
        return sorted((convert(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, Sequence | ValuesView):
        return [convert(item) for item in value]
    if isinstance(value, Iterator):
        raise _refused(value, "return a list")
    return to_jsonable_python(value, fallback=_refuse)


def _refuse(value: Any) -> Any:
    raise _refused(value, "return text, or a dict of the fields that the model may see")


def _refused(value: Any, remedy: str) -> InvalidResult:
    return InvalidResult(f"A {_kind(value)} cannot be shown to the model: {remedy}.")


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
