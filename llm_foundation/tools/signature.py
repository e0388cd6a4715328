"""What a function takes: JSON Schema for the model, Python values for the function. Both made on first use."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_json

from llm_foundation.chat.frozen import FrozenDict, freeze_object
from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools.calling import argument_parameters, call_with
from llm_foundation.tools.context import ToolContext
from llm_foundation.tools.docstrings import Documentation, read_docstrings
from llm_foundation.tools.problems import WHOLE, Problem, Rejected, path_of, place_in, unknown_argument
from llm_foundation.tools.schema import without_titles

_CONFIG: Final = ConfigDict(extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)
_UNRESOLVED: Final = (NameError, AttributeError, SyntaxError, TypeError)
UNUSABLE: Final = (PydanticUserError, PydanticUndefinedAnnotation, AttributeError, TypeError, ValueError)


class ToolJsonSchema(GenerateJsonSchema):
    """A default that JSON cannot say is left out without a warning: the function still has it."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}


@dataclass(frozen=True, eq=False)
class FunctionSignature:
    """The arguments of a function. ``place`` names it in errors; ``docstrings`` describe it and its parameters."""

    function: Callable[..., Any]
    place: str
    docstrings: tuple[str | None, ...]
    arguments: tuple[inspect.Parameter, ...]

    @cached_property
    def _documentation(self) -> Documentation:
        return read_docstrings(*self.docstrings)

    @property
    def description(self) -> str:
        return self._documentation.description

    @cached_property
    def parameters(self) -> FrozenDict:
        """The JSON Schema that the model sees. Raises ``InvalidTool`` for a type that JSON Schema cannot say."""
        try:
            schema = self._model.model_json_schema(schema_generator=ToolJsonSchema)
            return freeze_object(without_titles(schema))
        except UNUSABLE as error:
            raise self._unusable(error) from error

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments of the function, defaults included. Raises ``Rejected``."""
        try:
            # As JSON, because that is what the model wrote: a strict type takes a date from text in JSON only.
            checked = self._model.model_validate_json(to_json(arguments))
        except PydanticSerializationError:
            raise Rejected([(WHOLE, "hold something that JSON cannot say")]) from None
        except ValidationError as error:
            raise Rejected(self._problems(error, arguments)) from None
        return {
            parameter.name: getattr(checked, field)
            for field, parameter in zip(type(checked).model_fields, self.arguments, strict=True)
        }

    def call(self, function: Callable[..., Any], context: ToolContext, arguments: dict[str, Any]) -> Any:
        return call_with(function, context, arguments)

    @cached_property
    def _model(self) -> type[BaseModel]:
        """A model with one field per parameter; named by number, because ``json`` or ``copy`` would clash."""
        try:
            fields: dict[str, Any] = {
                f"argument_{index}": self._field(parameter) for index, parameter in enumerate(self.arguments)
            }
            return create_model("Arguments", __config__=_CONFIG, **fields)
        except UNUSABLE as error:
            raise self._unusable(error) from error

    def _field(self, parameter: inspect.Parameter) -> Any:
        """The docstring's text comes first, so that an explicit ``Field(description=…)`` wins over it."""
        annotation = self._annotation(parameter)
        described = Field(alias=parameter.name, description=self._documentation.parameters.get(parameter.name))
        is_annotated = get_origin(annotation) is Annotated
        base, *metadata = get_args(annotation) if is_annotated else (annotation,)
        if isinstance(parameter.default, FieldInfo):
            metadata.append(parameter.default)
        typed: Any = Annotated[(base, described, *metadata)]
        has_default = parameter.default is not parameter.empty and not isinstance(parameter.default, FieldInfo)
        return (typed, parameter.default) if has_default else typed

    def _annotation(self, parameter: inspect.Parameter) -> Any:
        """One by one, so that the context and the result may have types that only a type checker imports."""
        function = inspect.unwrap(getattr(self.function, "__func__", self.function))
        alone = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
        try:
            resolved = get_type_hints(alone, globalns=function.__globals__, include_extras=True)[parameter.name]
        except _UNRESOLVED as error:
            raise InvalidTool(
                f"{self.place}: the type of parameter {parameter.name!r}, {parameter.annotation!r}, cannot be resolved"
                f" ({error}). Import it where the tool is defined, and not under TYPE_CHECKING."
            ) from error
        if resolved is ToolContext or ToolContext in get_args(resolved):
            raise InvalidTool(
                f"{self.place}: parameter {parameter.name!r} is the context: write its type as ToolContext."
            )
        return resolved

    def _unusable(self, error: Exception) -> InvalidTool:
        for parameter in self.arguments:
            try:
                TypeAdapter(self._annotation(parameter)).json_schema()
            except UNUSABLE as reason:
                named = f"parameter {parameter.name!r} ({inspect.formatannotation(parameter.annotation)})"
                return InvalidTool(f"{self.place}: {named} cannot be said in JSON Schema. {_first_line(reason)}")
        return InvalidTool(f"{self.place}: its parameters cannot be said in JSON Schema. {_first_line(error)}")

    def _problems(self, error: ValidationError, arguments: Mapping[str, Any]) -> Iterator[Problem]:
        known = self.parameters["properties"]
        for detail in error.errors(include_url=False, include_context=False, include_input=False):
            location = detail["loc"]
            is_missing = detail["type"] == "missing"
            path = path_of(place_in(arguments, location, missing=is_missing))
            if is_missing:
                yield path, "is required"
            elif detail["type"] == "extra_forbidden":
                yield path, unknown_argument(known) if len(location) == 1 else "unknown field"
            else:
                yield path, detail["msg"]


def read_signature(
    function: Callable[..., Any], *, place: str, docstrings: tuple[str | None, ...]
) -> FunctionSignature:
    """Look at the kinds of the parameters only; types are resolved on first use. Raises ``InvalidTool``."""
    return FunctionSignature(function, place, docstrings, argument_parameters(function, place=place))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
