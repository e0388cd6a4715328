"""Calls, in all the shapes in which they come: whole and in pieces."""

import re
from typing import Any

import pytest

from llm_foundation.chat import ChatMessage, FinishReason, ToolCall
from llm_foundation.exceptions import InvalidResponse
from tests.providers.builders import (
    answered,
    call,
    calls_of,
    chunks,
    completion,
    function,
    make_adapter,
    make_request,
    streamed,
)

ADAPTER = make_adapter()
OWN_ID = re.compile(r"call_[0-9a-f]{24}")


def whole(*entries: Any, finish: str = "tool_calls", request=None) -> tuple[ToolCall, ...]:
    return answered(
        ADAPTER, completion({"content": None, "tool_calls": list(entries)}, finish=finish), request=request
    ).tool_calls


def pieces(*deltas: Any, finish: str | None = "tool_calls", request=None) -> tuple[ToolCall, ...]:
    """The calls of a stream; each delta is the list of its calls."""
    stream = chunks(*({"tool_calls": entries} for entries in deltas), finish=finish)
    events, response = streamed(ADAPTER, stream, request=request)
    assert [(id, name) for id, name, _ in calls_of(events)] == [(c.id, c.name) for c in response.tool_calls]
    return response.tool_calls


def piece(arguments: Any = None, *, index: Any = 0, id: Any = None, name: Any = None) -> dict[str, Any]:
    written = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    function = {key: value for key, value in written["function"].items() if value is not None}
    return {key: value for key, value in written.items() if value is not None} | {"function": function}


def read(calls: tuple[ToolCall, ...]) -> list[tuple[str, str, Any]]:
    """Each call's id, name and arguments; of an invalid one the raw text."""
    return [(c.id, c.name, dict(c.arguments) if c.invalid_arguments is None else c.invalid_arguments) for c in calls]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"n": 1}', {"n": 1}),
        ({"n": 1}, {"n": 1}),
        ("", {}),
        ("  \n", {}),
        (None, {}),
        ("{}", {}),
        ('{"n": "a\nb"}', {"n": "a\nb"}),
        ('{"n": ', '{"n": '),
        ("[1]", "[1]"),
        ("null", "null"),
        ([1], "[1]"),
        (7, "7"),
        ('{"n": NaN}', '{"n": NaN}'),
        ('{"INVALID_JSON": "{"}', "{"),
    ],
)
def test_arguments_come_as_text_as_object_or_not_at_all(arguments, expected):
    [(_, _, got)] = read(whole(function("ping", arguments, id="a")))
    assert got == expected
    if isinstance(arguments, str):
        assert read(pieces([piece(arguments, id="a", name="ping")])) == [("a", "ping", expected)]


@pytest.mark.parametrize("depth", [70, 900, 950, 980, 990])
def test_an_object_that_nests_too_deeply_is_invalid_or_the_answer_unreadable(depth):
    nested = '{"a":' * depth + "{}" + "}" * depth
    body = (
        f'{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"p","arguments":{nested}}}}}]}}}}]}}'
    )
    try:
        [made] = answered(ADAPTER, body.encode()).tool_calls
    except InvalidResponse:
        return
    assert made.invalid_arguments is not None


def test_a_missing_arguments_key_means_none():
    assert read(whole({"id": "a", "function": {"name": "ping"}})) == [("a", "ping", {})]


@pytest.mark.parametrize("entry", [{"id": ""}, {"id": None}, {"id": "  "}, {"id": 7}, {}])
def test_a_missing_or_blank_id_becomes_one_of_ours(entry):
    [made] = whole(function("ping", "{}") | entry)
    assert OWN_ID.fullmatch(made.id)


def test_a_repeated_id_in_a_turn_becomes_one_of_ours():
    first, second = whole(function("ping", "{}", id="0"), function("ping", "{}", id="0"))
    assert first.id == "0"
    assert OWN_ID.fullmatch(second.id)


def test_an_id_that_the_conversation_already_has_becomes_one_of_ours():
    request = make_request(ChatMessage.assistant_tool_calls([call(id="call_0")]))
    [made] = whole(function("ping", "{}", id="call_0"), request=request)
    assert OWN_ID.fullmatch(made.id)
    [made] = pieces([piece("{}", id="call_0", name="ping")], request=request)
    assert OWN_ID.fullmatch(made.id)


