"""JSON that cannot change: what goes into a value is copied, cleaned and closed."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, NoReturn, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, Strict

MAX_DEPTH: Final = 64
"""Deeper JSON is refused: no tool needs it, and other people's parsers break on it."""

_MAX_INTEGER_BITS: Final = 4096


class Value(BaseModel):
    """What all values of a conversation share: frozen, and no field that nobody declared.

    ``model_copy(update=…)`` checks nothing, as ever in pydantic: give it finished values only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", revalidate_instances="never", hide_input_in_errors=True)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """What cannot change need not be copied; and copies of closed mappings would be open ones."""
        return self.__copy__()


class FrozenDict(dict[str, Any]):
    """A ``dict`` that refuses change and still is one for ``json`` and ``==``. ``copy.deepcopy`` gives a plain one.

    Only ``freeze`` makes one with content, so that what is inside is closed as well.
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("This mapping belongs to a frozen value; copy.deepcopy() gives one that may change.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, _memo: Any) -> dict[str, Any]:
        return {key: thaw(item) for key, item in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(list[Any]):
    """The same for a ``list``."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("This list belongs to a frozen value; copy.deepcopy() gives one that may change.")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, _memo: Any) -> list[Any]:
        return [thaw(item) for item in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))


def clean_text(text: str) -> str:
    """The text without lone surrogates, which no wire accepts; halves that belong together are joined."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    # str(text) would ask an enumeration for its name.
    return text if type(text) is str else str.__str__(text)


def freeze(value: Any) -> Any:
    """A closed copy of a JSON value. Raises ``ValueError`` for what JSON cannot say, or nests too deeply."""
    return _freeze(value, MAX_DEPTH)


def _freeze(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return clean_text(value)
    if kind is bool or value is None:
        return value
    close = _CLOSERS.get(kind) or _closer_for_subclass(value)
    return close(value, depth - 1)


def _close_text(value: str, _depth: int) -> str:
    return clean_text(value)


def _close_integer(value: int, _depth: int) -> int:
    if value.bit_length() > _MAX_INTEGER_BITS:
        raise ValueError("holds a number that is too large")
    return int(value)


def _close_float(value: float, _depth: int) -> float:
    if not math.isfinite(value):
        raise ValueError("holds a number that JSON cannot say (NaN or infinity)")
    return float(value)


def _close_mapping(value: Mapping[Any, Any], depth: int) -> FrozenDict:
    _check_depth(depth)
    if not all(isinstance(key, str) for key in value):
        raise ValueError("has a key that is not a string")
    frozen = FrozenDict({clean_text(key): _freeze(item, depth) for key, item in value.items()})
    if len(frozen) != len(value):
        raise ValueError("has keys that differ in lone surrogates only")
    return frozen


def _close_list(value: Iterable[Any], depth: int) -> FrozenList:
    _check_depth(depth)
    return FrozenList([_freeze(item, depth) for item in value])


def _check_depth(depth: int) -> None:
    if depth < 0:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")


_CLOSERS: Final[dict[type, Callable[[Any, int], Any]]] = {
    str: _close_text,
    int: _close_integer,
    float: _close_float,
    dict: _close_mapping,
    list: _close_list,
    tuple: _close_list,
    Mapping: _close_mapping,
}


def _closer_for_subclass(value: Any) -> Callable[[Any, int], Any]:
    for kind, close in _CLOSERS.items():
        if isinstance(value, kind):
            return close
    raise ValueError(f"holds a {type(value).__name__}, which is not JSON")


def freeze_object(value: Any) -> FrozenDict:
    """The same for a value that must be a JSON object. What is frozen already stays as it is."""
    if type(value) is FrozenDict:
        return value
    if not isinstance(value, Mapping):
        raise ValueError("must be a JSON object")
    frozen: FrozenDict = freeze(value)
    return frozen


def freeze_texts(value: Any) -> FrozenDict:
    """The same for an object whose values are strings."""
    frozen = freeze_object(value)
    if not all(isinstance(item, str) for item in frozen.values()):
        raise ValueError("must map strings to strings")
    return frozen


def thaw(value: Any) -> Any:
    """A plain copy that may be changed."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list):
        return [thaw(item) for item in value]
    return value


def _clean_if_text(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else value


Text = Annotated[str, Strict(), BeforeValidator(_clean_if_text)]
"""A string without lone surrogates; bytes are none."""

JSONObject = Annotated[dict[str, Any], PlainValidator(freeze_object)]
TextMap = Annotated[dict[str, str], PlainValidator(freeze_texts)]
JSONValue = Annotated[Any, PlainValidator(freeze)]
