"""Reading untyped JSON into values: one wording for what is wrong, always with the field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from llm_foundation.exceptions import InvalidMessage

V = TypeVar("V", bound=BaseModel)
T = TypeVar("T")

_SHOWN: Final = 60


def require_object(value: Any, *, field: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidMessage(f"must be an object, not {kind_of(value)}", field=field)
    return value


def require_text(value: Any, *, field: str) -> str:
    text = optional_text(value, field=field)
    if not text:
        raise InvalidMessage("must be a non-empty string", field=field)
    return text


def optional_text(value: Any, *, field: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InvalidMessage(f"must be a string, not {kind_of(value)}", field=field)
    return value


def require_list(value: Any, *, field: str) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidMessage(f"must be a list, not {kind_of(value)}", field=field)
    return value


def read_each(
    entries: Iterable[Any],
    kind: type[V] | tuple[type[V], ...],
    read: Callable[[Mapping[str, Any]], T],
    *,
    field: str,
) -> Iterator[V | T]:
    """Read a list of objects, ``kind`` being what needs no reading; an error names the wrong one by its place."""
    for index, entry in enumerate(entries):
        yield entry if isinstance(entry, kind) else read_inside(entry, read, field=f"{field}[{index}]")


def read_inside(value: Any, read: Callable[[Mapping[str, Any]], T], *, field: str) -> T:
    """Read the object that a field holds; the path of an error begins with that field."""
    try:
        return read(require_object(value, field=""))
    except InvalidMessage as error:
        raise error.inside(field) from None


def refuse_unknown_keys(entry: Mapping[str, Any], known: frozenset[str]) -> None:
    """Nothing is dropped in silence: a key that we do not read must hold nothing."""
    if entry.keys() <= known:
        return
    for key in entry:
        if key not in known and not _is_nothing(entry[key]):
            raise InvalidMessage("is not known here, and would be lost", field=shown(key))


def _is_nothing(value: Any) -> bool:
    """Null, false, empty; or an object of such values, as some servers send in every place that they left unused."""
    if isinstance(value, Mapping):
        return not any(value.values())
    return value is None or value is False or (isinstance(value, str | list | tuple) and not value)


def shown(value: Any) -> str:
    """A foreign name, fit for the text of an error: short, printable, and never nothing at all."""
    text = value[:_SHOWN] if isinstance(value, str) else kind_of(value)
    return text if text and text.isprintable() else ascii(text)


def kind_of(value: Any) -> str:
    """What a JSON value is, in JSON's words."""
    names: dict[type, str] = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return names.get(type(value), f"a {type(value).__name__}")


def build(kind: type[V], *, field: str, **facts: Any) -> V:
    """Make a value. What pydantic finds becomes ``InvalidMessage``; ``field`` is the place where it names none."""
    try:
        return kind(**facts)
    except ValidationError as error:
        raise _translated(error, field) from None


def _translated(error: ValidationError, field: str) -> InvalidMessage:
    first = error.errors(include_url=False, include_input=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InvalidMessage):
        return cause
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{shown(step)}" for step in first["loc"]).lstrip(".")
    return InvalidMessage(first["msg"].removeprefix("Value error, "), field=path or field)
