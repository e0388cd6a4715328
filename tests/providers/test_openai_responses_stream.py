"""Streamed Responses answers."""

import json

import pytest

from llm_foundation.chat import ToolCallDelta, Usage
from tests.providers.builders import answered, calls_of, reasoning_of, streamed, text_of
from tests.providers.responses_builders import (
    ADAPTER,
    called,
    delta,
    end,
    events,
    output,
    said,
    streaming,
    thought,
    written,
)

USAGE = {"input_tokens": 3, "output_tokens": 2}
REFUSED = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "refusal", "refusal": "I will not."}],
}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed"}


@pytest.mark.parametrize(
    "items",
    [
        [said("Hello! 🙂 Grüße")],
        [thought(summary=("I look.", "I see.")), said("Hello!")],
        [thought(content=[{"type": "reasoning_text", "text": "hm ü"}]), said("x")],
        [thought(), called(arguments='{"number":"ü"}')],
        [said("I look."), called(arguments='{"a":1}', call_id="a"), called(arguments="{}", call_id="b")],
        [thought("g1"), called(call_id="a"), thought("g2", id="rs_2"), called(call_id="b")],
        [written("write_sql", 'SELECT "ü"\n')],
        [written("write_sql", "")],
        [SEARCH, said("x")],
        [REFUSED],
        [],
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(items, size):
    stream = events(*streaming(*items), end(*items, usage=USAGE))
    told, response = streamed(ADAPTER, stream, size=size)
    assert response == answered(ADAPTER, output(*items, usage=USAGE))
    assert (text_of(told), reasoning_of(told)) == (response.content, response.reasoning or "")
    assert [(id, name, json.loads(written or "{}")) for id, name, written in calls_of(told)] == [
        (made.id, made.name, made.arguments) for made in response.tool_calls
    ]


def test_text_is_told_as_it_arrives():
    told, response = streamed(ADAPTER, events(*streaming(said("Hello!"), size=4), end(said("Hello!"), usage=USAGE)))
    assert [event.text for event in told] == ["Hell", "o!"]
    assert response.usage == Usage(input_tokens=3, output_tokens=2)


def test_free_text_is_told_as_the_json_of_its_one_argument():
    item = written("write_sql", 'a"b')
    told, _ = streamed(ADAPTER, events(*streaming(item, size=2), end(item)))
    pieces = [event.arguments for event in told if isinstance(event, ToolCallDelta)]
    assert pieces == ['{"input":"a\\"', "b", '"}']


def test_the_encrypted_content_of_a_done_item_is_kept_and_not_that_of_the_end():
    stream = events(*streaming(thought("gFirst"), said("x")), end(thought("gSecond"), said("x")))
    state = streamed(ADAPTER, stream)[1].provider_state
    assert [item.get("encrypted_content") for item in state.items] == ["gFirst", None]


def test_an_end_without_output_counts_what_the_events_told():
    items = [thought(), said("I look."), called(arguments='{"a":1}')]
    whole = answered(ADAPTER, output(*items))
    assert streamed(ADAPTER, events(*streaming(*items), end()))[1] == whole
    bare = {"status": "completed", "id": "resp_1", "model": "gpt-5-2025-08-07"}
    assert streamed(ADAPTER, events(*streaming(*items), ("completed", {"response": bare})))[1] == whole


def test_the_end_tells_of_items_that_no_event_told():
    tools = {"id": "mcpl_1", "type": "mcp_list_tools", "tools": []}
    late = [("output_item.done", {"output_index": 1, "item": said("x")}), end(tools, said("x"))]
    told, response = streamed(ADAPTER, events(*late))
    assert text_of(told) == "x"
    assert [item["type"] for item in response.provider_state.items] == ["mcp_list_tools", "message"]


def test_reasoning_that_was_never_done_is_not_kept():
    added = ("output_item.added", {"output_index": 0, "item": thought("gHalf", status="in_progress")})
    response = streamed(ADAPTER, events(added, *streaming(said("x"))[1:], end()))[1]
    assert (response.content, response.provider_state) == ("x", None)


def test_places_may_have_gaps_that_the_end_does_not_have():
    first, second = said("a", phase="commentary"), said("b", id="msg_2")
    told = [("output_item.done", {"output_index": place, "item": item}) for place, item in ((0, first), (2, second))]
    response = streamed(ADAPTER, events(*told, end(first, second)))[1]
    assert response.content == "ab"
    assert len(response.provider_state.items) == 2


def test_ids_of_items_may_change_from_event_to_event():
    item = said("Hello")
    changed = [
        (kind, json.loads(json.dumps(fields).replace("msg_1", f"msg_{place}")))
        for place, (kind, fields) in enumerate(streaming(item, size=2))
    ]
    told, response = streamed(ADAPTER, events(*changed, end(said("Hello", id="msg_end"))))
    assert text_of(told) == response.content == "Hello"


def test_the_whole_text_counts_where_no_pieces_came():
    place = {"output_index": 0, "item_id": "msg_1"}
    silent = [
        ("output_item.added", {"output_index": 0, "item": said("", status="in_progress")}),
        ("output_text.done", place | {"content_index": 0, "text": "x"}),
    ]
    told, response = streamed(ADAPTER, events(*silent, end()))
    assert text_of(told) == response.content == "x"
    added = ("output_item.added", {"output_index": 0, "item": called(arguments="", status="in_progress")})
    whole = ("function_call_arguments.done", {"output_index": 0, "arguments": '{"a":1}'})
    told, response = streamed(ADAPTER, events(added, whole, end()))
    assert calls_of(told) == [("call_1", "find_order", '{"a":1}')]
    assert response.tool_calls[0].arguments == {"a": 1}


def test_a_name_may_come_late():
    added = (
        "output_item.added",
        {"output_index": 0, "item": {"type": "function_call", "call_id": "a", "arguments": ""}},
    )
    piece = ("function_call_arguments.delta", {"output_index": 0, "delta": '{"n":'})
    done = ("output_item.done", {"output_index": 0, "item": called("ping", '{"n":1}', call_id="a")})
    told, response = streamed(ADAPTER, events(added, piece, done, end()))
    assert calls_of(told) == [("a", "ping", '{"n":1}')]
    assert response.tool_calls[0].arguments == {"n": 1}


def test_pieces_without_a_place_go_to_their_item_or_to_the_last_of_its_kind():
    added = [("output_item.added", {"item": called(call_id=id, arguments="", id=id)}) for id in ("a", "b")]
    pieces = [
        ("function_call_arguments.delta", {"item_id": "a", "delta": '{"n":1}'}),
        ("function_call_arguments.delta", {"delta": '{"n":2}'}),
    ]
    response = streamed(ADAPTER, events(*added, *pieces, end()))[1]
    assert [(made.id, made.arguments) for made in response.tool_calls] == [("a", {"n": 1}), ("b", {"n": 2})]


def test_all_items_at_one_place_are_items_of_their_own():
    told = []
    for id in ("a", "b"):
        told.append(("output_item.added", {"output_index": 0, "item": called(call_id=id, arguments="")}))
        told.append(("function_call_arguments.delta", {"output_index": 0, "delta": "{}"}))
        told.append(("output_item.done", {"output_index": 0, "item": called(call_id=id)}))
    assert [made.id for made in streamed(ADAPTER, events(*told, end()))[1].tool_calls] == ["a", "b"]


def test_an_item_that_is_done_twice_is_one_item():
    done = ("output_item.done", {"output_index": 0, "item": called(arguments='{"a":1}')})
    told, response = streamed(ADAPTER, events(done, done, end()))
    assert calls_of(told) == [("call_1", "find_order", '{"a":1}')]
    assert len(response.tool_calls) == 1


def test_events_that_nobody_knows_say_nothing():
    odd = [("web_search_call.searching", {"output_index": 0}), ("mcp_call.failed", {"error": "x"}), ("audio.delta", {})]
    assert streamed(ADAPTER, events(*odd, *streaming(said("x")), end(said("x"))))[1].content == "x"


def test_comments_pings_and_a_last_word_change_nothing():
    stream = (
        b": ping\n\nevent: ping\ndata: {}\n\n" + events(*streaming(said("x")), end(said("x"))) + b"data: [DONE]\n\n"
    )
    assert streamed(ADAPTER, stream)[1].content == "x"


def test_an_event_may_have_its_name_beside_the_data_only():
    stream = events(*streaming(said("x")), end(said("x")))
    lines = [line for line in stream.decode().split("\n") if line]
    bare = "".join(
        f"{name}\ndata: {json.dumps({k: v for k, v in json.loads(data[6:]).items() if k != 'type'})}\n\n"
        for name, data in zip(lines[::2], lines[1::2], strict=True)
    )
    assert streamed(ADAPTER, bare.encode())[1].content == "x"


@pytest.mark.parametrize("size", [None, 1])
def test_an_answer_in_one_piece_although_a_stream_was_asked_for_is_read(size):
    told, response = streamed(ADAPTER, b" \n" + json.dumps(output(said("x"))).encode(), size=size)
    assert (told, response.content) == ([], "x")


def test_halves_of_a_surrogate_pair_in_two_pieces_are_one_character():
    added = ("output_item.added", {"output_index": 0, "item": said("", status="in_progress")})
    halves = [delta("a\ud83d"), delta("\ude42b")]
    told, response = streamed(ADAPTER, events(added, *halves, end()))
    assert text_of(told) == response.content == "a🙂b"
    told, response = streamed(ADAPTER, events(added, delta("a\ud83d"), end()))
    assert text_of(told) == response.content == "a\ufffd"
