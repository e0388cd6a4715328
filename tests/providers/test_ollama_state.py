"""Ollama's own context: thinking, ids and what stands on calls, kept and given back to its owner only."""

import pytest

from llm_foundation.chat import ChatMessage, ProviderState
from llm_foundation.exceptions import ProviderStateError
from tests.providers.builders import HELLO, answered, call, make_adapter, make_request
from tests.providers.builders import messages_sent as chat_messages_sent
from tests.providers.ollama_builders import (
    assistant,
    called,
    line,
    lines,
    make_ollama,
    messages_sent,
    read,
    result,
    stored,
    user,
)

OLLAMA = make_ollama()
OTHER = make_ollama(base_url="http://other.lan:11434")


def result_of(message: ChatMessage, place: int = 0, text: str = "r") -> ChatMessage:
    return ChatMessage.tool_result(message.tool_calls[place].id, text)


@pytest.mark.parametrize("kept", [lambda message: message, stored])
def test_thinking_goes_back_with_text_and_calls(kept):
    spoken = kept(read(OLLAMA, "So", thinking="hm", calls=[called(id="a", n=1)]).to_message())
    assert messages_sent(OLLAMA, HELLO, spoken, result_of(spoken)) == [
        user("Hello"),
        assistant("So", thinking="hm", tool_calls=[called(id="a", n=1)]),
        result("r", id="a"),
    ]


def test_the_third_request_holds_both_turns():
    first = read(OLLAMA, thinking="one", calls=[called(id="a", n=1), called("refund_order", id="b")]).to_message()
    history = [HELLO, first, result_of(first, 1, "rb"), result_of(first, 0, "ra")]
    body = lines(line(thinking="two"), line(calls=[called(id="c")]), line(done=True))
    second = OLLAMA.response(200, {}, body, chat_request=make_request(*history)).to_message()
    assert messages_sent(OLLAMA, *map(stored, [*history, second, result_of(second, 0, "rc")])) == [
        user("Hello"),
        assistant(thinking="one", tool_calls=[called(id="a", n=1), called("refund_order", id="b")]),
        result("ra", id="a"),
        result("rb", id="b", name="refund_order"),
        assistant(thinking="two", tool_calls=[called(id="c")]),
        result("rc", id="c"),
    ]


def test_calls_without_ids_are_paired_by_order_and_tool_and_by_ids_of_ours():
    spoken = read(OLLAMA, calls=[called(n=1), called(n=2)]).to_message()
    ids = [call.id for call in spoken.tool_calls]
    assert spoken.provider_state is None
    assert messages_sent(OLLAMA, HELLO, spoken, result_of(spoken, 1, "two"), result_of(spoken, 0, "one"))[1:] == [
        assistant(tool_calls=[called(id=ids[0], n=1), called(id=ids[1], n=2)]),
        result("one", id=ids[0]),
        result("two", id=ids[1]),
    ]


@pytest.mark.parametrize("kept", [lambda message: message, stored])
def test_an_id_that_comes_again_in_a_later_turn_is_ours_here_and_its_own_there(kept):
    first = kept(read(OLLAMA, calls=[called(id="call_0", n=1)]).to_message())
    asked = make_request(HELLO, first, result_of(first))
    second = kept(answered(OLLAMA, line(calls=[called(id="call_0", n=2)], done=True), request=asked).to_message())
    assert second.tool_calls[0].id != "call_0"
    assert (second.provider_state.items, dict(second.provider_state.tool_call_bindings)) == (
        None,
        {second.tool_calls[0].id: "call_0"},
    )
    assert messages_sent(OLLAMA, HELLO, first, result_of(first, 0, "one"), second, result_of(second, 0, "two"))[1:] == [
        assistant(tool_calls=[called(id="call_0", n=1)]),
        result("one", id="call_0"),
        assistant(tool_calls=[called(id="call_0", n=2)]),
        result("two", id="call_0"),
    ]


