"""An input is kept as it was typed, and checked in sentences that a person can act on."""

import json
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from llm_foundation.exceptions import InvalidInput
from llm_foundation.models.fields import write_json
from llm_foundation.tools import Tool, ToolContext, registry, tool, validate_input
from llm_foundation.tools.inputs import MAX_CHARACTERS, plain_input


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Payment(BaseModel):
    amount: Decimal = Field(gt=0, le=100, max_digits=5, decimal_places=2)
    pin: SecretStr = Field(default=SecretStr("0000"), min_length=4)
    note: str = Field(default="", max_length=20)
    day: date | None = None
    copies: int = 1
    rate: float = 1.0
    size: Size = Size.SMALL
    sizes: list[Size] = []
    answer: Literal["yes", "no"] = "yes"
    agreed: bool = False


def paying(model: type[BaseModel] | None = Payment) -> Tool:
    @tool(input_model=model)
    def pay(context: ToolContext, number: str) -> str:
        """Pay."""
        return number

    return pay


def filled_in(**fields: Any) -> Any:
    return validate_input(paying(), plain_input({"amount": "5", **fields}))


def problems(model: type[BaseModel] = Payment, /, **fields: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidInput) as caught:
        validate_input(paying(model), plain_input(fields))
    return dict(caught.value.problems)


def test_what_a_form_posts_becomes_the_types_of_the_model() -> None:
    made = filled_in(amount="19.90", copies="2", day="2026-12-31", size="l", sizes=["s", "l"], agreed="on")
    assert (made.amount, made.copies, made.day) == (Decimal("19.90"), 2, date(2026, 12, 31))
    assert (made.size, made.sizes, made.agreed) == (Size.LARGE, [Size.SMALL, Size.LARGE], True)


def test_what_code_gives_may_be_python_values_or_the_model_itself() -> None:
    fields: dict[str, Any] = {
        "amount": Decimal("19.90"),
        "pin": SecretStr("1234"),
        "day": date(2026, 1, 2),
        "sizes": [Size.LARGE],
    }
    plain = plain_input(fields)
    assert plain == {"amount": "19.90", "pin": "1234", "day": "2026-01-02", "sizes": ["l"]}
    assert validate_input(paying(), plain) == Payment(**fields)
    assert validate_input(paying(), plain_input(Payment(**fields))) == Payment(**fields)


HIDDEN = "a\u202eb\u200bc\x00d\r\n é e\u0301 \U0001f642 "


def test_a_text_is_kept_exactly_as_it_was_typed() -> None:
    assert plain_input({"note": HIDDEN})["note"] == HIDDEN
    assert filled_in(note=HIDDEN[:20]).note == HIDDEN[:20]


class Note(BaseModel):
    text: str


@given(st.text())
def test_any_text_that_can_be_written_comes_back_as_it_was_from_where_it_is_stored(text: str) -> None:
    with registry.isolated():
        stored = json.loads(write_json(plain_input({"text": text})))
        made = validate_input(paying(Note), stored)
    assert isinstance(made, Note)
    assert made.text == text


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("amount", "much", "Enter a number."),
        ("amount", "NaN", "Enter a number."),
        ("amount", "-1", "This must be more than 0."),
        ("amount", "100.5", "This must be 100 or less."),
        ("amount", "1.999", "Enter at most 2 decimal places."),
        ("pin", "12", "Enter at least 4 characters."),
        ("note", "x" * 21, "Enter at most 20 characters."),
        ("note", 3, "Enter a text."),
        ("day", "soon", "Enter a date, for example 2026-12-31."),
        ("day", "2026-12-31T12:00", "Enter a date, for example 2026-12-31."),
        ("copies", "1.5", "Enter a whole number."),
        ("copies", 1.5, "Enter a whole number."),
        ("rate", "inf", "Enter a number."),
        ("rate", float("nan"), "This cannot be written down."),
        ("size", "medium", "Choose one of the values that are offered."),
        ("sizes", "s", "Choose any of the values that are offered."),
        ("answer", "perhaps", "Choose one of the values that are offered."),
        ("agreed", "perhaps", "Say yes or no."),
        ("note", "\ud800", "This cannot be written down."),
        ("note", b"bytes", "This cannot be written down."),
        pytest.param("copies", 10**5000, "This cannot be written down.", id="a number too large to be written"),
    ],
)
def test_each_problem_is_a_sentence_at_its_field(field: str, value: Any, sentence: str) -> None:
    assert problems(**{"amount": "5", field: value}) == {field: [sentence]}


def test_all_fields_that_are_wrong_are_named_at_once() -> None:
    assert problems(copies="x", sizes=["s", "q"]) == {
        "amount": ["Fill in this field."],
        "copies": ["Enter a whole number."],
        "sizes[1]": ["Choose one of the values that are offered."],
    }


def test_a_field_that_nobody_declared_is_refused_whatever_the_model_allows() -> None:
    class Open(Payment):
        model_config = ConfigDict(extra="allow")

    assert problems(Open, amount="5", owner="root") == {"owner": ["There is no such field."]}


def test_a_validator_of_the_model_speaks_for_itself() -> None:
    class Strict(BaseModel):
        start: int = 0
        end: int = 0

        @field_validator("start")
        @classmethod
        def _even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("Only even numbers.")
            return value

        @model_validator(mode="after")
        def _in_order(self) -> "Strict":
            if self.end < self.start:
                raise ValueError("The end comes before the start.")
            return self

    assert problems(Strict, start=1) == {"start": ["Only even numbers."]}
    assert problems(Strict, start=2, end=1) == {"(input)": ["The end comes before the start."]}


def test_the_error_names_the_fields_and_repeats_nothing_of_what_was_typed() -> None:
    class Talkative(BaseModel):
        pin: SecretStr

        @field_validator("pin")
        @classmethod
        def _known(cls, value: SecretStr) -> SecretStr:
            raise ValueError(f"{value.get_secret_value()} is not the PIN.")

    with pytest.raises(InvalidInput) as caught:
        validate_input(paying(Talkative), plain_input({"pin": "hunter2"}))
    assert str(caught.value) == "The input does not fit: nothing was decided. (pin)"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_megabyte_is_too_much() -> None:
    assert problems(note="x" * MAX_CHARACTERS) == {"(input)": ["The input is longer than 1,000,000 characters."]}


def test_a_hostile_input_is_answered_briefly() -> None:
    found = problems(**{f"field{number}" * 100: 1 for number in range(10_000)})
    assert len(found) <= 20
    assert all(len(name) <= 120 for name in found)


@pytest.mark.parametrize("nothing", [None, "amount", 5, ["amount"]])
def test_what_is_no_input_at_all_is_a_problem_of_the_whole(nothing: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        plain_input(nothing)
    assert list(caught.value.problems) == ["(input)"]


def test_a_tool_that_asks_for_no_input_takes_none() -> None:
    with pytest.raises(InvalidInput) as caught:
        validate_input(paying(None), {})
    assert caught.value.problems == {"(input)": ["This tool asks for no input."]}


def test_neither_the_context_nor_its_log_line_shows_the_input() -> None:
    assert "hunter2" not in repr(ToolContext(input=Payment(amount=Decimal(1), note="hunter2")))
