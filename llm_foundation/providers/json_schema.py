"""A tool's JSON Schema in a provider's dialect. Always a copy; the tool's own schema never changes.

What is dropped here only makes a schema wider: arguments are validated against the tool's own schema anyway.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.providers.wire_json import as_list, as_object

_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_NUMERIC: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRICT_KEYWORDS: Final = {
    "string": ("enum", "const", "format", "pattern"),
    "number": ("enum", "const", *_NUMERIC),
    "integer": ("enum", "const", *_NUMERIC),
    "boolean": ("enum", "const"),
    "null": (),
    "array": ("minItems", "maxItems"),
    "object": (),
}
_STRICT_FORMATS: Final = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_DEFINITIONS: Final = ("$defs", "definitions")
_MAX_REFERENCES: Final = 32
_MAX_INLINED: Final = 8
_JSON_TYPES: Final[dict[type, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}


class _Inexpressible(Exception):
    """The dialect cannot say this schema."""


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with a plain object at its root, as tools need it: type, properties, and no branches.

    OpenAI and others refuse a root that is a reference or a union (langchainjs#9804, google-calendar-mcp#39).
    """
    root = _resolved_root(thaw(dict(schema)))
    properties: dict[str, Any] = {}
    required = as_list(root.get("required"))
    for keyword in _BRANCHES:
        for branch in map(as_object, as_list(root.pop(keyword, None))):
            branch = _target(branch, root) or {}
            properties |= as_object(branch.get("properties"))
            required = required + (as_list(branch.get("required")) if keyword == "allOf" else [])
    properties |= as_object(root.get("properties"))
    kept = {key: value for key, value in root.items() if key not in ("enum", "const", "not", "required")}
    names = list(dict.fromkeys(name for name in required if isinstance(name, str)))
    return kept | {"type": "object", "properties": properties} | ({"required": names} if names else {})


@dataclass(frozen=True, slots=True)
class _Strictness:
    root: Mapping[str, Any]
    all_required: bool


def strict_schema(schema: Mapping[str, Any], *, all_required: bool = True) -> dict[str, Any] | None:
    """The schema in OpenAI's strict subset: nothing additional, every key required. ``None`` where that is impossible.

    Free maps, "anything", and keys that may be left out but not null have no strict form: a strict free map would
    always come empty (getzep/graphiti#1751). Without ``all_required`` any key may be left out.
    """
    root = _resolved_root(thaw(dict(schema)))
    rules = _Strictness(root, all_required)
    try:
        projected = _strict(root, rules)
        if projected.get("type") != "object":
            return None
        for keyword in _DEFINITIONS:
            if keyword in root:
                projected[keyword] = {name: _strict(entry, rules) for name, entry in as_object(root[keyword]).items()}
    except (_Inexpressible, RecursionError):
        return None
    return projected


def _strict(schema: Any, rules: _Strictness) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise _Inexpressible
    schema = _unwrapped(schema)
    if "$ref" in schema:
        if _target(schema, rules.root) is None:
            raise _Inexpressible
        return {"$ref": schema["$ref"]}
    described = {key: schema[key] for key in ("title", "description") if key in schema}
    branches = [_strict(branch, rules) for branch in _alternatives(schema)]
    if branches:
        return described | {"anyOf": branches}
    return described | _strict_typed(schema, rules)


def _unwrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """``allOf`` of one is how older generators put a description beside a reference."""
    branches = as_list(schema.get("allOf"))
    if "allOf" not in schema:
        return schema
    if len(branches) != 1 or not isinstance(branches[0], dict):
        raise _Inexpressible
    return {key: value for key, value in schema.items() if key != "allOf"} | branches[0]


def _alternatives(schema: dict[str, Any]) -> Iterator[Any]:
    """The branches of a union, however it is written."""
    kinds = schema.get("type")
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and (kinds is not None or "properties" in schema):
            raise _Inexpressible
        yield from as_list(schema.get(keyword))
    kinds = as_list(kinds)
    if "object" in kinds or "array" in kinds:
        yield from ({**schema, "type": kind} for kind in kinds)


