"""From a signature to the JSON Schema that a model sees."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from pydantic import BaseModel, Field

from llm_foundation.exceptions import InvalidTool
from llm_foundation.tools import Effect, ToolContext, tool
from tests.tools import postponed


class Size(Enum):
    SMALL = "S"
    LARGE = "L"


class Line(BaseModel):
    """One line of an order."""

    sku: str = Field(description="article number")
    title: str = "untitled"
    price: Decimal


def test_the_schema_says_types_descriptions_and_what_is_required() -> None:
    @tool
    def find_order(context: ToolContext, number: str, limit: int = 10) -> dict[str, Any]:
        """Find one order by its number.

        Args:
            number: as printed on the invoice, for example "2026-1138".
            limit: at most so many lines.
        """
        return {}

    assert find_order.description == "Find one order by its number."
    assert find_order.parameters == {
        "type": "object",
        "properties": {
            "number": {"type": "string", "description": 'as printed on the invoice, for example "2026-1138".'},
            "limit": {"type": "integer", "default": 10, "description": "at most so many lines."},
        },
        "required": ["number"],
        "additionalProperties": False,
    }


def test_a_tool_without_arguments_has_an_empty_object() -> None:
    @tool
    def now(context: ToolContext) -> str:
        return ""

    assert now.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_the_types_of_python_have_their_json_schema() -> None:
    @tool
    def everything(
        size: Size,
        currency: Literal["EUR", "CHF"],
        amount: Decimal,
        day: date,
        moment: datetime,
        key: UUID,
        note: Optional[str],  # noqa: UP045 - tools are written this way as well
        tags: list[str],
        scores: dict[str, float],
    ) -> str:
        return ""

    properties = everything.parameters["properties"]
    assert properties["size"] == {"$ref": "#/$defs/Size"}
    assert everything.parameters["$defs"]["Size"] == {"type": "string", "enum": ["S", "L"]}
    assert properties["currency"] == {"type": "string", "enum": ["EUR", "CHF"]}
    assert properties["amount"] == {"anyOf": [{"type": "number"}, {"type": "string"}]}
    assert properties["day"] == {"type": "string", "format": "date"}
    assert properties["moment"] == {"type": "string", "format": "date-time"}
    assert properties["key"] == {"type": "string", "format": "uuid"}
    assert properties["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}}
    assert properties["scores"] == {"type": "object", "additionalProperties": {"type": "number"}}


def test_nested_models_keep_their_descriptions_and_a_field_called_title() -> None:
    @tool
    def order(lines: list[Line]) -> str:
        return ""

    assert order.parameters["properties"]["lines"] == {"type": "array", "items": {"$ref": "#/$defs/Line"}}
    line = order.parameters["$defs"]["Line"]
    assert line["description"] == "One line of an order."
    assert line["properties"]["sku"] == {"type": "string", "description": "article number"}
    assert line["properties"]["title"] == {"type": "string", "default": "untitled"}


def test_a_default_that_looks_like_a_schema_is_left_alone() -> None:
    @tool
    def save(options: Annotated[dict[str, str], Field(examples=[{"title": "x"}])] = {"title": "y"}) -> str:  # noqa: B006
        return ""

    assert save.parameters["properties"]["options"]["default"] == {"title": "y"}
    assert save.parameters["properties"]["options"]["examples"] == [{"title": "x"}]


def test_field_says_more_about_a_parameter_and_wins_over_the_docstring() -> None:
    @tool
    def refund(
        amount: Annotated[Decimal, Field(gt=0, description="in euros")], count: int = Field(default=1, ge=1)
    ) -> str:
        """Refund.

        Args:
            amount: how much
            count: how often
        """
        return ""

    properties = refund.parameters["properties"]
    assert properties["amount"]["description"] == "in euros"
    assert properties["amount"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0}
    assert properties["count"] == {"type": "integer", "minimum": 1, "default": 1, "description": "how often"}
    assert refund.parameters["required"] == ["amount"]


def test_parameters_may_have_the_names_that_pydantic_uses_itself() -> None:
    @tool
    def save(json: str, copy: bool, model_dump: int, schema: str, _hidden: int = 1) -> str:
        return ""

    assert list(save.parameters["properties"]) == ["json", "copy", "model_dump", "schema", "_hidden"]


def test_a_parameter_may_have_another_name_for_the_model() -> None:
    @tool
    def move(from_: Annotated[str, Field(alias="from")]) -> str:
        return from_

    assert move.parameters["required"] == ["from"]


def test_a_default_that_json_cannot_say_stays_a_default() -> None:
    @tool
    def list_orders(since: Any = object()) -> str:  # noqa: B008
        return ""

    assert list_orders.parameters["properties"] == {"since": {}}
    assert "required" not in list_orders.parameters


def test_a_dataclass_can_be_an_argument() -> None:
    @dataclass
    class Address:
        street: str
        city: str = "Bern"

    @tool
    def send(address: Address) -> str:
        return ""

    assert send.parameters["$defs"]["Address"]["required"] == ["street"]


def test_postponed_annotations_are_resolved_on_first_use() -> None:
    made = tool(effect=Effect.READ_ONLY)(postponed.refund)
    assert made.parameters["properties"] == {
        "amount": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    }


def test_a_postponed_annotation_that_leads_nowhere_names_the_parameter() -> None:
    made = tool(postponed.lost)
    with pytest.raises(
        InvalidTool, match=r"postponed.lost: the type of parameter 'amount', 'Nowhere', cannot be resolved"
    ):
        _ = made.parameters


Ctx = ToolContext


def test_a_context_under_another_name_is_refused_and_not_shown_to_the_model() -> None:
    def renamed(call: "Ctx", number: str) -> str:
        return number

    made = tool(renamed)
    with pytest.raises(InvalidTool, match="parameter 'call' is the context: write its type as ToolContext"):
        _ = made.parameters


def test_an_optional_context_is_refused_as_well() -> None:
    def renamed(call: ToolContext | None, number: str) -> str:
        return number

    made = tool(renamed)
    with pytest.raises(InvalidTool, match="parameter 'call' is the context: write its type as ToolContext"):
        _ = made.parameters


class Opaque:
    pass


@pytest.mark.parametrize("annotation", [Opaque, User, Callable[[], int], 3, type(None) | Opaque])
def test_a_type_that_json_schema_cannot_say_names_the_parameter(annotation: Any) -> None:
    def odd(number: int, order: annotation) -> str:
        return ""

    with pytest.raises(InvalidTool, match=r"odd: parameter 'order' .* cannot be said in JSON Schema"):
        _ = tool(odd).parameters


def test_the_first_parameter_called_context_without_a_type_is_the_context() -> None:
    @tool
    def now(context) -> str:  # type: ignore[no-untyped-def]
        return ""

    assert now.parameters["properties"] == {}


def test_a_parameter_called_context_with_another_type_is_an_argument() -> None:
    @tool
    def summarise(context: str) -> str:
        return context

    assert list(summarise.parameters["properties"]) == ["context"]


def test_the_schema_cannot_be_changed_by_whoever_reads_it() -> None:
    made = tool(postponed.refund)
    with pytest.raises(TypeError):
        made.parameters["properties"]["amount"] = {}


def test_the_definition_is_what_the_model_sees() -> None:
    definition = tool(postponed.refund).definition()
    assert (definition.name, definition.description) == ("refund", "Refund an amount.")
    assert list(definition.parameters["properties"]) == ["amount", "note"]


def test_declaring_tools_loads_neither_the_docstring_parser_nor_the_schema_validator() -> None:
    script = """
import json, sys
from llm_foundation.tools import tool
@tool
def f(number: int) -> str:
    '''Does it.'''
heavy = {"docstring_parser", "jsonschema_rs"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