def test_an_id_that_comes_twice_in_one_turn_is_replaced_for_good():
    spoken = read(OLLAMA, calls=[called(id="0", n=1), called(id="0", n=2)]).to_message()
    first, second = messages_sent(OLLAMA, HELLO, spoken)[1]["tool_calls"]
    assert first["id"] == "0"
    assert second["id"] == spoken.tool_calls[1].id != "0"


def test_what_stands_on_a_call_goes_back_on_it():
    signed = called(id="b", extra={"thought_signature": "c2ln"})
    spoken = stored(read(OLLAMA, calls=[called(id="a"), signed]).to_message())
    assert messages_sent(OLLAMA, HELLO, spoken)[1] == assistant(tool_calls=[called(id="a"), signed])


def test_thinking_stays_where_the_text_was_rewritten_since():
    spoken = read(OLLAMA, "secret", thinking="hm").to_message().model_copy(update={"content": "***"})
    assert messages_sent(OLLAMA, HELLO, spoken)[1] == assistant("***", thinking="hm")


def test_a_plain_answer_has_no_state():
    assert read(OLLAMA, "Hi", calls=[called(id="a")]).provider_state is None


@pytest.mark.parametrize(
    "owner",
    [OTHER, make_ollama("qwen3:14b"), make_ollama(key="a-key")],
)
def test_another_server_model_or_account_gets_text_and_calls_only(owner):
    signed = called(id="a", extra={"thought_signature": "c2ln"})
    spoken = read(owner, "So", thinking="hm", calls=[signed]).to_message()
    assert messages_sent(OLLAMA, HELLO, spoken)[1] == assistant("So", tool_calls=[called(id="a")])


def test_to_another_provider_and_back():
    spoken = read(OLLAMA, "So", thinking="hm", calls=[called(id="a", n=1)]).to_message()
    chat = make_adapter("openrouter")
    elsewhere = answered(
        chat,
        {"choices": [{"message": {"content": "There", "reasoning_content": "pst"}, "finish_reason": "stop"}]},
    ).to_message()
    history = [HELLO, spoken, result_of(spoken), elsewhere, HELLO]
    assert "hm" not in str(chat_messages_sent(chat, *history))
    assert messages_sent(OLLAMA, *map(stored, history)) == [
        user("Hello"),
        assistant("So", thinking="hm", tool_calls=[called(id="a", n=1)]),
        result("r", id="a"),
        assistant("There"),
        user("Hello"),
    ]


def with_state(*, items=None, bindings=None, version=1, calls=("a", "b")) -> ChatMessage:
    state = ProviderState(owner=OLLAMA.owner, version=version, items=items, tool_call_bindings=bindings or {})
    return ChatMessage.assistant_tool_calls([call(id=id) for id in calls], provider_state=state)


@pytest.mark.parametrize(
    "message",
    [
        with_state(items=({}, {})),
        with_state(items=("thinking",)),
        with_state(items=({"thinking": 3},)),
        with_state(items=({"other": "x"},)),
        with_state(items=({"calls": [{}]},)),
        with_state(items=({"calls": [{}, {"id": "x"}]},)),
        with_state(items=({"calls": [{}, {"function": {"name": "x"}}]},)),
        with_state(items=({"calls": [{}, 3]},)),
        with_state(items=(), version=2),
        with_state(bindings={"c": "x"}),
        with_state(bindings={"a": "x", "b": "x"}),
        with_state(bindings={"a": "b"}),
        with_state(bindings={"a": " "}),
    ],
)
def test_damaged_state_of_its_own_is_refused_before_anybody_is_asked(message):
    with pytest.raises(ProviderStateError):
        OLLAMA.request(make_request(HELLO, message))
    assert OTHER.request(make_request(HELLO, message)).method == "POST"


@pytest.mark.parametrize("items", [None, (), ({},), ({"thinking": ""},)])
def test_state_that_holds_nothing_adds_nothing(items):
    assert messages_sent(OLLAMA, HELLO, with_state(items=items))[1] == assistant(
        tool_calls=[called(id="a"), called(id="b")]
    )
