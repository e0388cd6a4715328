"""Gemini's own context: kept from its answers, given back to it alone, refused where it is damaged."""

import json

import pytest

from llm_foundation.chat import ChatMessage, ProviderState, ToolCall
from llm_foundation.exceptions import ProviderStateError
from tests.providers.builders import HELLO, completion, function, make_adapter, make_request, messages_sent, streamed
from tests.providers.builders import answered as chat_answered
from tests.providers.gemini_builders import (
    FLASH_2_5,
    PRO_3_1,
    VERTEX,
    called,
    contents_sent,
    in_chunks,
    make_gemini,
    model,
    read,
    result,
    said,
    stored,
    user,
)

ADAPTER = make_gemini()
THOUGHT = said("I should look.", thought=True)
QUESTION = ChatMessage.user("Where is order 1138?")


def turn(adapter, *parts) -> ChatMessage:
    return read(adapter, *parts).to_message()


def results_for(message: ChatMessage, *texts: str) -> list[ChatMessage]:
    return [ChatMessage.tool_result(call.id, text) for call, text in zip(message.tool_calls, texts, strict=True)]


def body_after(adapter, *messages: ChatMessage) -> bytes:
    return adapter.request(make_request(*messages)).body


@pytest.mark.parametrize("keep", [stored, lambda message: message], ids=["stored", "typed"])
def test_the_second_and_the_third_request_of_two_steps_in_a_row(keep):
    first = turn(ADAPTER, THOUGHT, called(id="fc-1", signature="sig/1+", number="1138"))
    second_messages = [QUESTION, keep(first), *results_for(first, "shipped")]
    second_contents = (
        b'{"contents":[{"role":"user","parts":[{"text":"Where is order 1138?"}]},'
        b'{"role":"model","parts":[{"text":"I should look.","thought":true},'
        b'{"functionCall":{"name":"find_order","args":{"number":"1138"},"id":"fc-1"},"thoughtSignature":"sig/1+"}]},'
        b'{"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"find_order",'
        b'"response":{"result":"shipped"}}}]}'
    )
    assert body_after(ADAPTER, *second_messages) == second_contents + b"]}"
    second = turn(ADAPTER, said("One more look."), called("track", id="fc-2", signature="sig/2"))
    assert body_after(ADAPTER, *second_messages, keep(second), *results_for(second, "in Bonn")) == (
        second_contents + b',{"role":"model","parts":[{"text":"One more look."},'
        b'{"functionCall":{"name":"track","args":{},"id":"fc-2"},"thoughtSignature":"sig/2"}]},'
        b'{"role":"user","parts":[{"functionResponse":{"id":"fc-2","name":"track",'
        b'"response":{"result":"in Bonn"}}}]}]}'
    )


@pytest.mark.parametrize("keep", [stored, lambda message: message], ids=["stored", "typed"])
def test_of_parallel_calls_only_the_first_is_signed_and_all_stay_in_one_content(keep):
    message = turn(ADAPTER, called(signature="c2ln", number="1"), called(number="2"), called("track"))
    sent = contents_sent(ADAPTER, QUESTION, keep(message), *results_for(message, "A", "B", "C"))
    assert sent[1:] == [
        model(
            {"functionCall": {"name": "find_order", "args": {"number": "1"}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "find_order", "args": {"number": "2"}}},
            {"functionCall": {"name": "track", "args": {}}},
        ),
        user(result("find_order", "A"), result("find_order", "B"), result("track", "C")),
    ]


