"""The arguments of a call, one by one, exactly as they would be handed over."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.exceptions import ToolError
from llm_foundation.tools import Tool

MOST_CHARACTERS_IN_A_LINE = 120


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """``is_left_out``: the model did not send it, and the tool's own default counts."""

    name: ShownText
    kind: str
    value: ShownText
    description: str = ""
    is_left_out: bool = False

    @property
    def hidden(self) -> int:
        return self.name.hidden + self.value.hidden


def shown_arguments(call: ToolCall, tool: Tool | None) -> list[ShownArgument]:
    """What the model sent, in its order, then what it left out and has a default."""
    properties = properties_of(tool)
    sent = [_sent(name, value, properties.get(name, {})) for name, value in call.arguments.items()]
    left_out = [_left_out(name, schema) for name, schema in _defaults(call, properties)]
    return sent + left_out


def one_line(call: ToolCall) -> ShownText:
    """The arguments as one short line, for lists."""
    if call.invalid_arguments is not None:
        return reveal(Truncator(call.invalid_arguments).chars(MOST_CHARACTERS_IN_A_LINE))
    said = ", ".join(f"{name}: {written_value(value)}" for name, value in call.arguments.items())
    return reveal(Truncator(said).chars(MOST_CHARACTERS_IN_A_LINE))


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def kind_of(value: Any) -> str:
    """The type of a value, in words."""
    match value:
        case bool():
            return _("yes or no")
        case str():
            return ngettext("text, %(count)d character", "text, %(count)d characters", len(value)) % {
                "count": len(value)
            }
        case int():
            return _("whole number")
        case float():
            return _("number")
        case None:
            return _("nothing")
        case Mapping():
            return ngettext("object, %(count)d entry", "object, %(count)d entries", len(value)) % {"count": len(value)}
        case _other:
            return ngettext("list, %(count)d entry", "list, %(count)d entries", len(value)) % {"count": len(value)}


def _sent(name: str, value: Any, schema: Mapping[str, Any]) -> ShownArgument:
    return ShownArgument(
        name=reveal(name, ends=True),
        kind=kind_of(value),
        value=reveal(written_value(value), ends=isinstance(value, str)),
        description=str(schema.get("description", "")),
    )


def _left_out(name: str, schema: Mapping[str, Any]) -> ShownArgument:
    default = schema["default"]
    return ShownArgument(
        name=reveal(name),
        kind=kind_of(default),
        value=reveal(written_value(default)),
        description=str(schema.get("description", "")),
        is_left_out=True,
    )


def written_value(value: Any) -> str:
    """Text stands as it is; everything else as JSON writes it."""
    if isinstance(value, str):
        return value
    return as_json(value) if isinstance(value, Mapping | list | tuple) and value else json.dumps(value)


def properties_of(tool: Tool | None) -> Mapping[str, Any]:
    try:
        found = tool.parameters.get("properties", {}) if tool else {}
    except ToolError:
        return {}
    return {name: schema for name, schema in found.items() if isinstance(schema, Mapping)}


def _defaults(call: ToolCall, properties: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, schema in properties.items():
        if name not in call.arguments and "default" in schema:
            yield name, schema
