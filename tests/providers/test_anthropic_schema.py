"""JSON Schema in the dialect that Anthropic enforces."""

import pytest

from llm_foundation.providers.anthropic.schema import Allowance, enforced_schema


def enforced(**properties):
    """The properties of an object in the dialect, and what is counted in it."""
    found = enforced_schema({"type": "object", "properties": properties, "required": list(properties)})
    assert found is not None
    return found.schema["properties"], found.optional, found.unions


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (TEXT, TEXT),
        (
            {"type": "integer", "minimum": 0, "maximum": 9},
            {"type": "integer", "description": "(minimum: 0, maximum: 9)"},
        ),
        (
            {"type": "number", "multipleOf": 5, "description": "In steps."},
            {"type": "number", "description": "In steps. (multipleOf: 5)"},
        ),
        (
            {"type": "array", "items": TEXT, "maxItems": 3},
            {"type": "array", "items": TEXT, "description": "(maxItems: 3)"},
        ),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "description": "(pattern: ^a)"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        (
            {"type": "array", "items": {"type": "integer", "minimum": 1}},
            {"type": "array", "items": {"type": "integer", "description": "(minimum: 1)"}},
        ),
    ],
)
def test_what_the_dialect_cannot_say_of_a_value_is_told_in_words(given, expected):
    assert enforced(value=given)[0] == {"value": expected}


def test_objects_are_closed_and_keys_may_be_left_out():
    found = enforced_schema({"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["b"]})
    assert found.schema == {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "required": ["b"],
        "additionalProperties": False,
    }
    assert (found.optional, found.unions) == (1, 0)


def test_a_property_may_be_called_like_a_keyword():
    assert enforced(minimum={"type": "integer", "minimum": 1}, items=TEXT)[0] == {
        "minimum": {"type": "integer", "description": "(minimum: 1)"},
        "items": TEXT,
    }


def test_references_stay_and_their_definitions_are_projected():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Size"}, "b": {"$ref": "#/$defs/Size"}},
        "required": ["a", "b"],
        "$defs": {"Size": {"type": "integer", "minimum": 1}},
    }
    assert enforced_schema(schema).schema["$defs"] == {"Size": {"type": "integer", "description": "(minimum: 1)"}}
    assert enforced_schema(schema).schema["properties"]["a"] == {"$ref": "#/$defs/Size"}


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": NODE}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {
                "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
                "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
            },
        },
        {"type": "object", "properties": {"self": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://x.example/a.json"}}},
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "properties": {"any": {}}},
        {"type": "object", "properties": {"free": {"type": "object"}}},
        {"type": "string"},
        {},
    ],
)
def test_what_cannot_be_enforced_has_no_form(schema):
    assert enforced_schema(schema) is None


def test_unions_are_counted_however_they_are_written():
    assert enforced(a={"anyOf": [TEXT, {"type": "null"}]}, b={"type": ["string", "null"]}, c=TEXT)[2] == 2


def test_an_allowance_is_used_up():
    wide = enforced_schema({"type": "object", "properties": {str(n): TEXT for n in range(20)}})
    small = enforced_schema({"type": "object", "properties": {"a": TEXT}})
    allowance = Allowance()
    assert [allowance.grants(schema) for schema in (wide, wide, small, None)] == [True, False, True, False]


def test_the_given_schema_stays_as_it_is():
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
    enforced_schema(schema)
    assert schema["properties"]["a"] == {"type": "integer", "minimum": 1}