@pytest.mark.parametrize("keep", [stored, lambda message: message], ids=["stored", "typed"])
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([called(number="1")], id="an unsigned call"),
        pytest.param([said("I look."), called(signature="c2ln")], id="text beside a call"),
        pytest.param([said("I "), said("look"), said("."), called(signature="c2ln")], id="text in several parts"),
        pytest.param([said("Four."), said("", signature="c2ln")], id="a signature on empty text"),
        pytest.param([THOUGHT, said("Four.", signature="c2ln")], id="a signature on text"),
        pytest.param([said("Hm", thought=True, signature="c2ln"), said("Four.")], id="a signature on a thought"),
        pytest.param([{"thoughtSignature": "c2ln"}, said("Four.")], id="a signature alone"),
        pytest.param(
            [
                {"executableCode": {"language": "PYTHON", "code": "2+2"}, "thoughtSignature": "YQ=="},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "4"}},
                said("Four.", signature="Yg=="),
            ],
            id="code that Google ran",
        ),
        pytest.param(
            [
                {"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "t1", "args": {}}, "thoughtSignature": "YQ=="},
                {"toolResponse": {"toolType": "GOOGLE_SEARCH", "id": "t1", "response": {"n": 1.0}}},
                called(id="fc-1", signature="Yg==", big=2**60, small=1e-9, whole=1.0, none=None),
            ],
            id="a search beside a call",
        ),
    ],
)
def test_parts_go_back_as_they_came_in_their_order_with_their_boundaries(parts, keep):
    message = keep(turn(ADAPTER, *parts))
    assert contents_sent(ADAPTER, QUESTION, message)[1] == model(*parts)
    assert json.dumps(contents_sent(ADAPTER, QUESTION, message)[1]["parts"]) == json.dumps(parts)


def test_parts_of_a_stream_are_those_of_the_whole_answer():
    parts = [THOUGHT, said("I "), said("look."), called(id="a", signature="c2ln", n=1), called(id="b")]
    _, response = streamed(ADAPTER, in_chunks(*parts))
    assert response.provider_state == read(ADAPTER, *parts).provider_state
    assert contents_sent(ADAPTER, QUESTION, response.to_message())[1] == model(*parts)


def test_empty_text_that_only_frames_a_stream_is_not_kept():
    message = streamed(ADAPTER, in_chunks(said(""), called(signature="c2ln"), said("")))[1].to_message()
    assert contents_sent(ADAPTER, QUESTION, message)[1] == model(called(signature="c2ln"))


@pytest.mark.parametrize("parts", [[said("x")], [THOUGHT, said("x")], [said("x", signature="")], []])
def test_an_answer_without_calls_and_signatures_has_no_state(parts):
    assert turn(ADAPTER, *parts).provider_state is None


def test_a_turn_without_state_is_what_its_fields_say():
    assert contents_sent(ADAPTER, QUESTION, turn(ADAPTER, THOUGHT, said("Bonn")), HELLO)[1] == model("Bonn")


@pytest.mark.parametrize("args", [{"functionCall": {"name": "ping"}}, {"functionCall": {"name": "ping", "args": None}}])
def test_arguments_that_were_left_out_go_back_as_an_object(args):
    assert contents_sent(ADAPTER, QUESTION, turn(ADAPTER, args))[1] == model(called("ping"))


def test_arguments_that_were_no_object_go_back_as_one():
    message = turn(ADAPTER, {"functionCall": {"name": "ping", "args": "{"}, "thoughtSignature": "c2ln"})
    assert message.tool_calls[0].invalid_arguments == "{"
    assert contents_sent(ADAPTER, QUESTION, stored(message))[1] == model(
        called("ping", signature="c2ln", INVALID_JSON="{")
    )


def test_a_call_that_was_cut_off_goes_back_as_google_sent_it():
    message = read(ADAPTER, called(signature="c2ln", n=1), finish="MAX_TOKENS").to_message()
    assert message.tool_calls[0].invalid_arguments == '{"n": 1}'
    assert contents_sent(ADAPTER, QUESTION, stored(message))[1] == model(called(signature="c2ln", n=1))


def test_a_model_that_imitates_an_invalid_call_is_given_back_its_own():
    message = turn(ADAPTER, called(INVALID_JSON="{"))
    assert message.tool_calls[0].invalid_arguments == "{"
    assert contents_sent(ADAPTER, QUESTION, stored(message))[1] == model(called(INVALID_JSON="{"))


