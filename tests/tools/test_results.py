"""Whatever a tool returns becomes text that a model can read, or is refused in words."""

import json
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import TextChoices
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from llm_foundation.exceptions import InvalidResult
from llm_foundation.tools import Artifact, ToolResult, bounded, to_result


class Colour(Enum):
    RED = "red"


class Shade(str, Enum):  # noqa: UP042 - the older spelling, whose str() is not its value
    DARK = "dark"


class Level(IntEnum):
    HIGH = 3


class State(TextChoices):
    OPEN = "open", "Open"


class Order(BaseModel):
    number: str
    total: Decimal
    key: SecretStr = SecretStr("hunter2")


class Blob(BaseModel):
    data: bytes


@dataclass
class Ticket:
    number: int
    opened: date
    token: str = field(default="hunter2", repr=False)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("Refunded: 12 €", "Refunded: 12 €"),
        ("", ""),
        (None, "Done."),
        (lazystr("late"), "late"),
        (gettext_lazy("Yes"), "Yes"),
        (mark_safe("<b>"), "<b>"),
        (True, "true"),
        (3, "3"),
        (19.9, "19.9"),
        (float("inf"), "inf"),
        (Decimal("19.90"), "19.90"),
        (date(2026, 11, 2), "2026-11-02"),
        (datetime(2026, 11, 2, 8, 30, tzinfo=UTC), "2026-11-02T08:30:00Z"),
        (timedelta(hours=1), "PT1H"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (Shade.DARK, "dark"),
        (Level.HIGH, "3"),
        (State.OPEN, "open"),
        ([], "[]"),
        (
            {"name": "Zoë", "total": Decimal("1.10"), "day": date(2026, 1, 2)},
            '{"name": "Zoë", "total": "1.10", "day": "2026-01-02"}',
        ),
        (OrderedDict(b=1, a=2), '{"b": 1, "a": 2}'),
        ({1: "one", None: "none", Colour.RED: "red"}, '{"1": "one", "None": "none", "red": "red"}'),
        ((1, deque([2])), "[1, [2]]"),
        ({"c", "a", "b"}, '["a", "b", "c"]'),
        ({"a": 1}.values(), "[1]"),
        ({"b": 1, "a": 2}.keys(), '["a", "b"]'),
        (range(3), "[0, 1, 2]"),
        (Order(number="1", total=Decimal("2.50")), '{"number": "1", "total": "2.50", "key": "**********"}'),
        ([Ticket(7, date(2026, 1, 2))], '[{"number": 7, "opened": "2026-01-02"}]'),
        ({"nan": [float("nan")]}, '{"nan": ["nan"]}'),
    ],
)
def test_a_value_becomes_the_text_that_says_it(value: Any, content: str) -> None:
    result = to_result(value)
    assert (result.content, result.is_error, result.artifacts) == (content, False, ())


def test_a_result_made_by_the_tool_is_kept() -> None:
    made = ToolResult("No such order.", is_error=True)
    assert to_result(made) is made


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            User(username="kim"),
            r"A django.contrib.auth.models.User cannot be shown to the model: return text, or a dict",
        ),
        (User.objects.all(), r"A django.db.models.query.QuerySet cannot be shown to the model"),
        ({"owner": [User(username="kim")]}, r"A django.contrib.auth.models.User cannot be shown"),
        (b"\xff\x00", r"A builtins.bytes cannot be shown to the model: return text"),
        ((number for number in range(3)), r"A builtins.generator cannot be shown to the model: return a list"),
        (object(), r"A builtins.object cannot be shown"),
        (User, r"cannot be shown"),
    ],
)
def test_what_nobody_chose_to_show_is_refused_with_the_remedy(value: Any, problem: str) -> None:
    with pytest.raises(InvalidResult, match=problem):
        to_result(value)


def test_a_model_that_holds_what_nobody_chose_to_show_is_refused() -> None:
    class Owned(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)

        owner: User

    with pytest.raises(InvalidResult, match=r"A django.contrib.auth.models.User cannot be shown"):
        to_result(Owned(owner=User(username="kim")))


@pytest.mark.parametrize("value", [10**5_000, [10**5_000], Blob(data=b"\xff")], ids=["number", "list", "bytes"])
def test_a_value_that_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(InvalidResult, match="cannot be written as JSON"):
        to_result(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidResult, match="or contains itself"):
        to_result(endless)


def test_the_same_value_is_always_the_same_text() -> None:
    assert to_result({"b", "a", ("x", 1), 3}).content == to_result({3, ("x", 1), "a", "b"}).content


def test_nul_and_lone_surrogates_do_not_survive() -> None:
    assert to_result("a\x00b\ud800c").content == "ab�c"
    assert to_result({"k\x00": "v\x00\ud800"}).content == '{"k": "v�"}'
    assert ToolResult("x\x00").content == "x"


def test_content_must_be_text() -> None:
    with pytest.raises(ValidationError):
        ToolResult({"a": 1})  # type: ignore[arg-type]


def test_a_result_survives_storage_with_its_artifacts() -> None:
    table = Artifact(title="Orders", kind="table", data={"columns": ["n"], "rows": [["1"]]})
    result = ToolResult("One order.", artifacts=[table])
    assert ToolResult.model_validate(json.loads(result.model_dump_json())) == result
    assert result.artifacts == (table,)


def test_an_artifact_holds_json_of_a_known_kind() -> None:
    with pytest.raises(ValidationError):
        Artifact(title="x", kind="script", data={})  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Artifact(title="x", kind="link", data=object())


def test_a_short_result_is_not_touched() -> None:
    result = ToolResult("x" * 100)
    assert bounded(result, 100) is result


def test_a_long_result_keeps_head_and_tail_and_says_what_was_cut() -> None:
    result = bounded(ToolResult("a" * 6_000 + "b" * 3_000, is_error=True), 1_000)
    head, cut, tail = result.content.partition("\n\n[… 8,044 characters are left out here …]\n\n")
    assert (head, tail) == ("a" * 638, "b" * 318)
    assert cut
    assert len(head) + len(tail) + 8_044 == 9_000
    assert result.is_error


def test_the_usual_bound_is_fifty_thousand_characters() -> None:
    assert len(bounded(ToolResult("x" * 60_000)).content) == 50_000


@given(st.text(st.characters(), max_size=300), st.integers(1, 120))
def test_a_bounded_result_is_never_longer_than_its_bound(text: str, limit: int) -> None:
    content = bounded(to_result(text), limit).content
    assert len(content) <= limit
    content.encode()
    assert "\x00" not in content


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.decimals()
    | st.dates()
    | st.uuids(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()) | st.integers(), inner) | st.tuples(inner),
    max_leaves=20,
)


@given(VALUES)
def test_any_result_is_valid_utf8_without_nul(value: Any) -> None:
    content = to_result(value).content
    content.encode()
    assert "\x00" not in content


@given(st.dictionaries(st.text(st.characters()), VALUES))
def test_any_mapping_becomes_json(value: dict[str, Any]) -> None:
    assert isinstance(json.loads(to_result(value).content), dict)
