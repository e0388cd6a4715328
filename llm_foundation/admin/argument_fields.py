"""A field for each argument of a call, chosen by the tool's schema and by what the model sent."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from llm_foundation.admin.shown_arguments import properties_of
from llm_foundation.admin.typed_fields import JSON, LEFT_OUT, TypedField
from llm_foundation.admin.typed_form import TypedForm
from llm_foundation.tools import InputChoice, InputKind, Tool

KINDS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "boolean": (InputKind.BOOLEAN, (bool,)),
    "integer": (InputKind.INTEGER, (int,)),
    "number": (InputKind.NUMBER, (int, float)),
    "string": (InputKind.TEXT, (str,)),
}
"""For each type of JSON Schema: the kind of its field, and the values that such a field can show."""


def argument_form(tool: Tool, arguments: Mapping[str, Any], *, data: Any = None) -> TypedForm:
    return TypedForm(list(_fields(tool, arguments)), prefix="argument", data=data)


def _fields(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[TypedField]:
    required = tool.parameters.get("required", ())
    named = tool.parameters.get("$defs", {})
    for name, schema in properties_of(tool).items():
        schema = {**named.get(str(schema.get("$ref", "")).removeprefix("#/$defs/"), {}), **schema}
        value = arguments.get(name, LEFT_OUT)
        choices = tuple(InputChoice(each, str(each)) for each in schema.get("enum", ()))
        kind = _kind(schema, choices, value)
        yield TypedField(
            name=name,
            title=name,
            kind=kind,
            description=str(schema.get("description", "")),
            required=name in required,
            choices=choices,
            initial=value,
            keeps_empty=kind == InputKind.TEXT and isinstance(value, str),
        )


def _kind(schema: Mapping[str, Any], choices: tuple[InputChoice, ...], value: Any) -> str:
    """The simplest one in which what the model sent stays what it is."""
    if choices and all(isinstance(choice.value, str | int) for choice in choices):
        offered = [choice.value for choice in choices]
        return InputKind.CHOICE if value is LEFT_OUT or value in offered else JSON
    for word in _types(schema):
        kind, shown = KINDS.get(word, (JSON, ()))
        if kind != JSON and (value is LEFT_OUT or type(value) in shown):
            return kind
    return JSON


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    """Those that the schema allows; the text before the number, since a number of money is sent as text."""
    alternatives = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    said = [each.get("type") for each in alternatives if isinstance(each, Mapping)]
    flat = [word for each in said for word in (each if isinstance(each, list | tuple) else [each])]
    yield from sorted((word for word in flat if isinstance(word, str)), key=lambda word: word != "string")
