"""JSON Schema in OpenAI's dialects: always a copy, never wrong."""

import copy
from typing import Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from llm_foundation.providers.json_schema import joined_all_of, object_schema, strict_schema, without_references
from tests.chat.strategies import json_objects

TEXT = {"type": "string"}


def strict(**properties: Any) -> Any:
    """The strict form of an object of these properties, all of them required."""
    return strict_schema({"type": "object", "properties": properties, "required": list(properties)})


def projected(schema: Any) -> Any:
    """The strict form of one property's schema."""
    form = strict(key=schema)
    return form and form["properties"]["key"]


def test_nothing_additional_and_every_key_required():
    assert strict(a=TEXT, b={"type": "object", "properties": {"c": TEXT}, "required": ["c"]}) == {
        "type": "object",
        "properties": {
            "a": TEXT,
            "b": {"type": "object", "properties": {"c": TEXT}, "required": ["c"], "additionalProperties": False},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 1, "maxLength": 9, "x-own": 1, "default": "a", "examples": ["a"]},
        {"type": "string", "format": "color"},
        {"type": "string", "pattern": "^(?!x)"},
    ],
)
def test_keywords_that_only_narrow_are_left_out(schema):
    assert projected(schema) == TEXT


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date", "pattern": "^a", "description": "D", "title": "T"},
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2},
        {"type": ["string", "null"]},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
        {"anyOf": [TEXT, {"type": "null"}]},
    ],
)
def test_keywords_of_the_dialect_stay(schema):
    assert projected(schema) == schema


def test_equal_forms_become_those_of_the_dialect():
    assert projected({"oneOf": [TEXT, {"type": "null"}], "discriminator": {}}) == {"anyOf": [TEXT, {"type": "null"}]}
    assert projected({"allOf": [TEXT], "description": "D"}) == {"type": "string", "description": "D"}
    assert projected({"const": "a"}) == {"type": "string", "const": "a"}
    assert projected({"enum": ["a", None]}) == {"type": ["string", "null"], "enum": ["a", None]}
    items = {"type": ["array", "null"], "items": TEXT}
    assert projected(items) == {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": TEXT, "properties": {}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"a": TEXT}, "patternProperties": {"^x": TEXT}, "required": ["a"]},
        {"type": "object", "properties": {"a": TEXT}},
        {"type": "object", "properties": {"a": {"anyOf": [TEXT, {"type": "null"}], "default": "x"}}},
        {"type": "array"},
        {"type": "array", "prefixItems": [TEXT]},
        {"allOf": [TEXT, {"minLength": 1}]},
        {"anyOf": [TEXT], "properties": {"a": TEXT}},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/missing"},
        {"type": "unheard-of"},
        {"type": 7},
        {"enum": [{}]},
        {"not": TEXT},
        {},
        True,
        None,
        7,
    ],
)
def test_what_has_no_strict_form_has_none(schema):
    assert projected(schema) is None


def test_a_key_may_be_left_out_where_null_says_the_same():
    optional = {"anyOf": [TEXT, {"type": "null"}], "default": None}
    form = strict_schema({"type": "object", "properties": {"a": TEXT, "b": optional}, "required": ["a"]})
    assert form is not None
    assert form["required"] == ["a", "b"]
    assert form["properties"]["b"] == {"anyOf": [TEXT, {"type": "null"}]}


def test_definitions_and_recursion_stay():
    schema = {
        "type": "object",
        "properties": {"child": {"anyOf": [{"$ref": "#/$defs/Node", "description": "D"}, {"type": "null"}]}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}},
    }
    form = strict_schema(schema)
    assert form is not None
    assert form["properties"]["child"] == {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
    assert form["$defs"]["Node"]["properties"] == {"next": {"$ref": "#"}}
    assert form["$defs"]["Node"]["additionalProperties"] is False


class Line(BaseModel):
    article: str
    count: int


class Order(BaseModel):
    """An order."""

    number: str
    state: Literal["open", "sent"]
    lines: list[Line]
    note: str | None = None


def test_a_pydantic_model_has_a_strict_form_that_its_values_satisfy():
    form = strict_schema(Order.model_json_schema())
    assert form is not None
    order = Order(number="1", state="open", lines=[Line(article="a", count=1)])
    jsonschema_rs.validator_for(form).validate(order.model_dump())


def test_a_model_with_a_default_has_none():
    class WithDefault(BaseModel):
        limit: int = 10

    assert strict_schema(WithDefault.model_json_schema()) is None


def test_a_root_gets_what_tools_need():
    assert object_schema({}) == {"type": "object", "properties": {}}
    assert object_schema({"type": "object"}) == {"type": "object", "properties": {}}
    full = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False}
    assert object_schema(full) == full


def test_a_root_that_is_a_union_offers_the_keys_of_all_branches():
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
            {"$ref": "#/$defs/B"},
            True,
        ],
        "allOf": [{"properties": {"c": TEXT}, "required": ["c"]}],
        "$defs": {"B": {"type": "object", "properties": {"b": TEXT}}},
    }
    assert object_schema(schema) == {
        "type": "object",
        "properties": {"c": TEXT, "a": TEXT, "b": TEXT},
        "required": ["c"],
        "$defs": schema["$defs"],
    }


def test_a_root_that_is_a_reference_is_what_it_points_to():
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}}}
    assert object_schema(schema) == {**schema["$defs"]["A"], "$defs": schema["$defs"]}
    assert object_schema({"$ref": "https://example.com"}) == {"type": "object", "properties": {}}


def test_references_in_a_circle_end():
    circle = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    assert strict_schema(circle) is None
    assert object_schema(circle)["properties"] == {}


schema_keys = st.sampled_from(
    ["type", "properties", "required", "anyOf", "oneOf", "allOf", "items", "$ref", "$defs", "enum", "const", "default"]
)
schema_leaves = st.sampled_from(["object", "string", "null", "#", "#/$defs/a", "a", True, None, 7]) | json_objects
schema_like = st.recursive(
    schema_leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(schema_keys | st.just("a"), inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(schema_keys, schema_like, max_size=6))
def test_nothing_that_looks_like_a_schema_breaks_it_or_is_changed(schema):
    before = copy.deepcopy(schema)
    strict_schema(schema)
    assert object_schema(schema)["type"] == "object"
    assert schema == before


def test_references_give_way_to_what_they_point_to():
    code = {"type": "string", "description": "A code"}
    schema = {"properties": {"a": {"$ref": "#/$defs/Code", "description": "This one"}}, "$defs": {"Code": code}}
    assert without_references(schema) == {"properties": {"a": {"type": "string", "description": "This one"}}}
    assert schema["$defs"] == {"Code": code}


def test_a_reference_in_circles_or_to_nowhere_is_any_object():
    schema = {"$ref": "#/$defs/Tree", "$defs": {"Tree": {"properties": {"left": {"$ref": "#/$defs/Tree"}}}}}
    assert without_references(schema) == {"properties": {"left": {"type": "object"}}}
    assert without_references({"items": {"$ref": "https://a.example/b"}}) == {"items": {"type": "object"}}


def test_all_of_is_joined_into_the_schema_around_it():
    branches = [{"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]
    assert joined_all_of({"description": "d", "required": ["b"], "allOf": branches}) == {
        "type": "object",
        "description": "d",
        "properties": {"a": {}, "b": {}},
        "required": ["b", "a"],
    }
