"""JSON Schema as tools write it, and the bounds on what others bring."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from llm_foundation.chat.frozen import FrozenDict, freeze_object
from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.schema_cost import deepest_arguments

if TYPE_CHECKING:
    from jsonschema_rs import Validator

MAX_SCHEMA_CHARACTERS: Final = 65_536

NAMED_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose value maps names, chosen by the author, to schemas."""
DATA: Final = frozenset({"default", "const", "enum", "examples", "example"})
"""Keywords whose value is data, whatever it looks like."""
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def without_titles(schema: Any) -> Any:
    """A copy without the titles that pydantic makes from names; a *property* called ``title`` stays."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned = {}
    for keyword, value in schema.items():
        if keyword in DATA:
            cleaned[keyword] = value
        elif keyword in NAMED_SCHEMAS and isinstance(value, dict):
            cleaned[keyword] = {name: without_titles(item) for name, item in value.items()}
        elif keyword != "title":
            cleaned[keyword] = without_titles(value)
    return cleaned


def canonical(value: Any) -> str:
    """One text per JSON value, whatever the order of its keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def check_outside_schema(schema: Any) -> FrozenDict:
    """A closed copy of a schema that somebody else wrote, fit to validate with. Raises ``InvalidTool``.

    It must be a JSON object of type ``object``, at most 65,536 characters long, refer to nothing outside itself
    (``#`` and ``#/…`` only), and be cheap enough to validate with, however hostile its author.
    """
    try:
        closed = freeze_object(schema)
    except ValueError as error:
        raise InvalidTool(f"The schema {error}.") from None
    if closed.get("type") != "object":
        raise InvalidTool('The schema of a tool\'s arguments must say "type": "object".')
    if len(canonical(closed)) > MAX_SCHEMA_CHARACTERS:
        raise InvalidTool(f"The schema is longer than {MAX_SCHEMA_CHARACTERS:,} characters.")
    new_base = "id" if "draft-04" in str(closed.get("$schema")) else "$id"
    for node in subschemas(closed):
        _refuse_reach(node)
        if node is not closed and isinstance(node.get(new_base), str):
            raise InvalidTool(f"A part of the schema has an {new_base} of its own, so its references are ambiguous.")
    _refuse_unusable(closed)
    return closed


def subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema object in a schema, itself first; names and data are no schemas."""
    if isinstance(schema, list):
        for item in schema:
            yield from subschemas(item)
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword, value in schema.items():
        if keyword in NAMED_SCHEMAS and isinstance(value, dict):
            yield from subschemas(list(value.values()))
        elif keyword not in DATA:
            yield from subschemas(value)


def _refuse_reach(node: Mapping[str, Any]) -> None:
    for keyword in _REFERENCES:
        target = node.get(keyword)
        if isinstance(target, str) and target != "#" and not target.startswith("#/"):
            raise InvalidTool(f"The schema refers to {target[:200]!r}; only references into itself (#/…) are followed.")


def _refuse_unusable(schema: FrozenDict) -> None:
    validator_for(canonical(schema))
    try:
        affordable = deepest_arguments(schema) > 0
    except RecursionError:
        affordable = False
    if not affordable:
        raise InvalidTool("The schema branches, or refers to itself, so that validating with it might never end.")


@lru_cache(maxsize=512)
def validator_for(schema: str) -> "Validator":
    """A validator of this canonical schema text. Raises ``InvalidTool``; never opens a file or a connection."""
    import jsonschema_rs

    # Patterns with look-around are common (e-mail addresses), so the engine is the backtracking one, with a limit.
    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=1_000_000, dfa_size_limit=1_000_000)
    try:
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=patterns, mask="the value")
    except ValueError as error:
        reason = str(getattr(error, "message", error))
        raise InvalidTool(f"The schema is not valid JSON Schema: {reason[:300]}") from None
