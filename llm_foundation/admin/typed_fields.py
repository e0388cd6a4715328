"""One field for one value of JSON: how it is asked for, and what was typed, read back.

Whether a value fits is not decided here; the tool's own types decide, and their words are shown at the field.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _

from llm_foundation.tools import InputChoice, InputKind

JSON: Final = "json"
"""The kind of a value that is too deep for one line."""
LONG_LINE: Final = 60
"""Characters up to which a text that is there already gets a field of one line."""
LONG_TEXT: Final = 200
"""Characters from which on a text that may become so long gets more than a line."""
NUMBER: Final = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?")


class LeftOut:
    """What was not filled in."""


LEFT_OUT: Final = LeftOut()


@dataclass(frozen=True, slots=True)
class TypedField:
    """``kind`` is an ``InputKind`` or ``JSON``.

    ``keeps_empty``: an empty text is one, and not nothing at all. ``longest``: characters that a text may have.
    """

    name: str
    title: str
    kind: str
    description: str = ""
    required: bool = True
    nullable: bool = False
    choices: tuple[InputChoice, ...] = ()
    initial: Any = LEFT_OUT
    keeps_empty: bool = False
    longest: int | None = None

    def form_field(self) -> forms.Field:
        title = self.title if self.required else _("%(field)s (optional)") % {"field": self.title}
        field = _MAKERS.get(self.kind, _line)(self)
        field.label, field.help_text, field.required = title, self.description, False
        return field

    def shown(self) -> Any:
        """The initial value as the form shows it. A secret is never shown."""
        value = self.initial
        if isinstance(value, LeftOut) or value is None or self.kind == InputKind.SECRET:
            return None
        if self.kind == InputKind.CHOICES:
            return [self._place_of(one) for one in value]
        if self.kind == InputKind.CHOICE:
            return self._place_of(value)
        if self.kind == JSON:
            return json.dumps(value, ensure_ascii=False, indent=2)
        return json.dumps(value) if isinstance(value, bool | int | float) else str(value)

    def read(self, typed: Any) -> Any:
        """What was typed, as a value; ``LEFT_OUT`` where nothing was. Raises ``ValidationError`` for broken JSON."""
        if self.kind == InputKind.CHOICES:
            return [self.choices[int(place)].value for place in typed]
        text = _as_before(str(typed), self.initial)
        if text == "" and not self.keeps_empty:
            return None if self.nullable and self.required else LEFT_OUT
        return _READERS.get(self.kind, _text)(self, text)

    def _place_of(self, value: Any) -> str:
        """Choices are posted by their places: a value may be a number or a text, which look the same in a form."""
        places = (str(place) for place, choice in enumerate(self.choices) if choice.value == value)
        return next(places, "")


def _as_before(text: str, initial: Any) -> str:
    """Browsers post every line end as two characters; what nobody changed stays exactly as it was."""
    text = text.replace("\r\n", "\n")
    if isinstance(initial, str) and text == initial.replace("\r\n", "\n").replace("\r", "\n"):
        return initial
    return text


def _line(field: TypedField) -> forms.Field:
    return forms.CharField(strip=False, widget=forms.TextInput(attrs={"autocomplete": "off", "class": "vTextField"}))


def _words(field: TypedField) -> forms.Field:
    initial = field.initial if isinstance(field.initial, str) else ""
    is_one_line = len(initial.splitlines()) <= 1 and len(initial) <= LONG_LINE
    if is_one_line and (initial or (field.longest or LONG_TEXT) < LONG_TEXT):
        return _line(field)
    rows = min(12, max(2, initial.count("\n") + 1, len(initial) // LONG_LINE))
    return forms.CharField(strip=False, widget=forms.Textarea(attrs={"rows": rows, "class": "vLargeTextField"}))


def _secret(field: TypedField) -> forms.Field:
    return forms.CharField(strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "off"}))


def _json(field: TypedField) -> forms.Field:
    widget = forms.Textarea(attrs={"rows": 6, "class": "vLargeTextField llm-json"})
    return forms.CharField(strip=True, widget=widget)


def _yes_or_no(field: TypedField) -> forms.Field:
    return forms.ChoiceField(choices=[("", "–"), ("true", _("Yes")), ("false", _("No"))])


def _day(field: TypedField) -> forms.Field:
    return forms.CharField(widget=forms.TextInput(attrs={"type": "date"}))


def _one(field: TypedField) -> forms.Field:
    return forms.ChoiceField(choices=[("", "–"), *_places(field)])


def _many(field: TypedField) -> forms.Field:
    return forms.MultipleChoiceField(choices=_places(field), widget=forms.CheckboxSelectMultiple)


def _places(field: TypedField) -> list[tuple[str, str]]:
    return [(str(place), choice.label) for place, choice in enumerate(field.choices)]


def _text(field: TypedField, text: str) -> Any:
    return text


def _number(field: TypedField, text: str) -> Any:
    """What is no number stays text, so that the tool's own types say what is wrong with it."""
    return json.loads(text) if NUMBER.fullmatch(text.strip()) and not re.match(r"-?0\d", text.strip()) else text


def _truth(field: TypedField, text: str) -> Any:
    return text == "true"


def _choice(field: TypedField, text: str) -> Any:
    return field.choices[int(text)].value


def _parsed(field: TypedField, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise forms.ValidationError(_("This is no valid JSON: %(problem)s") % {"problem": str(error)[:200]}) from None


_MAKERS: Final[Mapping[str, Callable[[TypedField], forms.Field]]] = {
    InputKind.TEXT: _words,
    InputKind.SECRET: _secret,
    InputKind.BOOLEAN: _yes_or_no,
    InputKind.DATE: _day,
    InputKind.CHOICE: _one,
    InputKind.CHOICES: _many,
    JSON: _json,
}
_READERS: Final[Mapping[str, Callable[[TypedField, str], Any]]] = {
    InputKind.INTEGER: _number,
    InputKind.NUMBER: _number,
    InputKind.BOOLEAN: _truth,
    InputKind.CHOICE: _choice,
    JSON: _parsed,
}
