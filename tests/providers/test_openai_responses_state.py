"""A provider's own context: kept from its answers, given back to it alone, refused where it is damaged."""

import json

import pytest

from llm_foundation.chat import ChatMessage
from tests.providers.builders import HELLO, answered, call, make_adapter, make_request, messages_sent, streamed
from tests.providers.responses_builders import (
    ADAPTER,
    called,
    end,
    events,
    input_sent,
    output,
    replayed,
    responses_adapter,
    results,
    said,
    streaming,
    thought,
    turn,
    written,
)

OTHER = responses_adapter(model="gpt-5-mini")
USER = {"role": "user", "content": "Hello"}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}


def stored(message: ChatMessage) -> ChatMessage:
    return ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript())))


# --- The second and the third request ---------------------------------------------------------------------------------
@pytest.mark.parametrize("keep", [lambda message: message, stored], ids=["typed", "stored"])
@pytest.mark.parametrize(
    ("items", "expected_results"),
    [
        ([thought(), said("Hello!")], []),
        ([thought(), called(arguments='{"number": "1"}')], ["call_1"]),
        ([thought(), called(call_id="a"), called(call_id="b")], ["a", "b"]),
        ([thought(), called(call_id="a"), thought("gB", id="rs_2"), called(call_id="b")], ["a", "b"]),
        ([thought(), said("I look.", phase="commentary"), called(namespace="shop")], ["call_1"]),
        ([said("Hello!", phase="final_answer")], []),
        ([SEARCH, thought(), said("It is 4.")], []),
        ([thought(content=[{"type": "reasoning_text", "text": "hm"}]), called()], ["call_1"]),
        ([{"type": "compaction", "id": "cmp_1", "encrypted_content": "gC"}, said("x")], []),
    ],
    ids=["plain", "single", "parallel", "sequential", "text", "phase", "built-in", "open", "compaction"],
)
def test_own_items_go_back_as_they_came_and_nothing_twice(items, expected_results, keep):
    message = keep(turn(*items))
    outputs = [
        {"type": "function_call_output", "call_id": id, "output": f"result {place}"}
        for place, id in enumerate(expected_results)
    ]
    assert replayed(message) == [*items, *outputs]
    assert replayed(message, adapter=ADAPTER) == replayed(stored(message))


def test_the_third_request_holds_both_turns_before_it():
    first = turn(thought("g1"), called(arguments='{"number":"1"}'))
    conversation = [HELLO, first, *results(first)]
    asked = make_request(*conversation)
    second = answered(
        ADAPTER, output(thought("g2", id="rs_2"), called("refund_order", call_id="call_2")), request=asked
    ).to_message()
    assert input_sent(ADAPTER, *map(stored, [*conversation, second, *results(second)])) == [
        USER,
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "g1"},
        {
            "id": "fc_call_1",
            "type": "function_call",
            "status": "completed",
            "arguments": '{"number":"1"}',
            "call_id": "call_1",
            "name": "find_order",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "result 0"},
        {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "g2"},
        {
            "id": "fc_call_2",
            "type": "function_call",
            "status": "completed",
            "arguments": "{}",
            "call_id": "call_2",
            "name": "refund_order",
        },
        {"type": "function_call_output", "call_id": "call_2", "output": "result 0"},
    ]


def test_the_bytes_of_a_replayed_item_are_those_of_the_answer():
    item = '{"id":"rs_1","encrypted_content":"gÄ\\u0000","type":"reasoning","summary":[],"n":1.50,"e":1e2}'
    answer = f'{{"status":"completed","output":[{item},{json.dumps(said("x"))}]}}'.encode()
    message = stored(answered(ADAPTER, answer).to_message())
    body = ADAPTER.request(make_request(HELLO, message)).body or b""
    assert (
        '{"id":"rs_1","encrypted_content":"gÄ\\u0000","type":"reasoning","summary":[],"n":1.5,"e":100.0}'.encode()
        in body
    )


@pytest.mark.parametrize(
    "items", [[thought(), said("x")], [thought(), said("I look."), called()], [written("sql", "x")]]
)
def test_context_of_a_stream_is_that_of_the_whole_answer(items):
    message = streamed(ADAPTER, events(*streaming(*items), end(*items)), size=3)[1].to_message()
    assert message == turn(*items)