@pytest.mark.parametrize(
    ("parts", "text", "expected"),
    [
        ([THOUGHT, said("ann@shop"), called(signature="c2ln")], "…", [THOUGHT, said("…"), called(signature="c2ln")]),
        ([said("ann"), said("@shop"), called()], "…", [said("…"), called()]),
        ([said("ann"), said("@shop", signature="c2ln")], "…", [said("…"), said("", signature="c2ln")]),
        ([said("ann", signature="c2ln")], "…", [said("…", signature="c2ln")]),
        ([said("ann"), called(signature="c2ln")], "", [called(signature="c2ln")]),
        ([called(signature="c2ln")], "Added.", [said("Added."), called(signature="c2ln")]),
    ],
)
def test_text_that_was_rewritten_since_replaces_the_text_and_signatures_stay(parts, text, expected):
    rewritten = turn(ADAPTER, *parts).model_copy(update={"content": text})
    assert contents_sent(ADAPTER, QUESTION, rewritten)[1] == model(*expected)


OTHERS = {
    "model": make_gemini(PRO_3_1),
    "key": make_gemini(key="another"),
    "address": make_gemini(base_url=VERTEX),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_owner_gets_text_and_calls_and_no_mark_of_the_context(name):
    message = turn(
        ADAPTER, THOUGHT, said("I look."), called(id="fc-1", signature="c2ln", number="1"), called(id="fc-2")
    )
    sent = contents_sent(OTHERS[name], QUESTION, stored(message), *results_for(message, "A", "B"))
    assert sent[1:] == [
        model("I look.", called(signature="skip_thought_signature_validator", number="1"), called()),
        user(result("find_order", "A"), result("find_order", "B")),
    ]


def test_another_provider_gets_text_and_calls_and_no_mark_of_the_context():
    message = turn(ADAPTER, THOUGHT, said("I look."), called(id="fc-1", signature="c2ln", number="1"))
    assert messages_sent(make_adapter("custom"), QUESTION, stored(message))[1] == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [function("find_order", '{"number":"1"}', id="fc-1")],
    }


def test_from_gemini_to_another_and_back_each_gets_its_own():
    other = make_adapter("deepseek")
    first = turn(ADAPTER, called(id="fc-1", signature="c2ln"))
    details = {"content": None, "reasoning_content": "hm", "tool_calls": [function("track", "{}", id="call_9")]}
    second = chat_answered(other, completion(details)).to_message()
    history = [QUESTION, first, *results_for(first, "A"), second, *results_for(second, "B")]
    assert contents_sent(ADAPTER, *map(stored, history))[1:] == [
        model(called(id="fc-1", signature="c2ln")),
        user(result("find_order", "A", id="fc-1")),
        model(called("track", signature="skip_thought_signature_validator")),
        user(result("track", "B")),
    ]
    sent = messages_sent(other, *history)
    assert [message.get("reasoning_content") for message in sent if message["role"] == "assistant"] == ["", "hm"]
    assert "c2ln" not in str(sent)


def test_an_id_that_is_used_again_in_a_later_turn_comes_back_on_both():
    first = turn(ADAPTER, called(id="call_0", n=1))
    history = [QUESTION, first, *results_for(first, "A")]
    request = make_request(*history)
    second = ADAPTER.response(200, {}, in_chunks(called(id="call_0", n=2)), chat_request=request).to_message()
    assert second.tool_calls[0].id != "call_0"
    sent = contents_sent(ADAPTER, *map(stored, [*history, second, *results_for(second, "B")]))
    assert sent[1:] == [
        model(called(id="call_0", n=1)),
        user(result("find_order", "A", id="call_0")),
        model(called(id="call_0", n=2)),
        user(result("find_order", "B", id="call_0")),
    ]


def test_an_id_that_was_replaced_later_still_comes_back():
    response = read(ADAPTER, called(id="call_0", signature="c2ln")).with_unique_call_ids({"call_0"})
    message = response.to_message()
    assert message.tool_calls[0].id != "call_0"
    assert contents_sent(ADAPTER, QUESTION, stored(message), *results_for(message, "A"))[1:] == [
        model(called(id="call_0", signature="c2ln")),
        user(result("find_order", "A", id="call_0")),
    ]


