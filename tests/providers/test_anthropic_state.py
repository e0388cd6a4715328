"""Thinking, server tools and what else is Anthropic's own: kept from its answers, given back to it alone."""

from typing import Any

import pytest

from llm_foundation.chat import ChatMessage, FinishReason, ToolCall
from tests.providers.anthropic_builders import (
    FOUND,
    OPUS_4_8,
    REDACTED,
    SEARCH,
    THOUGHT,
    as_stream,
    assistant,
    block,
    end,
    make_claude,
    message,
    replayed,
    result,
    said,
    start,
    stream,
    text_block,
    turn,
    used,
    user,
)
from tests.providers.builders import FIND, HELLO, answered, make_adapter, make_request, messages_sent, sent, streamed

CLAUDE = make_claude()
DIRECT = {"type": "direct"}
CITED = {
    "type": "web_search_result_location",
    "url": "https://tea.example",
    "cited_text": "Tea",
    "encrypted_index": "x",
}
SECOND_THOUGHT = {"type": "thinking", "thinking": "Now?", "signature": "Mm5k"}

KEPT: dict[str, list[dict[str, Any]]] = {
    "thinking before text": [THOUGHT, said("Tea.")],
    "thinking before a call": [THOUGHT, used()],
    "text beside a call": [THOUGHT, said("I look."), used()],
    "parallel calls": [THOUGHT, used(id="1"), used("refund_order", id="2", amount=7)],
    "redacted": [REDACTED, said("Tea.")],
    "redacted and readable": [THOUGHT, REDACTED, used()],
    "thinking between calls": [THOUGHT, used(id="1"), SECOND_THOUGHT, used(id="2")],
    "thinking without text": [{"type": "thinking", "thinking": "", "signature": "c2ln"}, said("Tea.")],
    "server tools": [said("I look."), SEARCH, FOUND, said("Tea.")],
    "a citation": [{"type": "text", "text": "Tea.", "citations": [CITED]}],
    "text in two blocks": [said("Tea."), said("Green.")],
    "text after a call": [used(), said("I wait.")],
    "a call out of code": [used() | {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}],
    "a summary": [{"type": "compaction", "content": "We spoke of tea.", "encrypted_content": "eA=="}, said("Tea.")],
    "a block of tomorrow": [{"type": "novelty", "payload": [1, {"a": None}]}, said("Tea.")],
}


@pytest.mark.parametrize("stored", [False, True], ids=["typed", "stored"])
@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT)
def test_own_context_goes_back_as_it_came(content, stored):
    spoken = turn(CLAUDE, *content)
    assert spoken.provider_state is not None
    assert replayed(CLAUDE, spoken, stored=stored) == content


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT)
def test_context_of_a_stream_is_that_of_the_whole_answer(content, size):
    whole = message(*content)
    assert streamed(CLAUDE, as_stream(whole, size=size))[1] == answered(CLAUDE, whole)


PLAIN: dict[str, list[dict[str, Any]]] = {
    "text": [said("Tea.")],
    "a call": [used()],
    "text before calls": [said("I look."), used(id="1"), used(id="2")],
    "fields that say nothing": [said("I look.") | {"citations": None}, used() | {"caller": DIRECT}],
    "blank text before a call": [said(""), used()],
    "nothing": [],
}


@pytest.mark.parametrize("content", PLAIN.values(), ids=PLAIN)
def test_what_text_and_calls_say_is_not_kept_twice(content):
    assert turn(CLAUDE, *content).provider_state is None


def test_second_request_after_single_and_parallel_calls_and_third_after_sequential_ones():
    first = turn(CLAUDE, THOUGHT, said("I look."), used(id="1"), used("refund_order", id="2"), stop="tool_use")
    results = [ChatMessage.tool_result("1", "one"), ChatMessage.tool_result("2", "two")]
    second_request = [
        user("Hello"),
        assistant(THOUGHT, "I look.", used(id="1"), used("refund_order", id="2")),
        user(result("1", said("one")), result("2", said("two"))),
    ]
    assert messages_sent(CLAUDE, HELLO, first, *results) == second_request
    second = turn(CLAUDE, SECOND_THOUGHT, used(id="3", number="7"), stop="tool_use")
    assert messages_sent(CLAUDE, HELLO, first, *results, second, ChatMessage.tool_result("3", "three")) == [
        *second_request,
        assistant(SECOND_THOUGHT, used(id="3", number="7")),
        user(result("3", said("three"))),
    ]


