"""Arguments whose schema somebody else wrote, for example an MCP server."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from llm_foundation.chat.frozen import FrozenDict, freeze_object, thaw
from llm_foundation.tools.problems import MAX_PROBLEMS, WHOLE, Problem, Rejected, path_of, unknown_argument
from llm_foundation.tools.schema import canonical, check_outside_schema, validator_for
from llm_foundation.tools.schema_cost import SchemaCost, deepest_arguments, depth_of

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_MAX_VISITS_EXPLAINED: Final = 20_000
"""Saying what is wrong costs far more than finding that something is; above this nobody is told the details."""


class OutsideSchema:
    """What a tool takes, by a stored schema. Its function gets the context and all arguments as one ``dict``."""

    description = ""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.parameters: FrozenDict = check_outside_schema(schema)

    @cached_property
    def _text(self) -> str:
        return canonical(self.parameters)

    @cached_property
    def _deepest(self) -> int:
        return deepest_arguments(self.parameters)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A plain copy of the arguments. Raises ``Rejected``."""
        try:
            plain: dict[str, Any] = thaw(freeze_object(arguments))
        except ValueError as error:
            raise Rejected([(WHOLE, str(error))]) from None
        if depth_of(plain) > self._deepest:
            raise Rejected([(WHOLE, f"nested more than {self._deepest} levels deep")])
        if not validator_for(self._text).is_valid(plain):
            raise Rejected(self._problems(plain))
        return plain

    def call(self, function: Callable[..., Any], context: Any, arguments: Mapping[str, Any]) -> Any:
        return function(context, dict(arguments))

    def _problems(self, arguments: dict[str, Any]) -> list[Problem]:
        if SchemaCost(self.parameters).visits(depth_of(arguments)) > _MAX_VISITS_EXPLAINED:
            return [(WHOLE, "they do not fit the schema of this tool")]
        errors = validator_for(self._text).iter_errors(arguments)
        known = self.parameters.get("properties")
        names = tuple(known) if isinstance(known, dict) else ()
        return [problem for error in islice(errors, MAX_PROBLEMS + 1) for problem in _explained(error, names)]


def _explained(error: "ValidationError", names: tuple[str, ...]) -> Iterator[Problem]:
    place = error.instance_path
    match error.kind.name:
        case "required":
            yield path_of([*place, error.kind.value]), "is required"
        case "additionalProperties" | "unevaluatedProperties":
            why = "unknown field" if place else unknown_argument(names)
            for name in error.kind.value:
                yield path_of([*place, name]), why
        case "falseSchema" if error.schema_path[-1:] == ["additionalProperties"]:
            yield path_of(place), "unknown field; none is allowed here"
        case _:
            yield path_of(place), error.message
