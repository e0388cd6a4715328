"""Messages in a row: ids that are one of a kind, and turns that are complete."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.chat import ChatMessage, ProviderState, Role, StateOwner, ToolCall
from llm_foundation.chat.conversation import NO_RESULT, call_ids, complete_turns, read_conversation, with_unique_ids
from llm_foundation.exceptions import InvalidMessage
from tests.chat import strategies

OWNER = StateOwner(adapter="openai", base_url="https://a.example", model_family="m", credential_fingerprint="f")


def turn(*ids, state=None, names=None):
    calls = [ToolCall(id=call_id, name=name) for call_id, name in zip(ids, names or ["ping"] * len(ids), strict=True)]
    return ChatMessage.assistant_tool_calls(calls, provider_state=state)


def result(call_id, text="ok"):
    return ChatMessage.tool_result(call_id, text)


def written_turn(*calls):
    """A turn as a client writes it: (id, name) pairs; an id of ``None`` is left out."""
    written = [
        {"type": "function", "function": {"name": name, "arguments": "{}"}}
        | ({} if call_id is None else {"id": call_id})
        for call_id, name in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": written}


def written_result(call_id, text, **extra):
    return {"role": "tool", "tool_call_id": call_id, "content": text, **extra}


def answers(messages):
    """For each call in order: its tool's name and the texts of the results that carry its id."""
    texts = {}
    for message in messages:
        if message.role is Role.TOOL:
            texts.setdefault(message.tool_call_id, []).append(message.text)
    return [(call.name, texts.get(call.id, [])) for message in messages for call in message.tool_calls]


def refusal(messages):
    with pytest.raises(InvalidMessage) as caught:
        read_conversation(messages)
    return caught.value


# Reading


def test_a_plain_text_is_one_user_message():
    assert read_conversation("hi") == (ChatMessage.user("hi"),)
    assert read_conversation(ChatMessage.system("hi")) == (ChatMessage.system("hi"),)


def test_messages_and_dicts_may_be_mixed_in_any_iterable():
    entries = iter([{"role": "system", "content": "Be brief."}, ChatMessage.user("hi")])
    assert read_conversation(entries) == (ChatMessage.system("Be brief."), ChatMessage.user("hi"))


@pytest.mark.parametrize("messages", [None, 5, {"role": "user", "content": "hi"}, [], (), b"hi", object()])
def test_what_is_no_list_of_messages_is_refused(messages):
    assert refusal(messages).field.startswith("messages")


