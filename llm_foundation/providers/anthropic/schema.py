"""JSON Schema in the dialect that Anthropic enforces: closed objects, no recursion, hardly any limits on values.

What it cannot say about a value is told to the model in the description; validation here is by the tool's own schema.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from llm_foundation.providers.json_schema import strict_schema
from llm_foundation.providers.wire_json import as_list, as_object

_NUMERIC: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LIMITS: Final = (*_NUMERIC, "minItems", "maxItems", "pattern")
_DEFINITIONS: Final = ("$defs", "definitions")


@dataclass(frozen=True, slots=True)
class EnforcedSchema:
    """A schema in the dialect, with what the API counts in it."""

    schema: dict[str, Any]
    optional: int
    unions: int


@dataclass(slots=True)
class Allowance:
    """How much one request may have enforced: the API refuses more as too complex."""

    tools: int = 20
    optional: int = 24
    unions: int = 16

    def grants(self, enforced: EnforcedSchema | None, *, tools: int = 0) -> bool:
        """Whether this schema still fits; if so, it is counted."""
        if enforced is None or tools > self.tools or enforced.optional > self.optional or enforced.unions > self.unions:
            return False
        self.tools -= tools
        self.optional -= enforced.optional
        self.unions -= enforced.unions
        return True


def enforced_schema(schema: Mapping[str, Any]) -> EnforcedSchema | None:
    """The schema as the API enforces it, or ``None`` where it cannot: free maps, "anything", recursion."""
    strict = strict_schema(schema, all_required=False)
    if strict is None or _is_recursive(strict):
        return None
    projected = _without_limits(strict)
    nodes = list(_nodes(projected))
    optional = sum(len(node["properties"]) - len(node["required"]) for node in nodes if "properties" in node)
    return EnforcedSchema(projected, optional, sum(map(_is_union, nodes)))


def _without_limits(schema: dict[str, Any]) -> dict[str, Any]:
    told = [f"{key}: {schema[key]}" for key in _LIMITS if key in schema]
    kept = {key: _walked(key, value) for key, value in schema.items() if key not in _LIMITS}
    if told:
        words = [schema["description"]] if isinstance(schema.get("description"), str) else []
        kept["description"] = " ".join([*words, f"({', '.join(told)})"])
    return kept


def _walked(keyword: str, value: Any) -> Any:
    if keyword in ("properties", *_DEFINITIONS):
        return {name: _without_limits(entry) for name, entry in value.items()}
    if keyword == "items":
        return _without_limits(value)
    return [_without_limits(branch) for branch in value] if keyword == "anyOf" else value


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and everything in it; a definition counts once, however often it is used."""
    yield schema
    inner = [*as_list(schema.get("anyOf")), *([schema["items"]] if "items" in schema else [])]
    for keyword in ("properties", *_DEFINITIONS):
        inner += as_object(schema.get(keyword)).values()
    for entry in inner:
        yield from _nodes(entry)


def _is_union(node: dict[str, Any]) -> bool:
    return "anyOf" in node or isinstance(node.get("type"), list)


def _is_recursive(root: dict[str, Any]) -> bool:
    """Whether a definition, or the whole schema, holds itself."""
    definitions = {f"#/{key}/{name}": entry for key in _DEFINITIONS for name, entry in as_object(root.get(key)).items()}
    uses = {name: {node["$ref"] for node in _nodes(entry) if "$ref" in node} for name, entry in definitions.items()}
    uses["#"] = {node["$ref"] for node in _nodes(root) if "$ref" in node}
    settled: set[str] = set()
    while free := {name for name, used in uses.items() if name not in settled and used <= settled}:
        settled |= free
    return settled != uses.keys()
