import pytest

from llm_foundation.admin.shown_arguments import one_line, shown_arguments
from llm_foundation.chat.tool_calls import ToolCall


def call(**arguments):
    return ToolCall(id="1", name="pay", arguments=arguments)


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        ("20.00", "text, 5 characters", "20.00"),
        ("x", "text, 1 character", "x"),
        ("", "text, 0 characters", ""),
        (20, "whole number", "20"),
        (20.0, "number", "20.0"),
        (True, "yes or no", "true"),
        (None, "nothing", "null"),
        ([], "list, 0 entries", "[]"),
        (["ä"], "list, 1 entry", "[\n  &quot;ä&quot;\n]"),
        ({"a": 1, "b": 2}, "object, 2 entries", "{\n  &quot;a&quot;: 1,\n  &quot;b&quot;: 2\n}"),
    ],
)
def test_a_value_is_shown_with_its_type(value, kind, written):
    (shown,) = shown_arguments(call(amount=value), None)
    assert (shown.kind, shown.value.html) == (kind, written)


def test_hidden_characters_in_names_and_inside_of_objects_are_counted_too():
    (shown,) = shown_arguments(call(**{"to\u200b": {"a\u202e": "b\u2066"}}), None)
    assert shown.hidden == 3


def test_a_list_gets_one_short_line():
    assert one_line(call(number="1138", amount=5)).html == "number: 1138, amount: 5"
    assert one_line(call(text="long " * 100)).length == 120
    assert one_line(ToolCall(id="1", name="pay", invalid_arguments="{oops")).html == "{oops"
