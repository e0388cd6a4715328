"""What an answer must be: a pydantic model, and the JSON Schema of it that a language model is shown."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from llm_foundation.chat.frozen import FrozenDict, freeze_object
from llm_foundation.chat.options import ResponseSchema, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.pipeline.answer_text import object_in
from llm_foundation.providers.wire_json import to_json
from llm_foundation.tools.problems import WHOLE, Problem, path_of, place_in, summarised
from llm_foundation.tools.schema import without_titles

M = TypeVar("M", bound=BaseModel)

ANSWER_TOOL: Final = "give_answer"
ANSWER: Final = "(answer)"
"""Where a problem is that belongs to no single field."""

_UNUSABLE: Final = (PydanticUserError, PydanticUndefinedAnnotation, AttributeError, TypeError, ValueError)


class Misfit(Exception):
    """What was read does not fit the schema. ``problems`` are short, and fit to show the model."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__()


class _AnswerJsonSchema(GenerateJsonSchema):
    """Asks for every field, because most providers can enforce only what may not be left out.

    A default that JSON cannot say is passed over without a warning: the model class still has it.
    """

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def field_is_required(self, field: Any, total: bool) -> bool:
        return field["type"] != "typed-dict-field" or super().field_is_required(field, total)


@dataclass(frozen=True)
class AnswerSchema(Generic[M]):
    """``shape`` is JSON Schema with an object at its top. What is no object stands there under ``value``."""

    name: str
    shape: FrozenDict
    model: type[BaseModel]
    is_wrapped: bool

    @cached_property
    def native(self) -> ResponseSchema:
        """For providers that enforce a schema."""
        return ResponseSchema(name=_wire_name(self.name), schema=self.shape)

    @cached_property
    def tool(self) -> ToolDefinition:
        """For models that call tools: its arguments are the answer."""
        description = "Give the answer. Call this once; its arguments are the whole answer."
        return ToolDefinition(name=ANSWER_TOOL, description=description, parameters=self.shape, strict=True)

    @cached_property
    def instruction(self) -> str:
        """For all others."""
        return (
            "Answer with one JSON object that follows the JSON Schema below, and with nothing else: no words around it,"
            f" no code fence.\n\n{to_json(self.shape).decode()}"
        )

    def read(self, text: str) -> M:
        """The instance that an answer stands for. Raises ``Misfit``."""
        found = object_in(text)
        if found is None:
            raise Misfit(((ANSWER, "holds no complete JSON object" if text.strip() else "is empty"),))
        try:
            # As JSON, because that is what the model wrote: a strict type takes a date from text in JSON only.
            checked = self.model.model_validate_json(to_json(found))
        except ValidationError as error:
            raise Misfit(_problems(error, found)) from None
        return cast(M, getattr(checked, "value", None) if self.is_wrapped else checked)


def answer_schema(model: type[M]) -> AnswerSchema[M]:
    """Raises ``InvalidMessage`` for what is no pydantic model, or has no JSON Schema."""
    if not isinstance(model, type) or not issubclass(model, BaseModel) or model is BaseModel:
        given = f"class {model.__name__}" if isinstance(model, type) else f"value of type {type(model).__name__}"
        raise InvalidMessage(f"must be a pydantic model class, not the {given}", field="schema")
    made: AnswerSchema[M] = _made(model)
    return made


@lru_cache(maxsize=256)
def _made(model: type[M]) -> AnswerSchema[M]:
    shape = _shape(model, name=model.__name__)
    if shape.get("type") == "object":
        return AnswerSchema(model.__name__, shape, model, is_wrapped=False)
    wrapper = create_model(model.__name__, __config__=ConfigDict(hide_input_in_errors=True), value=(model, ...))
    return AnswerSchema(model.__name__, _shape(wrapper, name=model.__name__), wrapper, is_wrapped=True)


def _shape(model: type[BaseModel], *, name: str) -> FrozenDict:
    try:
        schema = model.model_json_schema(schema_generator=_AnswerJsonSchema)
        return freeze_object(without_titles(_with_plain_top(schema)))
    except _UNUSABLE as error:
        why = str(error).strip().partition("\n")[0]
        raise InvalidMessage(f"{name} cannot be said in JSON Schema: {why}", field="schema") from error


def _with_plain_top(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A model that holds itself is written as a reference, which no provider takes at the top."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    target = schema.get("$defs", {}).get(name, {})
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _wire_name(name: str) -> str:
    """Generic models have brackets in their names, and classes may have letters of any script."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def _problems(error: ValidationError, value: Mapping[str, Any]) -> tuple[Problem, ...]:
    listed = summarised(_each_problem(error, value))
    return tuple((ANSWER if path == WHOLE else path, why) for path, why in listed)


def _each_problem(error: ValidationError, value: Mapping[str, Any]) -> Iterator[Problem]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        is_missing = detail["type"] == "missing"
        path = path_of(place_in(value, detail["loc"], missing=is_missing))
        yield path, "is required" if is_missing else detail["msg"]
