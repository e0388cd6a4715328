"""What a person gave for a call: kept as it was typed, and checked by the tool's input model."""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import override
from pydantic import BaseModel, SecretStr, ValidationError

from llm_foundation.chat.frozen import FrozenDict, freeze_object
from llm_foundation.exceptions import InvalidInput
from llm_foundation.tools.input_problems import Problems, gathered, sentence
from llm_foundation.tools.problems import path_of, place_in
from llm_foundation.tools.signature import ToolJsonSchema

if TYPE_CHECKING:
    from llm_foundation.tools.definition import Tool

MAX_CHARACTERS: Final = 1_000_000
"""Of a whole input, or of edited arguments, written as JSON: more than anybody types."""
MOST_BITS: Final = 4096
"""Of a whole number: Python itself refuses to write much larger ones."""
WHOLE: Final = "(input)"
"""The field path of what is wrong with an input as a whole."""


def input_schema(model: type[BaseModel]) -> FrozenDict:
    """The JSON Schema of an input model: part of what an approver relies on. The model that calls never sees it.

    Titles that are translated stand there untranslated: a digest must not depend on who looks.
    """
    with override(None):
        written = json.dumps(model.model_json_schema(schema_generator=ToolJsonSchema), default=str)
    return freeze_object(json.loads(written))


def plain_input(given: Any) -> dict[str, Any]:
    """An input in JSON's own types, its texts exactly as they were typed, for storing and for ``validate_input``.

    ``given`` is a mapping or an instance of the model. Raises ``InvalidInput`` for what JSON cannot say.
    """
    fields = _fields_of(given) if isinstance(given, BaseModel) else given
    if not isinstance(fields, Mapping):
        raise _invalid({WHOLE: [_("Fill in the fields of the input.")]})
    problems: Problems = {}
    plain: dict[str, Any] = {}
    for name, value in fields.items():
        try:
            plain[str(name)] = _plain(value)
        except ValueError:
            problems[path_of([str(name)])] = [_("This cannot be written down.")]
    if not problems and len(json.dumps(plain, ensure_ascii=False)) > MAX_CHARACTERS:
        problems[WHOLE] = [_("The input is longer than %(limit)s characters.") % {"limit": f"{MAX_CHARACTERS:,}"}]
    if problems:
        raise _invalid(problems)
    return plain


def validate_input(tool: "Tool", plain: Mapping[str, Any]) -> BaseModel:
    """The instance that the tool gets as ``context.input``. Raises ``InvalidInput`` with sentences per field."""
    model = tool.input_model
    if model is None:
        raise _invalid({WHOLE: [_("This tool asks for no input.")]})
    if unknown := [name for name in plain if name not in model.model_fields]:
        raise _invalid(gathered((path_of([name]), _("There is no such field.")) for name in unknown))
    try:
        # As JSON: a strict type takes a date from text in JSON only.
        checked = model.model_validate_json(json.dumps(plain, allow_nan=False))
    except ValidationError as error:
        raise _invalid(gathered(_problems(error, plain))) from None
    if endless := [name for name in model.model_fields if _is_endless(getattr(checked, name))]:
        raise _invalid({name: [_("Enter a number.")] for name in endless})
    return checked


def _fields_of(instance: BaseModel) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in type(instance).model_fields}


def _plain(value: Any) -> Any:
    """Raises ``ValueError`` for what JSON cannot say. A text with lone surrogates is refused, not changed."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        value.encode()
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= MOST_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(type(value).__name__)


def _is_endless(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _problems(error: ValidationError, plain: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for detail in error.errors(include_url=False, include_input=False):
        place = place_in(plain, detail["loc"], missing=detail["type"] == "missing")
        yield path_of(place) if place else WHOLE, sentence(detail)


def _invalid(problems: Problems) -> InvalidInput:
    return InvalidInput(_("The input does not fit: nothing was decided."), problems=problems)
