"""One call of a tool, as the model asked for it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn, Self
from uuid import uuid4

from pydantic import Field, field_validator, model_validator

from llm_foundation.chat.frozen import FrozenDict, JSONObject, Text, Value, freeze_object, thaw
from llm_foundation.chat.reading import (
    build,
    optional_text,
    read_inside,
    refuse_unknown_keys,
    require_object,
    require_text,
)
from llm_foundation.exceptions import InvalidMessage

INVALID_JSON: Final = "INVALID_JSON"
"""The only key of the object that stands on the wire for arguments that were no JSON object. It is reserved: a model
that imitates its own history by sending it makes an invalid call again."""


class ToolCall(Value):
    """A call with its decoded arguments.

    ``invalid_arguments`` holds the raw text where the model sent no JSON object; ``arguments`` is empty then, and
    the call must never be executed. A missing or blank ``id`` is replaced by one of ours.
    """

    id: Text = Field(default="", validate_default=True)
    name: Text = Field(min_length=1)
    arguments: JSONObject = Field(default_factory=FrozenDict)
    invalid_arguments: Text | None = None

    @field_validator("id")
    @classmethod
    def _own_id_for_blank(cls, value: str) -> str:
        return value if value.strip() else new_call_id()

    @model_validator(mode="before")
    @classmethod
    def _recognise_replayed_invalid(cls, data: Any) -> Any:
        raw = _replayed_invalid(data.get("arguments")) if isinstance(data, dict) else None
        return data if raw is None else {**data, "arguments": {}, "invalid_arguments": raw}

    @model_validator(mode="after")
    def _invalid_means_empty(self) -> Self:
        if self.invalid_arguments is not None and self.arguments:
            raise ValueError("arguments must be empty where invalid_arguments holds the raw text")
        return self

    @classmethod
    def from_model(cls, *, id: str | None, name: str, arguments: Any) -> Self:
        """Build a call from what a provider sent: ``arguments`` as text, object or nothing at all."""
        decoded, invalid = decode_arguments(arguments)
        return cls(id=id or "", name=name, arguments=decoded, invalid_arguments=invalid)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read either written form. Raises ``InvalidMessage`` with the path inside the call."""
        entry = require_object(data, field="tool_call")
        if entry.get("type") not in (None, "", "function"):
            raise InvalidMessage("must be 'function'", field="type")
        refuse_unknown_keys(entry, _KEYS)
        call_id = optional_text(entry.get("id"), field="id") or ""
        name, sent = read_inside(entry.get("function"), _read_function, field="function")
        arguments, invalid = decode_arguments(sent)
        stated = optional_text(entry.get("invalid_arguments"), field="invalid_arguments")
        if stated is not None:
            invalid = stated
        return build(
            cls, field="function.arguments", id=call_id, name=name, arguments=arguments, invalid_arguments=invalid
        )

    def to_dict(self) -> dict[str, Any]:
        """The stored form: the decoded map, and the raw text where there was none."""
        written: dict[str, Any] = {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": thaw(self.arguments)},
        }
        if self.invalid_arguments is not None:
            written["invalid_arguments"] = self.invalid_arguments
        return written

    def wire_arguments(self) -> dict[str, Any]:
        """A valid object, also for a call that had none: a broken one would make every replay fail."""
        if self.invalid_arguments is not None:
            return {INVALID_JSON: self.invalid_arguments}
        return self.arguments

    def to_wire(self) -> dict[str, Any]:
        """The OpenAI-compatible form; ``arguments`` is a JSON string, ``"{}"`` for none."""
        arguments = json.dumps(self.wire_arguments(), ensure_ascii=False, separators=(",", ":"))
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}

    def with_id(self, call_id: str) -> Self:
        return self.model_copy(update={"id": call_id})


_KEYS: Final = frozenset({"id", "type", "function", "invalid_arguments", "index", "extra_content"})
"""``index`` counts the pieces of a stream; ``extra_content`` belongs to the provider that made the call."""

_FUNCTION_KEYS: Final = frozenset({"name", "arguments", "parsed_arguments"})


def _read_function(entry: Mapping[str, Any]) -> tuple[str, Any]:
    refuse_unknown_keys(entry, _FUNCTION_KEYS)
    return require_text(entry.get("name"), field="name"), entry.get("arguments")


def rename_repeated(calls: Iterable[ToolCall], taken: set[str]) -> tuple[tuple[ToolCall, ...], dict[str, str]]:
    """The calls of one turn with ids that nobody else has, and how ids changed: old to new.

    ``taken`` grows by the ids of the turn. Of calls that share an id the first stands for it in what changed.
    """
    kept: list[ToolCall] = []
    first: dict[str, str] = {}
    for call in calls:
        unique = call if call.id not in taken else call.with_id(new_call_id())
        taken.add(unique.id)
        kept.append(unique)
        first.setdefault(call.id, unique.id)
    return tuple(kept), {old: new for old, new in first.items() if old != new}


def new_call_id() -> str:
    return f"call_{uuid4().hex[:24]}"


def decode_arguments(raw: Any) -> tuple[dict[str, Any], str | None]:
    """The decoded object and ``None``; or ``{}`` and the raw text of what is no JSON object.

    Blank, ``None`` and absent mean "no arguments". Raw control characters inside strings are accepted.
    """
    if raw is None:
        return {}, None
    if isinstance(raw, Mapping):
        return _checked(raw)
    if not isinstance(raw, str):
        return {}, _as_text(raw)
    if not raw.strip():
        return {}, None
    try:
        decoded = json.loads(raw, strict=False, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return {}, raw
    return _checked(decoded, raw) if isinstance(decoded, dict) else ({}, raw)


def _checked(decoded: Mapping[str, Any], raw: str | None = None) -> tuple[dict[str, Any], str | None]:
    """An object that no JSON text can say, or that nests too deeply, counts as invalid as well."""
    try:
        return freeze_object(decoded), None
    except ValueError:
        return {}, _as_text(decoded) if raw is None else raw


def _replayed_invalid(arguments: Any) -> str | None:
    if isinstance(arguments, Mapping) and len(arguments) == 1 and isinstance(arguments.get(INVALID_JSON), str):
        return str(arguments[INVALID_JSON])
    return None


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
