"""What the model sent becomes what the function gets, or an error that says which field and why."""

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_jsonable_python

from llm_foundation.chat import ToolCall
from llm_foundation.chat.frozen import thaw
from llm_foundation.exceptions import InvalidArguments
from llm_foundation.tools import Tool, ToolContext, tool, validate_arguments
from tests.tools import postponed


class Size(Enum):
    SMALL = "S"
    LARGE = "L"


class Line(BaseModel):
    sku: str
    price: Decimal
    size: Size = Size.SMALL


class Exact(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    day: date


def refund(
    context: ToolContext,
    number: str,
    amount: Annotated[Decimal, Field(gt=0)],
    lines: list[Line] = [],  # noqa: B006 - each call gets its own copy
    day: date | None = None,
    reason: Literal["broken", "late"] = "broken",
) -> str:
    return number


def problems_of(made: Tool, arguments: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(made, arguments)
    return dict(caught.value.problems)


def test_arguments_become_python_values_with_the_defaults() -> None:
    checked = validate_arguments(
        tool(refund),
        {
            "number": "2026-1138",
            "amount": "12.50",
            "lines": [{"sku": "A1", "price": 3, "size": "L"}],
            "day": "2026-11-02",
        },
    )
    assert checked == {
        "number": "2026-1138",
        "amount": Decimal("12.50"),
        "lines": [Line(sku="A1", price=Decimal(3), size=Size.LARGE)],
        "day": date(2026, 11, 2),
        "reason": "broken",
    }


@pytest.mark.parametrize("text", ["19.9", "0.1", "1e2", "123456789.01", "-3.30"])
def test_a_decimal_is_read_by_its_digits_and_never_as_a_binary_fraction(text: str) -> None:
    @tool
    def pay(amount: Decimal) -> str:
        return ""

    sent = json.loads(f'{{"amount": {text}}}')
    assert validate_arguments(pay, sent) == {"amount": Decimal(text)}


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), "NaN", "Infinity"])
def test_no_number_is_infinite_or_none(amount: Any) -> None:
    @tool
    def pay(amount: Decimal, rate: float = 1.0) -> str:
        return ""

    assert "amount" in problems_of(pay, {"amount": amount})
    assert "rate" in problems_of(pay, {"amount": 1, "rate": amount})


def test_a_default_list_is_not_shared_between_calls() -> None:
    made = tool(refund)
    first = validate_arguments(made, {"number": "1", "amount": 1})
    first["lines"].append("spoiled")
    assert validate_arguments(made, {"number": "1", "amount": 1})["lines"] == []


def test_each_wrong_field_is_named_with_the_reason() -> None:
    assert problems_of(tool(refund), {"amount": "much", "lines": [{"sku": "A1"}], "day": "soon", "reason": "dull"}) == {
        "number": "is required",
        "amount": "Input should be a valid decimal",
        "lines[0].price": "is required",
        "day": "Input should be a valid date or datetime, input is too short",
        "reason": "Input should be 'broken' or 'late'",
    }


def test_an_unknown_field_is_refused_and_the_known_ones_are_named() -> None:
    assert problems_of(tool(refund), {"number": "1", "amount": 1, "amout": 2}) == {
        "amout": "unknown argument; this tool takes number, amount, lines, day, reason"
    }


def test_a_tool_without_arguments_takes_none() -> None:
    @tool
    def now() -> str:
        return ""

    assert validate_arguments(now, {}) == {}
    assert problems_of(now, {"zone": "CET"}) == {"zone": "unknown argument; this tool takes none"}


def test_an_unknown_field_inside_is_named_with_its_path() -> None:
    @tool
    def plan(days: list[Exact]) -> str:
        return ""

    assert problems_of(plan, {"days": [{"day": "2026-11-02", "hour": 3}]}) == {"days[0].hour": "unknown field"}


def test_a_strict_model_takes_a_date_from_text_because_json_has_no_dates() -> None:
    @tool
    def plan(exact: Exact) -> str:
        return ""

    assert validate_arguments(plan, {"exact": {"day": "2026-11-02"}}) == {"exact": Exact(day=date(2026, 11, 2))}


def test_the_branches_of_a_union_are_told_as_one_problem_of_the_field() -> None:
    @tool
    def find(which: int | date) -> str:
        return ""

    assert problems_of(find, {"which": []}) == {
        "which": "Input should be a valid integer; or: Input should be a valid date"
    }


def test_the_whole_error_reads_as_a_sentence_for_the_model() -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(tool(refund), {"number": "1", "amount": 0})
    assert str(caught.value) == "Invalid arguments for refund: amount: Input should be greater than 0"


