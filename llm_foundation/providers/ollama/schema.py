"""JSON Schema in Ollama's two dialects: what it reads of a tool, and what it holds an answer to.

What is dropped here only makes a schema wider: arguments are validated against the tool's own schema anyway.
"""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.frozen import thaw
from llm_foundation.providers.json_schema import joined_all_of, object_schema, without_references
from llm_foundation.providers.wire_json import as_list, as_object

Schema = dict[str, Any]

_SCHEMAS = ("properties", "$defs", "definitions")


def tool_schema(schema: Mapping[str, Any]) -> Schema:
    """For a tool. The server reads a property's type, description, ``enum``, ``items``, ``anyOf`` and properties, and
    passes over everything else; so references are resolved, and other words for the same are said in these.
    """
    return _readable(without_references(object_schema(schema)))


def _readable(given: Any) -> Schema:
    schema: Schema = joined_all_of(as_object(given))
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if branches := as_list(schema.pop("oneOf", None)):
        schema.setdefault("anyOf", branches)
    if "anyOf" in schema:
        schema["anyOf"] = [_readable(branch) for branch in as_list(schema["anyOf"])]
    if isinstance(schema.get("properties"), dict):
        schema["properties"] = {name: _readable(entry) for name, entry in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        schema["items"] = _readable(schema["items"])
    return schema


def answer_schema(schema: Mapping[str, Any]) -> Schema:
    """For ``format``: the schema without patterns, of which most cannot be made a grammar of (ollama#8325)."""
    return as_object(_without_patterns(thaw(dict(schema))))


def _without_patterns(schema: Any) -> Any:
    """A schema and all below it. Names of properties are no keywords, and values are no schemas."""
    if isinstance(schema, list):
        return [_without_patterns(entry) for entry in schema]
    if not isinstance(schema, dict):
        return {} if schema is True else schema
    return {key: _below(key, value) for key, value in schema.items() if key != "pattern"}


def _below(keyword: str, value: Any) -> Any:
    if keyword in _SCHEMAS and isinstance(value, dict):
        return {name: _without_patterns(entry) for name, entry in value.items()}
    if keyword in ("anyOf", "oneOf", "allOf", "prefixItems", "items"):
        return _without_patterns(value)
    if keyword == "additionalProperties" and isinstance(value, dict):
        return _without_patterns(value)
    return value
