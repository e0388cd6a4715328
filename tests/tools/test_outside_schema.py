"""A schema that somebody else wrote: what is accepted, what is refused, and what arguments it lets through."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.exceptions import InvalidArguments, InvalidTool
from llm_foundation.tools import (
    DataClass,
    Effect,
    Tool,
    ToolContext,
    execute,
    imported_tool,
    registry,
    validate_arguments,
)
from llm_foundation.tools.schema import check_outside_schema

LISTINGS = Path(__file__).resolve().parents[3] / "shared" / "mcp"

SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "maximum": 50},
        "labels": {"type": "array", "items": {"$ref": "#/$defs/label"}},
    },
    "required": ["query"],
    "additionalProperties": False,
    "$defs": {"label": {"type": "string", "pattern": "^[a-z]+$"}},
}


def imported(schema: dict[str, Any], **said: Any) -> Tool:
    return imported_tool(
        lambda _, arguments: arguments, parameters=schema, place="server 'github'", name="search", **said
    )


def problems_of(schema: dict[str, Any], arguments: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(imported(schema), arguments)
    return dict(caught.value.problems)


def test_the_schema_stays_as_it_was_written() -> None:
    made = imported(SEARCH, description="Search issues.", effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
    assert made.parameters == SEARCH
    assert made.definition().description == "Search issues."
    assert made.undeclared == ()


def test_an_imported_tool_is_not_registered_by_itself() -> None:
    imported(SEARCH)
    assert registry.names() == ()


def test_its_function_gets_the_context_and_one_dict() -> None:
    seen: list[Any] = []
    made = imported_tool(
        lambda context, arguments: seen.append((context.call_id, arguments)),
        parameters={"type": "object"},
        place="server 'x'",
        name="odd",
    )
    arguments = validate_arguments(made, {"context": 1, "not-a-name": 2})
    execute(made, arguments, ToolContext(call_id="call_1"))
    assert seen == [("call_1", {"context": 1, "not-a-name": 2})]


def test_arguments_that_fit_come_back_as_a_plain_copy() -> None:
    sent = {"query": "crash", "labels": ["bug"]}
    checked = validate_arguments(imported(SEARCH), sent)
    assert checked == sent
    checked["labels"].append("mine")
    assert sent["labels"] == ["bug"]


def test_each_wrong_field_is_named_with_the_reason() -> None:
    assert problems_of(SEARCH, {"limit": 99, "labels": ["bug", "UI"], "page": 2}) == {
        "query": "is required",
        "limit": "the value is greater than the maximum of 50",
        "labels[1]": 'the value does not match "^[a-z]+$"',
        "page": "unknown argument; this tool takes query, limit, labels",
    }


def test_a_tool_that_takes_nothing_says_so() -> None:
    assert problems_of({"type": "object", "additionalProperties": False}, {"q": 1}) == {
        "(arguments)": "unknown field; none is allowed here"
    }


def test_what_was_sent_is_not_repeated() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["x"]}, "b": {"type": "integer"}, "c": {"const": 1}}}
    assert "hunter2" not in str(problems_of(schema, {"a": "hunter2", "b": "hunter2", "c": "hunter2"}))


def test_what_json_cannot_say_is_refused() -> None:
    assert problems_of({"type": "object"}, {"a": float("nan")}) == {
        "(arguments)": "holds a number that JSON cannot say (NaN or infinity)"
    }


@pytest.mark.parametrize(
    "target",
    ["https://example.com/a.json", "file:///etc/passwd", "other.json", "//example.com/a", "#anchor", "urn:x:y"],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$recursiveRef"])
def test_a_reference_out_of_the_schema_is_refused(keyword: str, target: str) -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {keyword: target}]}}}
    with pytest.raises(InvalidTool, match=r"only references into itself \(#/…\) are followed"):
        imported(schema)


def test_a_property_called_ref_and_a_default_with_one_are_no_references() -> None:
    schema = {
        "type": "object",
        "properties": {
            "$ref": {"type": "string"},
            "b": {"default": {"$ref": "https://example.com"}},
            "$id": {"type": "string"},
        },
    }
    assert check_outside_schema(schema) == schema


@pytest.mark.parametrize(("draft", "keyword"), [("draft/2020-12/schema", "$id"), ("draft-04/schema#", "id")])
def test_a_part_with_an_id_of_its_own_is_refused(draft: str, keyword: str) -> None:
    prefix = "http" if keyword == "id" else "https"
    part = {keyword: "https://example.com/a", "type": "string"}
    schema = {"$schema": f"{prefix}://json-schema.org/{draft}", "type": "object", "properties": {"a": part}}
    with pytest.raises(InvalidTool, match="of its own, so its references are ambiguous"):
        imported(schema)


def test_an_id_that_is_only_a_word_is_left_alone() -> None:
    schema = {"type": "object", "properties": {"a": {"id": "#/properties/a", "type": "string"}}}
    assert check_outside_schema(schema) == schema


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (True, "The schema must be a JSON object"),
        ([], "The schema must be a JSON object"),
        ({"type": "string"}, '"type": "object"'),
        ({}, '"type": "object"'),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "is not valid JSON Schema"),
        ({"type": "object", "properties": {"a": {"pattern": "(("}}}, 'is not a "regex"'),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/nowhere"}}}, "'/\\$defs/nowhere' does not exist"),
        ({"type": "object", "$schema": "https://example.com/my"}, "Unknown meta-schema"),
        ({"type": "object", "description": "x" * 70_000}, "longer than 65,536 characters"),
        ({"type": "object", "minProperties": float("nan")}, "NaN or infinity"),
    ],
)
def test_a_schema_that_cannot_be_validated_with_is_refused(schema: Any, problem: str) -> None:
    with pytest.raises(InvalidTool, match=problem):
        imported(schema)


def test_a_schema_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(InvalidTool, match="nested more than 64 levels"):
        imported(schema)


def test_older_drafts_are_understood() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"type": "null"}},
    }
    assert validate_arguments(imported(schema), {"a": None}) == {"a": None}


def test_a_pattern_with_look_around_works() -> None:
    schema = {"type": "object", "properties": {"mail": {"pattern": r"^(?!\.)[a-z.]+@[a-z]+\.ch$"}}}
    assert validate_arguments(imported(schema), {"mail": "a.b@c.ch"}) == {"mail": "a.b@c.ch"}
    assert "mail" in problems_of(schema, {"mail": ".a@c.ch"})


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(?=a)(a+)+\1$", r"^(?!b)(a|aa)+$(?<!c)"])
def test_a_pattern_made_to_backtrack_for_ever_ends(pattern: str) -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": pattern}}}
    assert "a" in problems_of(schema, {"a": "a" * 50_000 + "!"})


def branching(levels: int) -> dict[str, Any]:
    """Valid JSON Schema in which each level is reached twice from the one above."""
    defs: dict[str, Any] = {
        f"d{level}": {
            "anyOf": [{"allOf": [{"$ref": f"#/$defs/d{level + 1}"}]}, {"oneOf": [{"$ref": f"#/$defs/d{level + 1}"}]}]
        }
        for level in range(levels)
    }
    defs[f"d{levels}"] = {"type": "string"}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}


def test_a_schema_that_branches_into_billions_of_paths_is_refused() -> None:
    with pytest.raises(InvalidTool, match="might never end"):
        imported(branching(40))


def test_a_schema_that_branches_a_lot_is_answered_without_details() -> None:
    assert validate_arguments(imported(branching(14)), {}) == {}
    assert problems_of(branching(14), {"a": 3}) == {"(arguments)": "they do not fit the schema of this tool"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "#"},
        {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"type": "object", "$ref": "#/$defs/a%20b", "$defs": {"a b": {"not": {"$ref": "#/$defs/a%20b"}}}},
    ],
)
def test_a_schema_that_goes_round_in_one_place_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidTool, match="might never end"):
        imported(schema)


def test_a_chain_of_references_too_long_to_follow_is_refused() -> None:
    defs: dict[str, Any] = {f"d{step}": {"$ref": f"#/$defs/d{step + 1}"} for step in range(1500)}
    defs["d1500"] = {"type": "string"}
    with pytest.raises(InvalidTool, match="might never end"):
        imported({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs})


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "left": {"$ref": "#/$defs/node"},
                "right": {"$ref": "#/$defs/node"},
                "name": {"type": "string"},
            },
        }
    },
}


def nested(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"name": "leaf"}
    for _ in range(levels):
        node = {"left": node}
    return {"root": node}


def test_a_schema_that_refers_to_itself_further_down_is_welcome() -> None:
    assert validate_arguments(imported(TREE), nested(10)) == nested(10)
    assert problems_of(TREE, {"root": {"left": {"right": {"name": 3}}}}) == {
        "root.left.right.name": 'the value is not of type "string"'
    }


def test_arguments_deeper_than_such_a_schema_can_pay_for_are_refused() -> None:
    (reason,) = problems_of(TREE, nested(60)).values()
    assert reason.startswith("nested more than ")


@given(
    st.dictionaries(
        st.sampled_from(["query", "limit", "labels", "x"]),
        st.recursive(st.none() | st.integers() | st.text(st.characters()) | st.floats(), st.lists),
    )
)
def test_any_json_object_is_either_valid_or_invalid_arguments(arguments: dict[str, Any]) -> None:
    try:
        checked = validate_arguments(imported(SEARCH), arguments)
    except InvalidArguments as error:
        assert error.problems  # noqa: PT017 - either outcome is right
    else:
        assert isinstance(checked["query"], str)


@pytest.mark.skipif(not LISTINGS.is_dir(), reason="the recorded tool listings are not here")
def test_every_schema_of_the_recorded_servers_is_accepted() -> None:
    schemas = [
        entry["inputSchema"]
        for path in sorted(LISTINGS.glob("*.json"))
        for entry in json.loads(path.read_text())["tools"]
    ]
    assert len(schemas) == 229
    assert all(check_outside_schema(schema) == schema for schema in schemas)