@pytest.mark.parametrize(
    ("entries", "field"),
    [
        ([{"role": "user", "content": "hi"}, {"role": "robot", "content": "x"}], "messages[1].role"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": "hi"}, "hi"], "messages[1]"),
        ([None], "messages[0]"),
        ([{"role": "tool", "tool_call_id": "a", "content": "x"}], "messages[0].tool_call_id"),
        ([written_turn((5, "ping"))], "messages[0].tool_calls[0].id"),
    ],
)
def test_a_wrong_message_is_named_by_its_place(entries, field):
    assert refusal(entries).field == field


def test_a_lone_tool_message_answers_no_call():
    assert refusal(result("a")).field == "messages[0].tool_call_id"


# Ids


def test_ids_that_are_unique_already_stay():
    messages = (turn("a", "b"), result("a"), result("b"), turn("c"), result("c"))
    assert with_unique_ids(messages) == messages


def test_an_id_used_again_in_a_later_turn_is_replaced_on_call_and_result_alike():
    messages = with_unique_ids(
        [turn("call_0"), result("call_0", "first"), turn("call_0"), result("call_0", "second")],
    )
    first, second = call_ids_in_order(messages)
    assert first == "call_0"
    assert second != "call_0"
    assert messages[3] == result(second, "second")
    assert messages[:2] == (turn("call_0"), result("call_0", "first"))


def call_ids_in_order(messages):
    return [call.id for message in messages for call in message.tool_calls]


def test_parallel_calls_with_one_id_are_told_apart_in_their_order():
    messages = with_unique_ids([turn("x", "x", "x"), result("x", "1"), result("x", "2"), result("x", "3")])
    assert len(call_ids(messages)) == 3
    assert answers(messages) == [("ping", ["1"]), ("ping", ["2"]), ("ping", ["3"])]


def test_results_of_one_repeated_id_find_their_call_by_the_name_they_give():
    messages = read_conversation(
        [
            written_turn(("x", "find_order"), ("x", "find_customer")),
            written_result("x", "a customer", name="find_customer"),
            written_result("x", "an order", name="find_order"),
        ]
    )
    assert answers(messages) == [("find_order", ["an order"]), ("find_customer", ["a customer"])]


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_blank_ids_are_replaced_on_call_and_result_alike(blank):
    messages = read_conversation(
        [
            written_turn((blank, "find_order"), (blank, "find_customer")),
            written_result(blank, "an order"),
            written_result(blank, "a customer"),
            written_turn((blank, "ping")),
            written_result(blank, "pong"),
        ]
    )
    assert answers(messages) == [("find_order", ["an order"]), ("find_customer", ["a customer"]), ("ping", ["pong"])]
    assert len(call_ids(messages)) == 3


def test_results_without_an_id_find_their_call_by_the_name_they_give():
    messages = read_conversation(
        [
            written_turn((None, "find_order"), (None, "find_customer")),
            {"role": "tool", "content": "a customer", "tool_name": "find_customer"},
            {"role": "tool", "content": "an order", "tool_name": "find_order"},
        ]
    )
    assert answers(messages) == [("find_order", ["an order"]), ("find_customer", ["a customer"])]


def test_blank_and_given_ids_may_stand_in_one_turn():
    messages = read_conversation(
        [written_turn(("", "one"), ("b", "two")), written_result("b", "2"), written_result("", "1")]
    )
    assert answers(messages) == [("one", ["1"]), ("two", ["2"])]


def test_a_blank_result_cannot_answer_a_call_that_has_an_id():
    error = refusal([written_turn(("a", "ping")), written_result("", "pong")])
    assert error.field == "messages[1].tool_call_id"


def test_blank_results_beyond_the_calls_are_refused():
    error = refusal([written_turn(("", "ping")), written_result("", "pong"), written_result("", "pong")])
    assert error.field == "messages[2].tool_call_id"


def test_a_late_result_finds_its_own_turn():
    messages = with_unique_ids([turn("a"), ChatMessage.user("wait"), turn("b"), result("a", "1"), result("b", "2")])
    assert answers(messages) == [("ping", ["1"]), ("ping", ["2"])]


def test_a_repeated_id_means_the_newest_turn_that_has_it():
    messages = with_unique_ids([turn("a"), turn("a"), result("a", "newest")])
    assert answers(messages) == [("ping", []), ("ping", ["newest"])]


@pytest.mark.parametrize(
    "messages",
    [
        [turn("a"), result("b")],
        [turn("a"), result("a"), result("a")],
        [turn("a"), turn("a"), result("a"), result("a")],
        [ChatMessage.user("hi"), result("a")],
    ],
)
def test_a_result_without_an_open_call_is_refused(messages):
    error = refusal(messages)
    assert error.field == f"messages[{len(messages) - 1}].tool_call_id"
    assert "answers no open call" in str(error)


def test_the_binding_of_a_replaced_id_follows_it():
    state = ProviderState(owner=OWNER, items=(), tool_call_bindings={"call_0": "native"})
    messages = with_unique_ids([turn("call_0"), result("call_0"), turn("call_0", state=state), result("call_0")])
    [second] = messages[2].tool_calls
    assert messages[2].provider_state.tool_call_bindings == {second.id: "native"}


def test_of_two_calls_with_one_id_the_first_keeps_the_binding():
    state = ProviderState(owner=OWNER, tool_call_bindings={"x": "native"})
    [message] = with_unique_ids([turn("x", "x", state=state)])
    assert message.tool_calls[0].id == "x"
    assert message.provider_state.tool_call_bindings == {"x": "native"}


# Complete turns


def test_results_come_right_after_their_turn_in_the_calls_order():
    messages = [
        turn("a", "b"),
        ChatMessage.user("and?"),
        result("b", "2"),
        result("a", "1"),
        ChatMessage.assistant("!"),
    ]
    assert complete_turns(messages) == (
        turn("a", "b"),
        result("a", "1"),
        result("b", "2"),
        ChatMessage.user("and?"),
        ChatMessage.assistant("!"),
    )


def test_a_missing_result_is_filled_in_and_says_so():
    assert complete_turns([turn("a", "b"), result("b")]) == (turn("a", "b"), result("a", NO_RESULT), result("b"))
    assert NO_RESULT.startswith("Error: ")


def test_a_result_without_a_call_is_left_out():
    assert complete_turns([result("a"), ChatMessage.user("hi"), result("b")]) == (ChatMessage.user("hi"),)


def test_results_of_a_call_and_result_chain_are_kept_apart():
    messages = (turn("a"), result("a", "1"), turn("b"), result("b", "2"))
    assert complete_turns(messages) == messages


def test_turns_that_share_an_id_keep_their_own_results():
    messages = (turn("a"), result("a", "1"), turn("a"), result("a", "2"))
    assert complete_turns(messages) == messages


def test_two_results_of_one_call_are_one_result():
    assert complete_turns([turn("a"), result("a", "first"), result("a", "again")]) == (turn("a"), result("a", "first"))


def test_an_empty_result_is_a_result():
    assert complete_turns([turn("a"), result("a", "")]) == (turn("a"), result("a", ""))


# For any conversation

few_ids = st.sampled_from(["a", "b", "call_0"])
some_turns = st.builds(lambda ids: turn(*ids), st.lists(few_ids, min_size=1, max_size=3))
conversations = st.lists(
    some_turns | st.builds(result, few_ids, strategies.clean_texts) | st.builds(ChatMessage.user, st.just("hi")),
    max_size=8,
)


@given(conversations)
def test_unique_ids_are_unique_and_every_result_answers_one_open_call(messages):
    try:
        unique = with_unique_ids(messages)
    except InvalidMessage as error:
        refused = int(error.field.removeprefix("messages[").split("]")[0])
        assert messages[refused].role is Role.TOOL
        return
    ids = call_ids_in_order(unique)
    assert len(ids) == len(set(ids))
    answered = [message.tool_call_id for message in unique if message.role is Role.TOOL]
    assert len(answered) == len(set(answered))
    assert set(answered) <= set(ids)
    assert [message.text for message in unique] == [message.text for message in messages]
    assert with_unique_ids(unique) == unique


@given(conversations)
def test_a_completed_conversation_answers_every_call_at_once_and_is_complete(messages):
    completed = complete_turns(messages)
    assert complete_turns(completed) == completed
    expected = []
    for message in completed:
        if message.role is Role.TOOL:
            assert message.tool_call_id == expected.pop(0)
        else:
            assert expected == []
            expected = [call.id for call in message.tool_calls]
    assert expected == []
    assert [m for m in completed if m.role is not Role.TOOL] == [m for m in messages if m.role is not Role.TOOL]


@given(st.lists(strategies.messages, min_size=1, max_size=5))
def test_any_readable_conversation_reads_the_same_from_messages_and_from_text(messages):
    try:
        read = read_conversation(messages)
    except InvalidMessage:
        return
    written = json.loads(json.dumps([message.to_transcript() for message in read]))
    assert read_conversation(written) == read
