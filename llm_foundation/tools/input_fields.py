"""The fields that a person fills in before a call runs: read from the tool's input model, described for any form."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, StrEnum
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, SecretStr
from pydantic.fields import FieldInfo

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.inputs import input_schema
from llm_foundation.tools.signature import UNUSABLE

if TYPE_CHECKING:
    from llm_foundation.tools.definition import Tool


class InputKind(StrEnum):
    """What is typed or chosen. ``CHOICES`` is any number of the choices; ``SECRET`` is text that no screen repeats."""

    TEXT = "text"
    SECRET = "secret"  # noqa: S105  # a kind of field
    INTEGER = "integer"
    NUMBER = "number"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    CHOICE = "choice"
    CHOICES = "choices"


@dataclass(frozen=True, slots=True)
class InputChoice:
    """``value`` is what the input holds when this is chosen, ``label`` what a person reads."""

    value: str | int | bool
    label: str


@dataclass(frozen=True, slots=True)
class InputField:
    """One field of a form. ``name`` is its key in ``input=``; ``default`` stands where ``required`` is false.

    ``constraints`` may hold ``min_length``, ``max_length`` (of a text in characters, of ``CHOICES`` in values),
    ``pattern``, ``ge``, ``gt``, ``le``, ``lt``, ``multiple_of``, ``max_digits`` and ``decimal_places``. ``nullable``
    says that ``None`` may be given. The model may ask for more; only validating says whether an input fits.
    """

    name: str
    title: str
    kind: InputKind
    description: str = ""
    required: bool = True
    nullable: bool = False
    choices: tuple[InputChoice, ...] = ()
    default: Any = None
    constraints: Mapping[str, Any] = field(default_factory=dict)


def form_fields(tool: "Tool") -> tuple[InputField, ...]:
    """What a person fills in before a call of this tool, in the model's order; none where it asks for no input."""
    return () if tool.input_model is None else tuple(_fields(tool.input_model))


def check_input_model(model: Any, *, place: str) -> None:
    """Refuse what no person could fill in. Raises ``InvalidTool`` that names the field and the reason."""
    try:
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            raise _Unfit(f"it must be a pydantic BaseModel, not {model!r}")
        if issubclass(model, RootModel):
            raise _Unfit("a RootModel has no named fields")
        if not model.__pydantic_complete__ and not model.model_rebuild(raise_errors=False):
            raise _Unfit("the types of its fields cannot be resolved; define them before the model")
        if not model.model_fields:
            raise _Unfit("it has no fields, so there is nothing to fill in")
        list(_fields(model))
        input_schema(model)
    except (_Unfit, *UNUSABLE) as unfit:
        raise InvalidTool(
            f"{place}: input_model {getattr(model, '__name__', model)!s} cannot be a form: {unfit}."
        ) from None


class _Unfit(Exception):
    """Why no form can be made of it."""


@dataclass(frozen=True, slots=True)
class _Type:
    kind: InputKind
    choices: tuple[InputChoice, ...] = ()


_KINDS: Final[Mapping[type, InputKind]] = MappingProxyType(
    {
        str: InputKind.TEXT,
        SecretStr: InputKind.SECRET,
        bool: InputKind.BOOLEAN,
        int: InputKind.INTEGER,
        float: InputKind.NUMBER,
        Decimal: InputKind.DECIMAL,
        datetime: InputKind.DATETIME,
        date: InputKind.DATE,
        time: InputKind.TIME,
    }
)

_CONSTRAINTS: Final = (
    "min_length",
    "max_length",
    "pattern",
    "ge",
    "gt",
    "le",
    "lt",
    "multiple_of",
    "max_digits",
    "decimal_places",
)


def _fields(model: type[BaseModel]) -> Iterator[InputField]:
    for name, info in model.model_fields.items():
        try:
            yield _field(name, info)
        except _Unfit as unfit:
            raise _Unfit(f"field {name!r} {unfit}") from None


def _field(name: str, info: FieldInfo) -> InputField:
    if info.alias or info.validation_alias:
        raise _Unfit("has an alias: people and programs fill fields in by their names")
    base, metadata, nullable = _unwrapped(info.annotation, info.metadata)
    read = _type(base)
    return InputField(
        name=name,
        title=str(info.title or "") or name.replace("_", " ").strip().capitalize(),
        kind=read.kind,
        description=str(info.description or ""),
        required=info.is_required(),
        nullable=nullable,
        choices=read.choices,
        default=None if read.kind is InputKind.SECRET else _default(info),
        constraints=MappingProxyType(dict(_constraints(metadata))),
    )


def _unwrapped(annotation: Any, metadata: Iterable[Any]) -> tuple[Any, list[Any], bool]:
    """The type itself, everything that is said about it, and whether it may be ``None``."""
    said, nullable = list(metadata), False
    while True:
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation = arguments[0]
            said += arguments[1:]
        elif origin in (Union, UnionType) and NoneType in arguments and len(arguments) == 2:
            annotation = next(one for one in arguments if one is not NoneType)
            nullable = True
        else:
            return annotation, said, nullable


def _type(base: Any) -> _Type:
    if choices := _choices(base):
        return _Type(InputKind.CHOICE, choices)
    if get_origin(base) is list:
        item, _, nullable = _unwrapped(get_args(base)[0], ())
        if not nullable and (choices := _choices(item)):
            return _Type(InputKind.CHOICES, choices)
        raise _Unfit("is a list of something else than an enumeration or a Literal")
    if isinstance(base, type) and base in _KINDS:
        return _Type(_KINDS[base])
    shown = getattr(base, "__name__", None) or repr(base)
    raise _Unfit(
        f"is of type {shown}; a form has str, SecretStr, int, float, Decimal, bool, date, datetime, time, an"
        " enumeration or a Literal, each perhaps Optional, or a list of an enumeration"
    )


def _choices(base: Any) -> tuple[InputChoice, ...]:
    if get_origin(base) is Literal:
        return tuple(_choice(value, str(value)) for value in get_args(base))
    if isinstance(base, type) and issubclass(base, Enum):
        return tuple(_choice(member.value, _label(member)) for member in base)
    return ()


def _choice(value: Any, label: str) -> InputChoice:
    if not isinstance(value, str | int) or isinstance(value, Enum):
        raise _Unfit(f"offers {value!r}; only text, whole numbers, True and False can be chosen in a form")
    return InputChoice(value, label)


def _label(member: Enum) -> str:
    """Django's choices carry a label for people."""
    return str(getattr(member, "label", "") or member.name.replace("_", " ").capitalize())


def _default(info: FieldInfo) -> Any:
    if info.is_required() or info.default_factory_takes_validated_data:
        return None
    default = info.get_default(call_default_factory=True)
    if isinstance(default, list):
        return [_plain(one) for one in default]
    return _plain(default)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _constraints(metadata: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from _constraints(entry.metadata)
            continue
        for name in _CONSTRAINTS:
            value = getattr(entry, name, None)
            if value is not None:
                yield name, value
