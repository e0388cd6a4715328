"""The schema that a model is shown, and how what it sends becomes an instance."""

from collections.abc import Callable
from datetime import date
from typing import (
    Annotated,
    Generic,
    Literal,
    NotRequired,  # pydantic wants it from there before Python 3.12
    TypeVar,
)

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator
from typing_extensions import TypedDict

from llm_foundation.exceptions import InvalidMessage
from llm_foundation.pipeline.answer_schema import Misfit, answer_schema

T = TypeVar("T")


class Note(TypedDict):
    text: str
    author: NotRequired[str]


class Page(BaseModel, Generic[T]):
    items: list[T]


class Ticket(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    title: str
    due: date = Field(alias="dueDate", default=date(2026, 1, 1))
    notes: list[Note] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Pet(RootModel[Annotated[Cat | Dog, Field(discriminator="kind")]]):
    pass


class Same(BaseModel):
    first: int
    second: int

    @model_validator(mode="after")
    def _equal(self) -> "Same":
        if self.first != self.second:
            raise ValueError("first and second must be equal")
        return self


class Callback(BaseModel):
    call: Callable[[], int]


class OddDefault(BaseModel):
    made_by: object = len


def problems(model: type[BaseModel], text: str) -> list[tuple[str, str]]:
    with pytest.raises(Misfit) as caught:
        answer_schema(model).read(text)
    return list(caught.value.problems)


def test_fields_with_a_default_are_asked_for_and_keys_that_may_be_absent_are_not() -> None:
    shape = answer_schema(Ticket).shape
    assert shape["required"] == ["title", "dueDate", "notes"]
    assert shape["properties"]["title"] == {"type": "string"}
    assert shape["$defs"]["Note"] == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "author": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }


def test_an_answer_is_read_as_json_even_by_strict_types() -> None:
    ticket = answer_schema(Ticket).read('{"title": "x", "dueDate": "2026-05-04"}')
    assert ticket.due == date(2026, 5, 4)
    assert ticket.notes == []


def test_a_union_at_the_top_is_asked_for_inside_an_object() -> None:
    schema = answer_schema(Pet)
    assert (schema.shape["type"], list(schema.shape["properties"])) == ("object", ["value"])
    assert schema.read('{"value": {"kind": "dog", "name": "Rex"}}') == Pet(Dog(kind="dog", name="Rex"))


@pytest.mark.parametrize(
    ("model", "text", "listed"),
    [
        (Ticket, "{}", [("title", "is required")]),
        (Ticket, '{"title": "x", "due": "2026-05-04"}', [("due", "Extra inputs are not permitted")]),
        (Ticket, '{"title": "x", "notes": [{"author": "a"}]}', [("notes[0].text", "is required")]),
        (Pet, '{"kind": "dog", "name": "Rex"}', [("value", "is required")]),
        (Pet, '{"value": {"kind": "dog"}}', [("value.name", "is required")]),
        (Same, '{"first": 1, "second": 2}', [("(answer)", "Value error, first and second must be equal")]),
        (Same, "I cannot say.", [("(answer)", "holds no complete JSON object")]),
        (Same, " ", [("(answer)", "is empty")]),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(
    model: type[BaseModel], text: str, listed: list[tuple[str, str]]
) -> None:
    assert problems(model, text) == listed


def test_only_the_first_problems_are_told() -> None:
    listed = problems(Page[int], f'{{"items": {["x"] * 30}}}'.replace("'", '"'))
    assert len(listed) == 21
    assert listed[-1] == ("(answer)", "and 10 more problems")


def test_the_name_fits_every_wire() -> None:
    assert answer_schema(Page[int]).native.name == "Page_int_"
    assert answer_schema(type("Größe" + "x" * 80, (Same,), {})).native.name == "Gr__e" + "x" * 59


def test_a_schema_is_made_once() -> None:
    assert answer_schema(Ticket) is answer_schema(Ticket)
    assert answer_schema(Ticket).native is answer_schema(Ticket).native


def test_a_type_that_json_schema_cannot_say_is_named() -> None:
    with pytest.raises(InvalidMessage, match=r"schema: Callback cannot be said in JSON Schema: .*CallableSchema"):
        answer_schema(Callback)


def test_a_default_that_json_cannot_say_is_passed_over() -> None:
    assert answer_schema(OddDefault).shape == {"type": "object", "properties": {"made_by": {}}, "required": ["made_by"]}
