"""How much work a schema can make, counted before anything is validated.

A schema that refers to itself, or to the same part from several branches, can make a validator visit as many places as
there are paths through it: 20 short lines are enough for hours. So the paths are counted, for arguments of every depth,
and the depth where they become too many is where arguments are refused.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from llm_foundation.chat.frozen import MAX_DEPTH

MAX_VISITS: Final = 1_000_000
"""Well under a second of checking."""

_SAME_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SAME_PLACE: Final = ("not", "if", "then", "else")
_SAME_PLACE_MAPS: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DEEPER_MAPS: Final = ("properties", "patternProperties")
_DEEPER: Final = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
)


class SchemaCost:
    """Counts the visits that one value of a given depth can cause, at most."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._known: dict[tuple[int, int], int] = {}

    def visits(self, depth: int) -> int:
        """The most visits for arguments of this depth; stops counting a little above ``MAX_VISITS``."""
        return self._visits(self._root, depth)

    def _visits(self, node: Any, depth: int) -> int:
        if isinstance(node, list):
            return self._sum(node, depth)
        if not isinstance(node, dict) or depth < 0:
            return 0
        key = (id(node), depth)
        if key not in self._known:
            self._known[key] = MAX_VISITS + 1  # what comes back to the same place would go round for ever
            here = self._sum(self._in_place(node), depth)
            self._known[key] = min(1 + here + self._sum(_deeper(node), depth - 1), MAX_VISITS + 1)
        return self._known[key]

    def _sum(self, nodes: Any, depth: int) -> int:
        return min(sum(self._visits(node, depth) for node in nodes), MAX_VISITS + 1)

    def _in_place(self, node: Mapping[str, Any]) -> Iterator[Any]:
        for keyword in _SAME_PLACE_LISTS:
            yield from _members(node.get(keyword))
        for keyword in _SAME_PLACE:
            yield node.get(keyword)
        for keyword in _SAME_PLACE_MAPS:
            yield from _members(node.get(keyword))
        for keyword in _REFERENCES:
            yield self._target(node.get(keyword))

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str):
            return None
        here: Any = self._root
        for step in unquote(reference.lstrip("#")).split("/")[1:]:
            here = _step(here, step.replace("~1", "/").replace("~0", "~"))
        return here


def deepest_arguments(schema: Mapping[str, Any]) -> int:
    """How deep arguments may nest before this schema is too expensive for them; 0 for a schema that always is."""
    cost = SchemaCost(schema)
    if cost.visits(MAX_DEPTH) <= MAX_VISITS:
        return MAX_DEPTH
    return next(depth for depth in range(MAX_DEPTH) if cost.visits(depth + 1) > MAX_VISITS)


def depth_of(value: Any) -> int:
    """How many containers stand inside each other: 0 for a scalar, 1 for ``{}``."""
    if isinstance(value, dict):
        return 1 + max((depth_of(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(item) for item in value), default=0)
    return 0


def _deeper(node: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _DEEPER_MAPS:
        yield from _members(node.get(keyword))
    for keyword in _DEEPER:
        yield node.get(keyword)


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _step(here: Any, step: str) -> Any:
    if isinstance(here, dict):
        return here.get(step)
    if isinstance(here, list) and step.isdigit() and int(step) < len(here):
        return here[int(step)]
    return None
