"""JSON Schema in Gemini's two dialects: its JSON Schema fields, and the older ones after OpenAPI 3.0.

What is dropped here only makes a schema wider: arguments are validated against the tool's own schema anyway.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.providers.json_schema import joined_all_of, without_references
from llm_foundation.providers.wire_json import as_list, as_object

Schema = dict[str, Any]

_SIMPLE: Final = (
    "type",
    "format",
    "title",
    "description",
    "enum",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "required",
    "propertyOrdering",
    "default",
    "minLength",
    "maxLength",
    "pattern",
    "minProperties",
    "maxProperties",
    "nullable",
)
"""Keywords that stay as they are; a subschema stands under none of them."""

_STRING_FORMATS: Final = {"date-time", "date", "time"}
_OPENAPI_FORMATS: Final = {"date-time", "enum"}
_DEFINITIONS: Final = ("$defs", "definitions")


def gemini_schema(schema: Mapping[str, Any]) -> Schema:
    """For ``parametersJsonSchema`` and ``responseJsonSchema``: the keywords that Google names, in its words."""
    root = thaw(dict(schema))
    known = {name: entry for key in _DEFINITIONS for name, entry in as_object(root.get(key)).items()}
    # A root that is a reference, as pydantic writes it for a model that holds itself, is refused.
    target = known.get(str(root.pop("$ref", "")).rpartition("/")[2])
    written = _projected(as_object(target) | root, _in_json_schema)
    definitions = {name: _projected(entry, _in_json_schema) for name, entry in known.items()}
    return written | ({"$defs": definitions} if definitions else {})


def openapi_schema(schema: Mapping[str, Any]) -> Schema:
    """For ``parameters`` and ``responseSchema``: no references, no lists of types, only texts in an enumeration."""
    return _projected(without_references(schema), _in_openapi)


Finish = Callable[[Schema], Schema]


def _projected(schema: Any, finish: Finish) -> Schema:
    """A schema and all below it. What is no object, as ``true`` is, stands for anything."""
    schema = joined_all_of(as_object(schema))
    if isinstance(schema.get("$ref"), str):
        return _reference(schema)
    written = {key: schema[key] for key in _SIMPLE if key in schema} | _bounds(schema) | _constant(schema)
    if branches := as_list(schema.get("anyOf")) or as_list(schema.get("oneOf")):
        written["anyOf"] = [_projected(branch, finish) for branch in branches]
    if isinstance(schema.get("properties"), dict):
        written["properties"] = {name: _projected(entry, finish) for name, entry in schema["properties"].items()}
    if isinstance(extra := schema.get("additionalProperties"), bool | dict):
        written["additionalProperties"] = extra if isinstance(extra, bool) else _projected(extra, finish)
    return finish(written | _items(schema, finish))


def _reference(schema: Schema) -> Schema:
    """Nothing may stand beside a reference, so a description takes it in."""
    reference = {"$ref": schema["$ref"].replace("#/definitions/", "#/$defs/")}
    described = {key: schema[key] for key in ("title", "description") if key in schema}
    return described | {"anyOf": [reference]} if described else reference


def _bounds(schema: Schema) -> Schema:
    """Bounds that exclude themselves become ones that do not (nakama#292)."""
    step = 1 if schema.get("type") == "integer" else 0
    bounds = {}
    for name, exclusive, moved in (("minimum", "exclusiveMinimum", step), ("maximum", "exclusiveMaximum", -step)):
        value = schema.get(exclusive)
        if name not in schema and isinstance(value, int | float) and not isinstance(value, bool):
            rounded = math.floor(value) if moved > 0 else math.ceil(value)
            bounds[name] = rounded + moved if moved else value
    return bounds


def _constant(schema: Schema) -> Schema:
    """One allowed value is an enumeration of one (zed#44875)."""
    return {"enum": [schema["const"]]} if "const" in schema else {}


def _items(schema: Schema, finish: Finish) -> Schema:
    items, prefix = schema.get("items"), as_list(schema.get("prefixItems"))
    if isinstance(items, list):  # how tuples were written before prefixItems
        prefix = items
        items = schema.get("additionalItems")
    written: Schema = {"prefixItems": [_projected(entry, finish) for entry in prefix]} if prefix else {}
    return written | ({"items": _projected(items, finish)} if isinstance(items, dict) else {})


def _in_json_schema(schema: Schema) -> Schema:
    """Enumerations hold texts and numbers only; of the formats of a text three are known."""
    if not _is_known(schema, _STRING_FORMATS):
        schema.pop("format", None)
    values = [value for value in as_list(schema.get("enum")) if _is_text_or_number(value)]
    return _with_enumeration(schema, values)


def _in_openapi(schema: Schema) -> Schema:
    """The older form has no nulls beside a type, no further properties and no tuples, and lists need items."""
    kinds = as_list(schema.get("type"))
    named = [kind for kind in kinds if kind != "null"]
    branches = [branch for branch in as_list(schema.get("anyOf")) if branch.get("type") != "null"]
    is_nullable = "null" in kinds or len(branches) < len(as_list(schema.get("anyOf")))
    kept = {key: value for key, value in schema.items() if key not in ("additionalProperties", "prefixItems", "anyOf")}
    if kinds:
        kept["type"] = named[0] if named else "string"
        branches += [{"type": kind} for kind in named] if len(named) > 1 else []
    if len(branches) == 1:
        kept = branches[0] | {key: value for key, value in kept.items() if key in ("title", "description")}
    elif branches:
        kept = {"anyOf": branches} | {key: value for key, value in kept.items() if key in ("title", "description")}
    if is_nullable:
        kept["nullable"] = True
    if kept.get("type") == "array":
        kept.setdefault("items", {"type": "string"})
    if not _is_known(kept, _OPENAPI_FORMATS):
        kept.pop("format", None)
    values = as_list(kept.get("enum"))
    return _with_enumeration(kept, values if all(isinstance(value, str) for value in values) else [])


def _is_known(schema: Schema, formats: set[str]) -> bool:
    return schema.get("type") != "string" or schema.get("format") in formats


def _is_text_or_number(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _with_enumeration(schema: Schema, values: list[Any]) -> Schema:
    rest = {key: value for key, value in schema.items() if key != "enum"}
    return rest | ({"enum": values} if values else {})