def _strict_typed(schema: dict[str, Any], rules: _Strictness) -> dict[str, Any]:
    kind = schema.get("type") or _type_of_values(schema)
    kinds = kind if isinstance(kind, list) else [kind]
    if not kinds or not all(isinstance(name, str) and name in _STRICT_KEYWORDS for name in kinds):
        raise _Inexpressible
    keywords = [keyword for name in kinds for keyword in _STRICT_KEYWORDS[name]]
    kept = {key: thaw(schema[key]) for key in keywords if key in schema and _is_supported(key, schema[key])}
    written = {"type": kind, **kept}
    if kind == "object":
        return written | _strict_object(schema, rules)
    if kind == "array":
        return written | {"items": _strict(schema.get("items"), rules)}
    return written


def _strict_object(schema: dict[str, Any], rules: _Strictness) -> dict[str, Any]:
    properties = schema.get("properties")
    if schema.get("additionalProperties") or "patternProperties" in schema or not isinstance(properties, dict):
        raise _Inexpressible
    if not properties and schema is not rules.root and schema.get("additionalProperties") is not False:
        raise _Inexpressible
    required = as_list(schema.get("required"))
    optional = [name for name in properties if name not in required]
    if rules.all_required and not all(_may_be_null(properties[name], rules.root) for name in optional):
        raise _Inexpressible
    projected = {name: _strict(entry, rules) for name, entry in properties.items()}
    kept = [name for name in properties if rules.all_required or name in required]
    return {"properties": projected, "required": kept, "additionalProperties": False}


def _may_be_null(schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether null says the same as leaving the key out."""
    if not isinstance(schema, dict) or schema.get("default") is not None:
        return False
    schema = _target(_unwrapped(schema), root) or {}
    kinds = schema.get("type")
    if kinds == "null" or "null" in as_list(kinds) or None in as_list(schema.get("enum")):
        return True
    branches = as_list(schema.get("anyOf")) + as_list(schema.get("oneOf"))
    return any(_may_be_null(branch, root) for branch in branches)


def _type_of_values(schema: dict[str, Any]) -> str | list[str]:
    """The type that ``enum`` or ``const`` imply: the strict dialect wants it said."""
    values = as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    kinds = dict.fromkeys("null" if value is None else _JSON_TYPES.get(type(value), "") for value in values)
    return next(iter(kinds)) if len(kinds) == 1 else list(kinds)


def _is_supported(keyword: str, value: Any) -> bool:
    if keyword == "enum":
        return isinstance(value, list)
    if keyword == "format":
        return isinstance(value, str) and value in _STRICT_FORMATS
    return keyword != "pattern" or (isinstance(value, str) and "(?" not in value)


def _resolved_root(root: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in root:
        return root
    definitions = {key: root[key] for key in _DEFINITIONS if key in root}
    return definitions | (_target(root, root) or {})


def _target(schema: dict[str, Any], root: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a local reference points to, or the schema itself. ``None`` for any other: nothing is ever fetched."""
    for _ in range(_MAX_REFERENCES):
        reference = schema.get("$ref")
        if reference is None:
            return schema
        prefix, _, name = str(reference).rpartition("/")
        place = root if reference == "#" else as_object(root.get(prefix.removeprefix("#/"))).get(name)
        if not isinstance(place, dict):
            return None
        schema = place
    return None


def without_references(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with what each reference points to in its place; one that goes round in circles ends in any object."""
    root = thaw(dict(schema))
    definitions = {key: root.pop(key) for key in _DEFINITIONS if key in root}
    return as_object(_inlined(root, definitions))


def _inlined(schema: Any, root: Mapping[str, Any], path: frozenset[str] = frozenset()) -> Any:
    if isinstance(schema, list):
        return [_inlined(entry, root, path) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return {key: _inlined(value, root, path) for key, value in schema.items()}
    rest = {key: _inlined(value, root, path) for key, value in schema.items() if key != "$ref"}
    prefix, _, name = reference.rpartition("/")
    target = as_object(root.get(prefix.removeprefix("#/"))).get(name)
    if not isinstance(target, dict) or reference in path or len(path) == _MAX_INLINED:
        return {"type": "object"} | rest
    return _inlined(target, root, path | {reference}) | rest


def joined_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """``allOf`` joined into the schema that holds it; it is mostly how a description stands beside a reference."""
    joined = {key: value for key, value in schema.items() if key != "allOf"}
    for branch in map(as_object, as_list(schema.get("allOf"))):
        properties = as_object(joined.get("properties")) | as_object(branch.get("properties"))
        required = dict.fromkeys([*as_list(joined.get("required")), *as_list(branch.get("required"))])
        joined = branch | joined
        joined |= {"properties": properties} if properties else {}
        joined |= {"required": list(required)} if required else {}
    return joined