def test_a_call_without_a_name_is_no_call():
    placeholder = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    assert whole(placeholder) == ()
    body = completion({"content": "4", "function_call": {"name": "", "arguments": ""}, "tool_calls": None})
    assert answered(ADAPTER, body).tool_calls == ()


def test_a_call_that_has_arguments_but_no_name_is_counted():
    response = answered(ADAPTER, completion({"content": "", "tool_calls": [function("", '{"a":1}', id="x")]}))
    assert (response.tool_calls, response.metadata) == ((), {"calls_without_name": 1})


def test_the_older_form_is_a_call_without_an_id():
    body = completion({"content": None, "function_call": {"name": "ping", "arguments": "{}"}}, finish="function_call")
    response = answered(ADAPTER, body)
    [made] = response.tool_calls
    assert (made.name, response.finish_reason) == ("ping", FinishReason.TOOL_CALLS)
    assert OWN_ID.fullmatch(made.id)
    stream = chunks({"function_call": {"name": "ping", "arguments": '{"a"'}}, {"function_call": {"arguments": ":1}"}})
    assert [(c.name, c.arguments) for c in streamed(ADAPTER, stream)[1].tool_calls] == [("ping", {"a": 1})]


def test_the_input_of_a_custom_tool_is_text():
    custom = {"id": "a", "type": "custom", "custom": {"name": "sum", "input": '4 + "4"\n'}}
    assert read(whole(custom)) == [("a", "sum", {"input": '4 + "4"\n'})]
    stream = pieces(
        [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sum", "input": '4 + "'}}],
        [{"index": 0, "custom": {"input": '4"\n'}}],
    )
    assert read(stream) == [("a", "sum", {"input": '4 + "4"\n'})]


def test_a_function_with_an_empty_custom_placeholder_is_a_function():
    entry = function("ping", '{"a":1}', id="a", custom={"name": "", "input": ""})
    assert read(whole(entry)) == [("a", "ping", {"a": 1})]


def test_an_invented_wrapper_stays_what_the_model_said():
    wrapped = {"name": "find_order", "arguments": {"number": "1"}}
    assert read(whole(function("tool_call", wrapped, id="a"))) == [("a", "tool_call", wrapped)]


def test_arguments_cut_by_the_token_limit_are_invalid():
    assert read(whole(function("ping", '{"a": [1, 2', id="a"), finish="length")) == [("a", "ping", '{"a": [1, 2')]


def test_a_last_call_of_a_cut_turn_without_arguments_is_invalid_for_they_may_be_missing():
    cut = whole(function("ping", "", id="a"), function("refund", "", id="b"), finish="length")
    assert read(cut) == [("a", "ping", {}), ("b", "refund", "")]
    assert read(pieces([piece("", id="a", name="refund")], finish="length")) == [("a", "refund", "")]


def test_a_whole_call_of_a_cut_turn_is_whole():
    assert read(whole(function("ping", '{"a":1}', id="a"), finish="length")) == [("a", "ping", {"a": 1})]


def test_arguments_are_joined_until_the_stream_ends():
    joined = pieces([piece("", id="a", name="ping")], [piece("{")], [piece('"a":{}')], [piece(',"b":1}')])
    assert read(joined) == [("a", "ping", {"a": {}, "b": 1})]


def test_null_arguments_before_the_text_are_nothing():
    start = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": None}}
    assert read(pieces([start], [piece('{"a":1}')])) == [("a", "ping", {"a": 1})]


def test_a_name_and_an_id_in_every_delta_are_set_once():
    repeated = [[piece(text, id="a", name="ping")] for text in ("{", '"a"', ":1}")]
    assert read(pieces(*repeated)) == [("a", "ping", {"a": 1})]


def test_a_name_in_every_delta_without_an_id_is_set_once():
    repeated = [[piece(text, name="ping")] for text in ("{", '"a"', ":1}")]
    assert [(name, got) for _, name, got in read(pieces(*repeated))] == [("ping", {"a": 1})]


def test_parallel_calls_are_told_apart_by_index():
    both = pieces(
        [piece("", index=0, id="a", name="ping"), piece("", index=1, id="b", name="pong")],
        [piece('{"a"', index=0)],
        [piece('{"b"', index=1)],
        [piece(":1}", index=0), piece(":2}", index=1)],
    )
    assert read(both) == [("a", "ping", {"a": 1}), ("b", "pong", {"b": 2})]


def test_an_index_may_start_anywhere_and_have_gaps():
    both = pieces([piece('{"a":1}', index=3, id="a", name="ping")], [piece('{"b":2}', index=7, id="b", name="ping")])
    assert read(both) == [("a", "ping", {"a": 1}), ("b", "ping", {"b": 2})]


def test_without_an_index_a_new_id_opens_a_call_and_other_pieces_go_on_with_it():
    both = pieces(
        [piece('{"a"', index=None, id="a", name="ping")],
        [piece(":1}", index=None)],
        [piece('{"b":2}', index=None, id="b", name="ping")],
    )
    assert read(both) == [("a", "ping", {"a": 1}), ("b", "ping", {"b": 2})]


def test_without_an_index_or_an_id_a_new_name_opens_a_call():
    both = pieces([piece("{}", index=None, name="ping")], [piece("{}", index=None, name="pong")])
    assert [(name, got) for _, name, got in read(both)] == [("ping", {}), ("pong", {})]


def test_two_calls_in_one_chunk_are_two_calls():
    both = pieces([piece('{"a":1}', index=None, name="ping"), piece('{"a":2}', index=None, name="ping")])
    assert [got for _, _, got in read(both)] == [{"a": 1}, {"a": 2}]
    both = pieces([piece('{"a":1}', index=0, name="ping"), piece('{"a":2}', index=0, name="ping")])
    assert [got for _, _, got in read(both)] == [{"a": 1}, {"a": 2}]


def test_parallel_calls_that_all_have_index_0_are_told_apart_by_id():
    both = pieces(
        [piece("", index=0, id="a", name="ping")],
        [piece('{"a":1}', index=0)],
        [piece("", index=0, id="b", name="ping")],
        [piece('{"b":2}', index=0)],
    )
    assert read(both) == [("a", "ping", {"a": 1}), ("b", "ping", {"b": 2})]


def test_interleaved_pieces_at_one_index_find_their_call_by_id():
    both = pieces(
        [piece('{"a"', index=0, id="a", name="ping")],
        [piece('{"b"', index=0, id="b", name="pong")],
        [piece(":1}", index=0, id="a")],
        [piece(":2}", index=0, id="b")],
    )
    assert read(both) == [("a", "ping", {"a": 1}), ("b", "pong", {"b": 2})]


def test_a_second_object_that_a_name_announces_is_a_second_call():
    both = pieces([piece('{"q":"A"}', name="search")], [piece('{"q":"B"}', name="search")])
    assert [got for _, _, got in read(both)] == [{"q": "A"}, {"q": "B"}]


def test_two_objects_in_one_call_are_invalid_and_not_guessed():
    assert read(pieces([piece('{"q":"A"}', id="a", name="search")], [piece('{"q":"B"}')])) == [
        ("a", "search", '{"q":"A"}{"q":"B"}')
    ]


def test_an_id_that_comes_late_changes_nothing_that_was_already_told():
    [made] = pieces([piece("{", name="ping")], [piece("}", id="late")])
    assert OWN_ID.fullmatch(made.id)
    assert made.arguments == {}


def test_arguments_before_the_name_wait_for_it():
    stream = chunks({"tool_calls": [piece('{"a":')]}, {"tool_calls": [piece("1}", id="a", name="ping")]})
    events, _ = streamed(ADAPTER, stream)
    assert calls_of(events) == [("a", "ping", '{"a":1}')]


def test_events_tell_the_arguments_as_they_come():
    stream = chunks(
        {"tool_calls": [piece("", id="a", name="ping")]},
        {"tool_calls": [piece('{"ä":')]},
        {"tool_calls": [piece("1}")]},
    )
    events, _ = streamed(ADAPTER, stream)
    assert [(event.type, getattr(event, "arguments", None)) for event in events] == [
        ("tool_call_started", None),
        ("tool_call_delta", '{"ä":'),
        ("tool_call_delta", "1}"),
    ]


@pytest.mark.parametrize(
    "entries", [None, {}, "x", 7, [None], ["x"], [[]], [{}], [{"function": 7}], [{"function": None}]]
)
def test_calls_of_no_known_shape_are_passed_over(entries):
    response = answered(ADAPTER, completion({"content": "x", "tool_calls": entries}))
    assert (response.content, response.tool_calls) == ("x", ())
