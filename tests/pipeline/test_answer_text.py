"""The JSON object in what a model wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.pipeline.answer_text import object_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('  \n{"a": 1}\n', {"a": 1}),
        ('Sure!\n```json\n{"a": 1}\n```', {"a": 1}),
        ('Sure!\r\n```\r\n{"a": 1}\r\n```', {"a": 1}),
        ('Sure! {"a": {"b": "}"}} and {"c": 2}', {"a": {"b": "}"}}),
        ('{"a": "say \\"{\\" twice"} indeed', {"a": 'say "{" twice'}),
        ('{a}, {b} {"c": 1}', {"c": 1}),
        ('{"code": "```\\n{}\\n```"} done', {"code": "```\n{}\n```"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": "half \\ud83d"}', {"a": "half \ufffd"}),
    ],
)
def test_it_is_found(text: str, found: dict[str, object]) -> None:
    result = object_in(text)
    assert result is not None
    assert result == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No.",
        "[1, 2]",
        "null",
        '{"a": 1',
        '{"a": {"a": 1}, oops}',
        '{"a": NaN}',
        '{"a": 1e999}',
        'As in {"a": 1}:\n```json\n{"a": 2\n```',
        '{"a":' * 100_000,
        "{" * 100_000 + '\\"' * 100_000,
    ],
)
def test_nothing_is_made_up(text: str) -> None:
    assert object_in(text) is None


@given(st.text(alphabet='{}"\\`\n ,:ab1', max_size=200))
def test_whatever_is_written_nothing_but_an_object_comes_out(text: str) -> None:
    found = object_in(text)
    assert found is None or isinstance(found, dict)


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text(), max_size=3), max_size=4),
    st.text(alphabet="abc .!\n"),
)
def test_any_object_is_found_between_words(value: dict[str, object], words: str) -> None:
    found = object_in(f"{words}{json.dumps(value)}{words}")
    assert found is not None
    assert found == value