def test_a_paused_turn_goes_back_unchanged_and_last_and_its_rest_joins_it():
    paused = answered(CLAUDE, message(THOUGHT, "I look.", SEARCH, stop="pause_turn"))
    assert paused.finish_reason is FinishReason.PAUSE
    for model in (CLAUDE, make_claude(OPUS_4_8)):
        own = answered(model, message(THOUGHT, "I look.", SEARCH, stop="pause_turn")).to_message()
        assert messages_sent(model, HELLO, own) == [user("Hello"), assistant(THOUGHT, "I look.", SEARCH)]
    rest = turn(CLAUDE, FOUND, said("Tea."))
    assert messages_sent(CLAUDE, HELLO, paused.to_message(), rest, HELLO)[1] == assistant(
        THOUGHT, "I look.", SEARCH, FOUND, "Tea."
    )


OTHERS = {
    "model": make_claude("claude-opus-4-5"),
    "key": make_claude(key="another"),
    "address": make_claude(base_url="https://gateway.example"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_owner_gets_text_and_calls_and_no_mark_of_the_context(other):
    spoken = turn(CLAUDE, THOUGHT, said("I look."), SEARCH, FOUND, said("Found."), used(number="7"))
    assert replayed(other, spoken) == [said("I look.Found."), used(number="7")]


def test_another_provider_gets_text_and_calls():
    spoken = turn(CLAUDE, THOUGHT, said("I look."), used(number="7"))
    assert messages_sent(make_adapter("openai"), HELLO, spoken)[1] == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "toolu_1", "type": "function", "function": {"name": "find_order", "arguments": '{"number":"7"}'}}
        ],
    }


def test_from_a_to_b_and_back_to_a_each_gets_its_own():
    other = make_claude("claude-opus-4-5")
    first, second = turn(CLAUDE, THOUGHT, said("1")), turn(other, SECOND_THOUGHT, said("2"))
    assert messages_sent(CLAUDE, HELLO, first, HELLO, second, HELLO)[1::2] == [assistant(THOUGHT, "1"), assistant("2")]
    assert messages_sent(other, HELLO, first, HELLO, second, HELLO)[1::2] == [
        assistant("1"),
        assistant(SECOND_THOUGHT, "2"),
    ]


def test_the_ending_of_the_address_does_not_make_another_owner():
    spelled = [
        "",
        "https://api.anthropic.com/",
        "https://api.anthropic.com/v1",
        "https://api.anthropic.com/v1/messages",
    ]
    assert len({make_claude(base_url=address).owner for address in spelled}) == 1


def test_ids_that_were_replaced_are_replaced_in_the_context_and_on_the_results():
    request = make_request(HELLO, ChatMessage.assistant_tool_calls([ToolCall(id="toolu_1", name="a")]))
    response = answered(CLAUDE, message(THOUGHT, used(id="toolu_1"), used(id="", number="7")), request=request)
    first, second = (made.id for made in response.tool_calls)
    assert {first, second}.isdisjoint({"toolu_1", ""})
    spoken = messages_sent(CLAUDE, *request.messages, response.to_message(), ChatMessage.tool_result(second, "x"))
    assert spoken[3] == assistant(THOUGHT, used(id=first), used(id=second, number="7"))
    assert [entry["tool_use_id"] for entry in spoken[4]["content"]] == [first, second]


def test_ids_that_are_replaced_later_are_replaced_in_the_context_too():
    response = answered(CLAUDE, message(THOUGHT, used(id="1"))).with_unique_call_ids({"1"})
    new = response.tool_calls[0].id
    assert new != "1"
    assert replayed(CLAUDE, response.to_message(), stored=True) == [THOUGHT, used(id=new)]


def test_text_that_was_rewritten_since_replaces_the_text_and_keeps_the_rest():
    content = [THOUGHT, said("Ask "), SEARCH, FOUND, said("ann@tea.example"), used()]
    rewritten = turn(CLAUDE, *content).model_copy(update={"content": "Ask [removed]"})
    assert replayed(CLAUDE, rewritten) == [THOUGHT, said("Ask [removed]"), SEARCH, FOUND, used()]