def test_what_was_sent_is_not_repeated() -> None:
    assert "hunter2" not in str(
        problems_of(tool(refund), {"number": ["hunter2"], "amount": "hunter2", "day": "hunter2"})
    )


def test_a_thousand_problems_are_told_in_few_words() -> None:
    lines = [{"x" * 500: 1} for _ in range(1000)]
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(tool(refund), {"number": "1", "amount": 1, "lines": lines})
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1] == ("(arguments)", "and 1980 more problems")
    assert len(str(caught.value)) < 2000


def test_a_field_name_of_any_length_is_shortened() -> None:
    (path,) = problems_of(tool(refund), {"number": "1", "amount": 1, "x" * 5000: 1})
    assert len(path) == 120


def test_another_name_for_the_model_is_mapped_back() -> None:
    @tool
    def move(from_: Annotated[str, Field(alias="from")]) -> str:
        return from_

    assert validate_arguments(move, {"from": "A"}) == {"from_": "A"}
    assert problems_of(move, {"from_": "A"})["from"] == "is required"


def test_a_default_factory_fills_in() -> None:
    @tool
    def send(to: Annotated[list[str], Field(default_factory=lambda: ["all"])]) -> str:
        return ""

    assert validate_arguments(send, {}) == {"to": ["all"]}


def test_validated_arguments_can_be_validated_again() -> None:
    made = tool(refund)
    once = validate_arguments(made, {"number": "1", "amount": 19.9, "lines": [{"sku": "A", "price": "1.10"}]})
    assert validate_arguments(made, once) == once


def test_postponed_annotations_validate_as_well() -> None:
    assert validate_arguments(tool(postponed.refund), {"amount": 1}) == {"amount": Decimal(1), "note": None}


def test_what_json_cannot_say_is_refused() -> None:
    assert problems_of(tool(refund), {"number": "\ud800", "amount": 1}) == {
        "(arguments)": "hold something that JSON cannot say"
    }
    assert problems_of(tool(refund), {"number": object(), "amount": 1}) == {
        "(arguments)": "hold something that JSON cannot say"
    }


TYPES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**53), 2**53),
    str: st.text(st.characters(exclude_categories=["Cs"])),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False, places=2),
    date: st.dates(),
    datetime: st.datetimes(timezones=st.timezones().map(lambda _: None)),
    UUID: st.uuids(),
    Size: st.sampled_from(Size),
    Literal["a", "b"]: st.sampled_from(["a", "b"]),
    list[int]: st.lists(st.integers(-1000, 1000), max_size=3),
    dict[str, Decimal]: st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=3), st.decimals(-100, 100, places=2), max_size=3
    ),
    int | None: st.none() | st.integers(-1000, 1000),
    Line: st.builds(
        Line,
        sku=st.text(st.characters(exclude_categories=["Cs"])),
        price=st.decimals(0, 99, places=2),
        size=st.sampled_from(Size),
    ),
    list[Line]: st.lists(st.builds(Line, sku=st.just("x"), price=st.decimals(0, 99, places=2)), max_size=2),
}


def taking(*types: Any) -> Tool:
    def anything() -> str:
        return ""

    names = [f"p{index}" for index in range(len(types))]
    namespace: dict[str, Any] = {"types": types}
    listed = ", ".join(f"{name}: types[{index}]" for index, name in enumerate(names))
    exec(f"def anything({listed}): pass", namespace)
    function: Callable[..., Any] = namespace["anything"]
    return tool(function)


@given(st.data())
def test_whatever_the_types_admit_fits_the_schema_and_comes_back_as_it_was(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(TYPES)), max_size=4))
    values = {f"p{index}": data.draw(TYPES[kind]) for index, kind in enumerate(types)}
    made = taking(*types)
    sent = json.loads(json.dumps(to_jsonable_python(values)))
    assert jsonschema_rs.is_valid(thaw(made.parameters), sent)
    assert validate_arguments(made, sent) == values


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["number", "amount", "lines", "day", "reason", "other"]), JSON))
def test_any_json_object_is_either_valid_or_invalid_arguments(arguments: dict[str, Any]) -> None:
    try:
        checked = validate_arguments(tool(refund), arguments)
    except InvalidArguments as error:
        assert 1 <= len(error.problems) <= 21  # noqa: PT017 - either outcome is right
    else:
        assert set(checked) == {"number", "amount", "lines", "day", "reason"}


def test_the_arguments_of_a_call_are_taken_as_they_are() -> None:
    call = ToolCall.from_model(id="c1", name="refund", arguments='{"number": "1", "amount": 19.9, "lines": []}')
    assert validate_arguments(tool(refund), call.arguments)["amount"] == Decimal("19.9")
