"""JSON Schema in Gemini's two dialects."""

import pytest

from llm_foundation.providers.gemini.schema import gemini_schema, openapi_schema

STRING = {"type": "string"}
TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"label": STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
}


def of(**properties):
    return {"type": "object", "properties": properties}


def test_what_google_names_stays_as_it_is():
    schema = {
        "type": "object",
        "title": "Order",
        "description": "One order.",
        "properties": {
            "number": {"type": "string", "description": "As printed.", "default": "x", "minLength": 1},
            "amount": {"type": ["number", "null"], "minimum": 0, "maximum": 9.5},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "lines": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
            "when": {"type": "string", "format": "date-time"},
            "either": {"anyOf": [STRING, {"type": "null"}]},
            "free": {"type": "object", "additionalProperties": STRING},
            "pair": {"type": "array", "prefixItems": [STRING, STRING]},
        },
        "required": ["number"],
        "additionalProperties": False,
    }
    assert gemini_schema(schema) == schema


def test_references_and_their_definitions_stay():
    assert gemini_schema(TREE) == TREE


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": 7}, {"enum": [7]}),
        ({"type": "boolean", "const": True}, {"type": "boolean"}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a"]}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMaximum": 2.5}, {"type": "integer", "maximum": 2}),
        ({"type": "number", "exclusiveMinimum": 0.5}, {"type": "number", "minimum": 0.5}),
        ({"type": "number", "exclusiveMinimum": 1, "minimum": 3}, {"type": "number", "minimum": 3}),
        ({"type": "string", "format": "uuid", "pattern": "^a"}, {"type": "string", "pattern": "^a"}),
        ({"type": "number", "format": "float"}, {"type": "number", "format": "float"}),
        ({"oneOf": [STRING, {"type": "integer"}]}, {"anyOf": [STRING, {"type": "integer"}]}),
        ({"allOf": [STRING], "description": "d"}, {"type": "string", "description": "d"}),
        (
            {"allOf": [of(a=STRING) | {"required": ["a"]}, of(b=STRING) | {"required": ["b"]}]},
            of(a=STRING, b=STRING) | {"required": ["a", "b"]},
        ),
        ({"type": "array", "uniqueItems": True, "contains": STRING, "items": True}, {"type": "array"}),
        (
            {"type": "array", "items": [STRING], "additionalItems": STRING},
            {"type": "array", "prefixItems": [STRING], "items": STRING},
        ),
        ({"type": "object", "patternProperties": {"^a": STRING}, "propertyNames": {}}, {"type": "object"}),
        ({"not": STRING, "if": STRING, "examples": ["x"], "$schema": "s", "$id": "i", "x-own": 1}, {}),
        (True, {}),
        ({"$ref": "#/definitions/A"}, {"$ref": "#/$defs/A"}),
        (
            {"$ref": "#/$defs/A", "description": "d", "default": None},
            {"description": "d", "anyOf": [{"$ref": "#/$defs/A"}]},
        ),
    ],
)
def test_what_it_does_not_name_is_said_otherwise_or_left_out(given, expected):
    assert gemini_schema(of(x=given)) == of(x=expected)


def test_older_definitions_are_renamed():
    assert gemini_schema({**of(x={"$ref": "#/definitions/A"}), "definitions": {"A": STRING}}) == {
        **of(x={"$ref": "#/$defs/A"}),
        "$defs": {"A": STRING},
    }


def test_a_root_that_is_a_reference_becomes_what_it_refers_to():
    node = TREE["$defs"]["Node"]
    assert gemini_schema({"$ref": "#/$defs/Node", "$defs": {"Node": node}}) == {**node, "$defs": {"Node": node}}


def test_properties_may_be_called_like_keywords():
    odd = of(**{"$ref": STRING, "$defs": STRING, "definitions": STRING, "const": STRING, "allOf": STRING})
    assert gemini_schema(odd) == odd
    assert openapi_schema(odd) == odd


def test_the_given_schema_never_changes():
    given = of(x={"type": "string", "const": "a"}, y={"$ref": "#/definitions/A"})
    given["definitions"] = {"A": STRING}
    before = repr(given)
    gemini_schema(given)
    openapi_schema(given)
    assert repr(given) == before


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [STRING, {"type": "integer"}]}),
        (
            {"anyOf": [STRING, {"type": "null"}], "description": "d"},
            {"type": "string", "description": "d", "nullable": True},
        ),
        (
            {"anyOf": [STRING, {"type": "integer"}, {"type": "null"}]},
            {"anyOf": [STRING, {"type": "integer"}], "nullable": True},
        ),
        ({"type": "null"}, {"type": "null"}),
        ({"type": "array"}, {"type": "array", "items": STRING}),
        ({"type": "array", "prefixItems": [STRING]}, {"type": "array", "items": STRING}),
        ({"type": "object", "additionalProperties": False}, {"type": "object"}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "format": "date"}, STRING),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"$ref": "#/$defs/A", "description": "d"}, {"type": "integer", "description": "d"}),
        ({"$ref": "#/$defs/Missing"}, {"type": "object"}),
        ({"$ref": "https://schemas.example/a"}, {"type": "object"}),
    ],
)
def test_the_older_form_knows_less(given, expected):
    assert openapi_schema(of(x=given) | {"$defs": {"A": {"type": "integer"}}}) == of(x=expected)


def test_a_reference_that_goes_round_in_circles_ends_in_anything():
    node = of(label=STRING, children={"type": "array", "items": {"type": "object"}})
    assert openapi_schema(TREE) == of(root=node)


def test_many_references_do_not_make_an_endless_schema():
    chain = {f"D{n}": of(a={"$ref": f"#/$defs/D{n + 1}"}, b={"$ref": f"#/$defs/D{n + 1}"}) for n in range(40)}
    assert len(repr(openapi_schema({**of(x={"$ref": "#/$defs/D0"}), "$defs": chain}))) < 100_000
