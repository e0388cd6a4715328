"""What a person gave for a call, for other people: whole, but for what the tool's author declared a secret."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from llm_foundation.admin.shown_arguments import ShownArgument, kind_of, written_value
from llm_foundation.admin.shown_text import reveal
from llm_foundation.models import RunToolCall
from llm_foundation.tools import InputField, InputKind, Tool, form_fields

HIDDEN: Final = "•••••"


def input_rows(call: RunToolCall, tool: Tool | None) -> list[ShownArgument]:
    """Row by row; empty where nothing was given. Raises what reading the row raises."""
    fields = _fields(tool)
    return [_row(name, value, fields.get(name)) for name, value in written_input(call, tool).items()]


def written_input(call: RunToolCall, tool: Tool | None) -> dict[str, Any]:
    """As it was given. Where no code says what is a secret in it, all of it is."""
    fields = _fields(tool)
    given = call.input or {}
    return {name: HIDDEN if _is_secret(fields.get(name)) else value for name, value in given.items()}


def _fields(tool: Tool | None) -> Mapping[str, InputField]:
    return {field.name: field for field in (form_fields(tool) if tool else ())}


def _is_secret(field: InputField | None) -> bool:
    return field is None or field.kind is InputKind.SECRET


def _row(name: str, value: Any, field: InputField | None) -> ShownArgument:
    kind = _("not shown: a secret") if _is_secret(field) else kind_of(value)
    described = field.description if field else ""
    label = field.title if field else name
    return ShownArgument(reveal(label), kind, reveal(written_value(value), ends=isinstance(value, str)), described)
