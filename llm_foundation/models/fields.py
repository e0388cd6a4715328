"""What our tables keep in a way of their own: encrypted values, JSON as text, and what no fixture may hold.

An encrypted value has two names on its model: a text column for the token, and a ``Sealed`` attribute that reads and
writes the value through it::

    class Note(models.Model):
        id = models.UUIDField(primary_key=True, default=uuid4)
        body_sealed = models.TextField(editable=False)
        body = SealedText("body_sealed", row=["id"])


    Note.objects.bulk_create([Note(body="seen by nobody")])
    Note.objects.filter(pk=note.pk).update(body_sealed=Note.body.seal(note, "changed"))

The token opens in its own row and column only, so ``row`` names what identifies the row for good and is known before
it is inserted. Nothing is decrypted until the attribute is read: a row that cannot be read raises
``DecryptionFailed`` there, and breaks no list. A fixture holds the token. What was read belongs to the reader: to
store a change, assign it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, overload

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from llm_foundation.chat.frozen import clean_text
from llm_foundation.encryption import decrypt, encrypt, place

T = TypeVar("T")

if TYPE_CHECKING:
    _JSONField = models.TextField[Any, Any]
    _TextField = models.TextField[str, str]
    _CharField = models.CharField[str, str]
else:
    _JSONField, _TextField, _CharField = models.TextField, models.TextField, models.CharField


def readable(text: str, *, length: int | None = None) -> str:
    """Foreign text for a column that is kept in clear: cut at ``length``, and without what a database refuses."""
    return clean_text(text).replace("\x00", "")[:length]


class Sealed(property, ABC, Generic[T]):
    """An encrypted value of a model. A ``property``, since ``Model(**kwargs)`` sets those, and sets them last."""

    empty: T
    """What an empty column stands for; it is stored as an empty column, too."""

    def __init__(self, column: str, *, row: Sequence[str]) -> None:
        super().__init__()
        self.column = column
        self.row = tuple(row)

    def __set_name__(self, owner: type[models.Model], name: str) -> None:
        self.model = owner

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> Self: ...
    @overload
    def __get__(self, instance: models.Model, owner: type | None = None, /) -> T: ...
    def __get__(self, instance: models.Model | None, owner: type | None = None, /) -> Self | T:
        if instance is None:
            return self
        token = getattr(instance, self.column)
        if not token:
            return self.empty
        return self.read(decrypt(token, context=self.place(instance)).decode("utf-8", "surrogatepass"))

    def __set__(self, instance: models.Model, value: T, /) -> None:
        setattr(instance, self.column, self.seal(instance, value))

    def seal(self, instance: models.Model, value: T) -> str:
        """The token of a value for this row, for ``update()``. The instance needs to know its identity only."""
        return "" if value == self.empty else encrypt(self.write(value), context=self.place(instance))

    def place(self, instance: models.Model) -> str:
        identity = tuple(getattr(instance, name) for name in self.row)
        return place(table=instance._meta.db_table, column=self.column, row=identity)

    # The same for who has the columns without an instance: to make those of a transcript takes as long as to read it.

    def token(self, value: T, *row: object) -> str:
        """What is stored for a value in the row of this identity."""
        return "" if value == self.empty else encrypt(self.write(value), context=self._place(row))

    def value(self, token: str, *row: object) -> T:
        """What is stored as this token in the row of this identity."""
        if not token:
            return self.empty
        return self.read(decrypt(token, context=self._place(row)).decode("utf-8", "surrogatepass"))

    def _place(self, row: tuple[object, ...]) -> str:
        return place(table=self.model._meta.db_table, column=self.column, row=row)

    @abstractmethod
    def read(self, text: str) -> T:
        """The value that a decrypted text says."""

    @abstractmethod
    def write(self, value: T) -> str:
        """The text to encrypt for a value."""


class SealedText(Sealed[str]):
    empty = ""

    def read(self, text: str) -> str:
        return text

    def write(self, value: str) -> str:
        return value


class SealedJSON(Sealed[Any]):
    """JSON with its key order and its number forms; ``None`` is an empty column."""

    empty = None

    def read(self, text: str) -> Any:
        return json.loads(text)

    def write(self, value: Any) -> str:
        return write_json(value)


_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_json(value: Any) -> str:
    return _COMPACT.encode(value)


class JSONTextField(_JSONField):
    """JSON in a text column: databases that understand JSON sort its keys and rewrite its numbers.

    Holds objects, lists, numbers and booleans; a bare string is taken for JSON text.
    """

    _pyi_private_set_type: Any  # for django-stubs, which gives every descendant of TextField text
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, *_: Any) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValidationError(_("This is not valid JSON: %(problem)s"), params={"problem": error}) from None

    def get_prep_value(self, value: Any) -> str | None:
        return value if value is None or isinstance(value, str) else write_json(value)

    def value_to_string(self, obj: models.Model) -> str:
        return write_json(self.value_from_object(obj))

    def formfield(self, **kwargs: Any) -> forms.Field | None:
        field: forms.Field | None = super().formfield(**{"form_class": forms.JSONField, **kwargs})
        return field


class LeftOutOfFixtures:
    """For a field whose value never leaves the database with ``dumpdata``."""

    def value_to_string(self, obj: models.Model) -> str:
        return ""


class SecretTokenField(LeftOutOfFixtures, _TextField):
    """The token of a secret."""


class SecretHintField(LeftOutOfFixtures, _CharField):
    """A piece of a secret by which people tell it from others."""
