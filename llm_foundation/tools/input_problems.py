"""What is wrong with an input, in sentences for the person who typed it: pydantic speaks to programmers."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from llm_foundation.tools.problems import MAX_PROBLEMS, shortened

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Problems = dict[str, list[str]]
"""Sentences by field path."""

_MAX_PATH: Final = 120
_MAX_SENTENCE: Final = 300


def gathered(problems: Iterable[tuple[str, str]]) -> Problems:
    """Sentences per field, bounded: a hostile input has as many problems as it likes."""
    found: Problems = {}
    for path, sentence in problems:
        field = shortened(path, _MAX_PATH)
        if field in found or len(found) < MAX_PROBLEMS:
            said = found.setdefault(field, [])
            if sentence not in said and len(said) < MAX_PROBLEMS:
                said.append(sentence)
    return found


def sentence(detail: "ErrorDetails") -> str:
    """One error of pydantic, said to a person. What a validator of the model says stays as its author wrote it."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        return shortened(str(context.get("error", "")) or str(_("This does not fit.")), _MAX_SENTENCE)
    if kind in ("too_short", "too_long") and context.get("field_type") != "List":
        kind = f"string_{kind}"  # a secret
    known = _SENTENCES.get(kind) or _SENTENCES.get(kind.rpartition("_")[0])
    return shortened(str(known) % _texts(context) if known else detail["msg"], _MAX_SENTENCE)


def _texts(context: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in context.items()}


_NUMBER: Final = _("Enter a number.")
_WHOLE_NUMBER: Final = _("Enter a whole number.")
_DATE: Final = _("Enter a date, for example 2026-12-31.")
_TIME: Final = _("Enter a time, for example 14:30.")
_DATETIME: Final = _("Enter a date and a time, for example 2026-12-31 14:30.")
_CHOICE: Final = _("Choose one of the values that are offered.")

# By the type of pydantic's error, or by its beginning, as "date_from_datetime" for "date_from_datetime_inexact".
_SENTENCES: Final[Mapping[str, str | Promise]] = {
    "missing": _("Fill in this field."),
    "string_type": _("Enter a text."),
    "string_too_short": _("Enter at least %(min_length)s characters."),
    "string_too_long": _("Enter at most %(max_length)s characters."),
    "string_pattern_mismatch": _("This must match the pattern %(pattern)s."),
    "int_type": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_from_float": _WHOLE_NUMBER,
    "int_parsing_size": _("This number is too large."),
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "decimal_type": _NUMBER,
    "decimal_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "greater_than": _("This must be more than %(gt)s."),
    "greater_than_equal": _("This must be %(ge)s or more."),
    "less_than": _("This must be less than %(lt)s."),
    "less_than_equal": _("This must be %(le)s or less."),
    "multiple_of": _("This must be a multiple of %(multiple_of)s."),
    "decimal_max_digits": _("Enter at most %(max_digits)s digits."),
    "decimal_max_places": _("Enter at most %(decimal_places)s decimal places."),
    "decimal_whole_digits": _("Enter at most %(whole_digits)s digits before the decimal point."),
    "bool_type": _("Say yes or no."),
    "bool_parsing": _("Say yes or no."),
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_past": _("This date must be in the past."),
    "date_future": _("This date must be in the future."),
    "time_type": _TIME,
    "time_parsing": _TIME,
    "datetime_type": _DATETIME,
    "datetime_parsing": _DATETIME,
    "datetime_from_date": _DATETIME,
    "datetime_past": _("This must be in the past."),
    "datetime_future": _("This must be in the future."),
    "timezone_aware": _("Say the time zone as well, for example 2026-12-31 14:30+01:00."),
    "timezone_naive": _("Leave the time zone out."),
    "enum": _CHOICE,
    "literal_error": _CHOICE,
    "list_type": _("Choose any of the values that are offered."),
    "too_short": _("Choose at least %(min_length)s."),
    "too_long": _("Choose at most %(max_length)s."),
}