def test_a_custom_tool_gets_its_result_in_its_own_form():
    items = [written("write_sql", "SELECT 1", call_id="a"), called(call_id="b")]
    assert replayed(turn(*items)) == [
        *items,
        {"type": "custom_tool_call_output", "call_id": "a", "output": "result 0"},
        {"type": "function_call_output", "call_id": "b", "output": "result 1"},
    ]


def test_an_answer_that_is_empty_is_not_an_answer_without_a_state():
    empty = turn()
    assert empty.provider_state is not None
    assert empty.provider_state.items == ()
    assert replayed(empty) == []
    assert replayed(ChatMessage.assistant("")) == [{"role": "assistant", "content": ""}]


# --- To others, and back ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        responses_adapter(key="another"),
        responses_adapter(base_url="https://other.example/v1"),
        responses_adapter("custom", model="x"),
    ],
    ids=["model", "key", "address", "profile"],
)
def test_another_owner_gets_text_and_calls_and_no_mark_of_the_context(other):
    items = [thought(summary=("secret",)), said("I look."), called(arguments='{"number": "1"}'), SEARCH]
    assert replayed(turn(*items), adapter=other) == [
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "find_order", "arguments": '{"number":"1"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "result 0"},
    ]


def test_the_two_formats_of_one_endpoint_do_not_give_back_what_came_in_the_other():
    chat = make_adapter("openai", model="gpt-5")
    assert ADAPTER.owner != chat.owner
    ours = turn(thought(), said("I look."), called(arguments='{"number":"1"}'))
    assert messages_sent(chat, HELLO, ours, *results(ours))[1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "find_order", "arguments": '{"number":"1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "result 0"},
    ]
    body = {"choices": [{"message": {"content": "x", "reasoning_content": "hm"}, "finish_reason": "stop"}]}
    theirs = answered(chat, body).to_message()
    assert theirs.provider_state is not None
    assert replayed(theirs) == [{"role": "assistant", "content": "x"}]


def test_from_a_to_b_and_back_to_a_each_gets_its_own():
    first, second = turn(thought("gA"), said("1")), turn(thought("gB"), said("2"), adapter=OTHER)
    history = [HELLO, first, HELLO, second]
    assert input_sent(ADAPTER, *history) == [
        USER,
        thought("gA"),
        said("1"),
        USER,
        {"role": "assistant", "content": "2"},
    ]
    assert input_sent(OTHER, *history) == [USER, {"role": "assistant", "content": "1"}, USER, thought("gB"), said("2")]


def test_ids_that_the_conversation_has_already_are_replaced_on_both_sides():
    before = ChatMessage.assistant_tool_calls([call(id="call_0")])
    asked = make_request(HELLO, before)
    answer = output(thought(), called(call_id="call_0", id="fc_1"), called(call_id="", id="fc_2"))
    message = stored(answered(ADAPTER, answer, request=asked).to_message())
    ids = [made.id for made in message.tool_calls]
    assert message.provider_state.tool_call_bindings == {ids[0]: "call_0"}
    _reasoning, first, second, *outputs = replayed(message)
    assert (first["id"], first["call_id"], second["call_id"]) == ("fc_1", ids[0], ids[1])
    assert [item["call_id"] for item in outputs] == ids
    assert "call_0" not in ids


def test_one_id_for_two_calls_becomes_two():
    message = turn(called("ping", call_id="a", id="fc_1"), called("pong", call_id="a", id="fc_2"))
    first, second, one, two = replayed(message)
    assert (first["call_id"], second["call_id"]) == (one["call_id"], two["call_id"])
    assert first["call_id"] == "a" != second["call_id"]


def test_an_id_that_was_renamed_later_goes_back_renamed():
    response = answered(ADAPTER, output(thought(), called(call_id="a"))).with_unique_call_ids({"a"})
    message = response.to_message()
    _, item, result = replayed(message)
    assert item["call_id"] == result["call_id"] == message.tool_calls[0].id != "a"
