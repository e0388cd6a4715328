"""A provider's own context: kept from its answers, given back to it alone, refused where it is damaged."""

import pytest

from llm_foundation.chat import ChatMessage, ProviderState, ToolCall
from llm_foundation.exceptions import ProviderStateError
from tests.providers.builders import (
    HELLO,
    answered,
    chunks,
    completion,
    function,
    make_adapter,
    make_request,
    messages_sent,
    streamed,
)

DETAILS = [
    {"type": "reasoning.summary", "summary": "I look.", "format": "openai-responses-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "index": 0},
]
SIGNED = {"google": {"thought_signature": "c2ln"}}
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}


def turn(adapter, message, **kwargs) -> ChatMessage:
    return answered(adapter, completion(message, **kwargs)).to_message()


def replayed(adapter, message: ChatMessage, *, stored: bool = False) -> dict:
    """What the turn is on the wire of a next request, straight away or after it was stored as text."""
    kept = ChatMessage.from_dict(message.to_transcript()) if stored else message
    return messages_sent(adapter, HELLO, kept, HELLO)[1]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("deepseek", {"content": "x", "reasoning_content": "hm"}),
        ("deepseek", {"content": None, "reasoning_content": "hm", "tool_calls": [function("ping", "{}", id="a")]}),
        ("openrouter", {"content": "x", "reasoning_details": DETAILS}),
        (
            "openrouter",
            {"content": "Let me see.", "reasoning_details": DETAILS, "tool_calls": [function("p", "{}", id="a")]},
        ),
        ("mistral", {"content": [THINKING, {"type": "text", "text": "144"}]}),
        ("custom", {"content": None, "tool_calls": [function("ping", "{}", id="a", extra_content=SIGNED)]}),
        ("custom", {"content": "x", "extra_content": SIGNED}),
    ],
)
def test_own_context_goes_back_as_it_came(profile, message, stored):
    adapter = make_adapter(profile)
    assert replayed(adapter, turn(adapter, message), stored=stored) == {"role": "assistant", **message}


def test_parallel_calls_keep_what_stood_on_each():
    adapter = make_adapter("custom")
    calls = [function("ping", "{}", id="a", extra_content=SIGNED), function("ping", "{}", id="b")]
    assert replayed(adapter, turn(adapter, {"content": None, "tool_calls": calls}))["tool_calls"] == calls


def test_what_stood_on_a_call_stays_with_it_when_its_id_is_replaced():
    adapter = make_adapter("custom")
    calls = [function("ping", "{}", id="a"), function("pong", "{}", id="a", extra_content=SIGNED)]
    first, second = replayed(adapter, turn(adapter, {"content": None, "tool_calls": calls}))["tool_calls"]
    assert "extra_content" not in first
    assert (second["function"]["name"], second["extra_content"]) == ("pong", SIGNED)