def test_names_that_were_mapped_go_back_as_gemini_knows_them():
    wire = "shop_orders_find__f80bb2938acbaa7e"
    call = ToolCall(id="a", name="shop.orders/find")
    state = ProviderState(owner=ADAPTER.owner, items=(called(wire, signature="c2ln"),))
    message = ChatMessage.assistant_tool_calls([call], None, state)
    assert contents_sent(ADAPTER, QUESTION, message, ChatMessage.tool_result("a", "A"))[1:] == [
        model(called(wire, signature="c2ln")),
        user(result(wire, "A")),
    ]


CALL = ToolCall(id="a", name="find_order", arguments={"n": 1})
GOOD = {"functionCall": {"name": "find_order", "args": {"n": 1}}}


@pytest.mark.parametrize(
    "items",
    [
        pytest.param(["text"], id="no object"),
        pytest.param([7], id="a number"),
        pytest.param([None], id="nothing"),
        pytest.param([[]], id="a list"),
        pytest.param([{}], id="an empty part"),
        pytest.param([GOOD, {"type": "reasoning", "encrypted_content": "gAAA"}], id="another provider's item"),
        pytest.param([{"reasoning_content": "hm"}], id="another adapter's state"),
        pytest.param([{"functionResponse": {"name": "find_order", "response": {}}}], id="a result"),
        pytest.param([GOOD | {"text": "x"}], id="two things in one part"),
        pytest.param([GOOD | {"thoughtSignature": 7}], id="a signature that is no text"),
        pytest.param([{"functionCall": "find_order"}], id="a call that is no object"),
        pytest.param([{"functionCall": {"args": {"n": 1}}}], id="a call without a name"),
        pytest.param([{"functionCall": {"name": "find_order", "args": {"n": 1}, "id": 7}}], id="an id that is no text"),
        pytest.param([said("x", signature="c2ln")], id="no call although the turn has one"),
        pytest.param([GOOD, GOOD], id="more calls than the turn has"),
        pytest.param([{"functionCall": {"name": "track", "args": {"n": 1}}}], id="another name"),
        pytest.param([{"functionCall": {"name": "find_order", "args": {"n": 2}}}], id="other arguments"),
        pytest.param([{"functionCall": {"name": "find_order", "args": {"n": "1"}}}], id="a text for a number"),
        pytest.param([{"functionCall": {"name": "find_order", "args": {"n": True}}}], id="true for one"),
        pytest.param([{"functionCall": {"name": "find_order"}}], id="no arguments"),
    ],
)
def test_damaged_context_of_our_own_is_refused_before_any_request(items):
    state = ProviderState(owner=ADAPTER.owner, items=tuple(items))
    message = ChatMessage.assistant_tool_calls([CALL], "x", state)
    with pytest.raises(ProviderStateError, match="nothing was sent"):
        ADAPTER.request(make_request(QUESTION, message))
    assert contents_sent(make_gemini(FLASH_2_5), QUESTION, message)[1] == model("x", called(n=1))


def test_calls_in_the_state_of_a_turn_that_has_none_are_refused():
    state = ProviderState(owner=ADAPTER.owner, items=(GOOD,))
    with pytest.raises(ProviderStateError):
        ADAPTER.request(make_request(QUESTION, ChatMessage.assistant("x", provider_state=state)))


def test_context_of_another_version_is_refused():
    state = ProviderState(owner=ADAPTER.owner, version=2, items=(GOOD,))
    with pytest.raises(ProviderStateError):
        ADAPTER.request(make_request(QUESTION, ChatMessage.assistant_tool_calls([CALL], None, state)))


@pytest.mark.parametrize("items", [None, ()])
def test_bindings_alone_and_an_empty_list_are_nothing_to_give_back(items):
    state = ProviderState(owner=ADAPTER.owner, items=items, tool_call_bindings={"a": "fc-1"})
    plain = ChatMessage.assistant("x", provider_state=state)
    assert contents_sent(ADAPTER, QUESTION, plain, HELLO)[1] == model("x")
    with_call = ChatMessage.assistant_tool_calls([CALL], None, state)
    assert contents_sent(ADAPTER, QUESTION, with_call)[1] == model(
        called(signature="skip_thought_signature_validator", n=1)
    )