def test_text_that_was_added_since_stands_before_the_calls():
    spoken = turn(CLAUDE, THOUGHT, used()).model_copy(update={"content": "I look."})
    assert replayed(CLAUDE, spoken) == [THOUGHT, said("I look."), used()]


def test_text_that_was_removed_since_is_gone():
    assert replayed(CLAUDE, turn(CLAUDE, THOUGHT, said("Tea."), used()).model_copy(update={"content": ""})) == [
        THOUGHT,
        used(),
    ]


def test_blank_text_does_not_go_back_because_the_api_refuses_it():
    assert replayed(CLAUDE, turn(CLAUDE, THOUGHT, said("\n"), used())) == [THOUGHT, used()]


UNSIGNED = {"type": "thinking", "thinking": "I look."}


@pytest.mark.parametrize("unsigned", [UNSIGNED, UNSIGNED | {"signature": ""}], ids=["missing", "empty"])
def test_thinking_whose_signature_never_came_goes_back_to_those_who_sign_none_only(unsigned):
    assert replayed(CLAUDE, turn(CLAUDE, unsigned, said("Tea."))) == [said("Tea.")]
    other = make_claude("kimi-k2", base_url="https://gateway.example/anthropic")
    assert replayed(other, turn(other, unsigned, said("Tea."))) == [unsigned, said("Tea.")]


def test_a_turn_of_thinking_alone_whose_signature_never_came_is_left_out():
    assert messages_sent(CLAUDE, HELLO, turn(CLAUDE, UNSIGNED), HELLO) == [user("Hello", "Hello")]


def test_a_call_of_a_server_tool_that_was_cut_off_is_never_completed():
    half = {"type": "input_json_delta", "partial_json": '{"query": "t'}
    cut = block(1, SEARCH | {"input": {}}, half, stop=False)
    response = streamed(CLAUDE, stream(start(), text_block(0, "I look."), cut, end("max_tokens")))[1]
    assert response.finish_reason is FinishReason.LENGTH
    assert response.provider_state is None


CONTAINER = {"id": "container_1", "expires_at": "2999-01-01T00:00:00.5Z"}


def test_the_sandbox_of_the_newest_turn_goes_back():
    first = turn(CLAUDE, SEARCH, FOUND, container={"id": "container_0", "expires_at": "2999-01-01T00:00:00Z"})
    second = turn(CLAUDE, said("Tea."), container=CONTAINER)
    body = sent(CLAUDE, make_request(HELLO, first, HELLO, second, HELLO))
    assert body["container"] == "container_1"
    assert body["messages"][3] == assistant("Tea.")
    assert "container" not in sent(OTHERS["key"], make_request(HELLO, first, HELLO, second, HELLO))


def test_a_sandbox_whose_time_is_over_does_not_go_back():
    gone = turn(CLAUDE, said("Tea."), container={"id": "container_1", "expires_at": "2020-01-01T00:00:00Z"})
    assert "container" not in sent(CLAUDE, make_request(HELLO, gone, HELLO))


@pytest.mark.parametrize("when", [None, "soon", 7, "2020-01-01T00:00:00"])
def test_a_sandbox_whose_time_cannot_be_read_goes_back(when):
    spoken = turn(CLAUDE, said("Tea."), container={"id": "container_1", "expires_at": when})
    assert sent(CLAUDE, make_request(HELLO, spoken, HELLO))["container"] == "container_1"


def test_an_operators_sandbox_counts_before_ours():
    spoken = turn(CLAUDE, said("Tea."), container=CONTAINER)
    body = sent(CLAUDE, make_request(HELLO, spoken, HELLO, options={"extra": {"container": "mine"}}))
    assert body["container"] == "mine"


def test_definitions_stay_where_only_the_context_speaks_of_calls():
    spoken = turn(CLAUDE, THOUGHT, used())
    body = sent(CLAUDE, make_request(HELLO, spoken, tools=(FIND,), tool_choice="none"))
    assert [tool["name"] for tool in body["tools"]] == ["find_order"]
    assert body["tool_choice"] == {"type": "none"}