def test_details_of_a_stream_are_joined_by_index_and_type():
    adapter = make_adapter("openrouter")
    stream = chunks(
        {"reasoning_details": [{"type": "reasoning.text", "text": "", "signature": "", "format": "a-v1", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "I ", "format": "a-v1", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "think", "format": "a-v1", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "gA", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "gB", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.text", "signature": "sig", "index": 0}]},
        {"content": "x"},
    )
    _, response = streamed(adapter, stream)
    assert response.reasoning == "I think"
    assert replayed(adapter, response.to_message())["reasoning_details"] == [
        {"type": "reasoning.text", "text": "I think", "signature": "sig", "format": "a-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "gA", "index": 1},
        {"type": "reasoning.encrypted", "data": "gB", "index": 1},
    ]


def test_details_without_an_index_stand_for_themselves():
    pieces = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]
    stream = chunks(*({"reasoning_details": [piece]} for piece in pieces))
    _, response = streamed(make_adapter("openrouter"), stream)
    assert response.provider_state.to_dict()["items"] == [{"reasoning_details": pieces}]


def test_details_of_a_whole_answer_are_not_joined():
    twins = [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 0}]
    adapter = make_adapter("openrouter")
    assert replayed(adapter, turn(adapter, {"content": "x", "reasoning_details": twins}))["reasoning_details"] == twins


def test_context_of_a_stream_is_that_of_the_whole_answer():
    adapter = make_adapter("custom")
    stream = chunks(
        {"reasoning_content": "h"},
        {"reasoning_content": "m"},
        {"tool_calls": [{"index": 0, "id": "a", "extra_content": SIGNED, "function": {"name": "ping"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
    )
    message = {"reasoning_content": "hm", "tool_calls": [function("ping", "{}", id="a", extra_content=SIGNED)]}
    assert streamed(adapter, stream)[1].provider_state == answered(adapter, completion(message)).provider_state


def test_mistrals_chunks_of_a_stream_are_joined():
    adapter = make_adapter("mistral")

    def thinking(text: str) -> dict:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}

    _, response = streamed(
        adapter, chunks({"content": ""}, thinking("h"), thinking("m"), {"content": "1"}, {"content": "44"})
    )
    assert replayed(adapter, response.to_message())["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "144"},
    ]


def test_text_that_was_rewritten_since_replaces_the_text_and_keeps_the_thinking():
    adapter = make_adapter("mistral")
    rewritten = turn(adapter, {"content": [THINKING, {"type": "text", "text": "Ask ann@shop.example"}]}).model_copy(
        update={"content": "Ask [removed]"}
    )
    assert replayed(adapter, rewritten)["content"] == [THINKING, {"type": "text", "text": "Ask [removed]"}]


@pytest.mark.parametrize(
    "message", [{"content": "x"}, {"content": [{"type": "text", "text": "x"}]}, {"content": "x", "reasoning": "hm"}]
)
def test_an_answer_without_context_has_no_state(message):
    assert turn(make_adapter("custom"), message).provider_state is None


@pytest.mark.parametrize("empty", ["", None, [], {}])
def test_empty_context_is_none(empty):
    fields = {"reasoning_content": empty, "reasoning_details": empty, "extra_content": empty}
    assert turn(make_adapter("custom"), {"content": "x", **fields}).provider_state is None


@pytest.mark.parametrize(
    "other",
    [
        make_adapter("custom", model="another"),
        make_adapter("custom", key="another"),
        make_adapter("custom", base_url="https://other.example/v1"),
        make_adapter("openai"),
    ],
    ids=["model", "key", "address", "profile"],
)
def test_another_owner_gets_text_and_calls_and_no_mark_of_the_context(other):
    own = make_adapter("custom", model="own")
    calls = [function("ping", '{"a":1}', id="a", extra_content=SIGNED)]
    message = turn(own, {"content": "x", "reasoning_content": "hm", "reasoning_details": DETAILS, "tool_calls": calls})
    assert "hm" in str(replayed(own, message))
    assert replayed(other, message) == {
        "role": "assistant",
        "content": "x",
        "tool_calls": [function("ping", '{"a":1}', id="a")],
    }


def test_from_a_to_b_and_back_to_a_each_gets_its_own():
    deepseek, openrouter = make_adapter("deepseek", model="a"), make_adapter("openrouter", model="b")
    first = turn(deepseek, {"content": "1", "reasoning_content": "hm"})
    second = turn(openrouter, {"content": "2", "reasoning_details": DETAILS})
    assert messages_sent(deepseek, HELLO, first, HELLO, second)[1::2] == [
        {"role": "assistant", "content": "1", "reasoning_content": "hm"},
        {"role": "assistant", "content": "2"},
    ]
    assert messages_sent(openrouter, HELLO, first, HELLO, second)[1::2] == [
        {"role": "assistant", "content": "1"},
        {"role": "assistant", "content": "2", "reasoning_details": DETAILS},
    ]


@pytest.mark.parametrize("profile", ["groq", "xai", "openai"])
def test_an_endpoint_that_refuses_the_fields_does_not_get_them_back(profile):
    adapter = make_adapter(profile)
    message = turn(adapter, {"content": "x", "reasoning_content": "hm"})
    assert message.provider_state is not None
    assert replayed(adapter, message) == {"role": "assistant", "content": "x"}


def test_deepseek_gets_a_blank_where_calls_came_from_elsewhere():
    foreign = ChatMessage.assistant_tool_calls([ToolCall(id="a", name="ping")])
    assert replayed(make_adapter("deepseek"), foreign)["reasoning_content"] == ""
    assert "reasoning_content" not in replayed(make_adapter("deepseek"), ChatMessage.assistant("x"))


CALL = [ToolCall(id="a", name="ping")]


@pytest.mark.parametrize(
    "items",
    [
        [{"reasoning_content": 7}],
        [{"reasoning_details": "x"}],
        [{"reasoning_details": ["x"]}],
        [{"content": [7]}],
        [{"extra_content": []}],
        [{"something": "else"}],
        ["text"],
        [{"reasoning_content": "a"}, {"reasoning_content": "b"}],
        [{"calls": []}],
        [{"calls": [{}, {}]}],
        [{"calls": [{"function": {"name": "other"}}]}],
        [{"calls": [{"id": "b"}]}],
        [{"calls": ["x"]}],
    ],
)
def test_damaged_context_of_our_own_is_refused_before_any_request(items):
    adapter = make_adapter("custom")
    state = ProviderState(owner=adapter.owner, items=tuple(items))
    message = ChatMessage.assistant_tool_calls(CALL, "x", state)
    with pytest.raises(ProviderStateError, match="nothing was sent"):
        adapter.request(make_request(HELLO, message))
    assert messages_sent(make_adapter("custom", model="other"), HELLO, message)[1]["content"] == "x"


def test_context_of_another_version_is_refused():
    adapter = make_adapter("custom")
    state = ProviderState(owner=adapter.owner, version=2, items=())
    with pytest.raises(ProviderStateError):
        adapter.request(make_request(HELLO, ChatMessage.assistant("x", provider_state=state)))


@pytest.mark.parametrize("items", [None, (), ({},)])
def test_bindings_alone_and_an_empty_list_are_nothing_to_give_back(items):
    adapter = make_adapter("custom")
    state = ProviderState(owner=adapter.owner, items=items, tool_call_bindings={"a": "b"})
    assert replayed(adapter, ChatMessage.assistant("x", provider_state=state)) == {"role": "assistant", "content": "x"}
