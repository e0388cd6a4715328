"""``llm.chat`` and ``llm.stream`` over real HTTP."""

import sys
from contextlib import aclosing
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from llm_foundation import ChatOptions, llm
from llm_foundation.chat.stream import StreamCompleted, TextDelta, ToolCallDelta, ToolCallStarted
from llm_foundation.exceptions import (
    IncompleteStream,
    InvalidMessage,
    ProviderError,
    RateLimited,
    TrustCeilingExceeded,
    UnknownConfiguration,
    UnusableConfiguration,
)
from llm_foundation.models import Configuration, LanguageModel, Provider
from llm_foundation.pipeline.completion import completion_call
from llm_foundation.vocabulary import DataClass
from tests.loopback import answer, chunks, close_early, events
from tests.practice import calls, completion, desk, text
from tests.scripted_server import Behaviour

pytestmark = pytest.mark.django_db(transaction=True)


def delta(**content: object) -> dict[str, object]:
    return {"id": "chatcmpl-1", "model": "practice", "choices": [{"index": 0, "delta": content, "finish_reason": None}]}


END = {"id": "chatcmpl-1", "model": "practice", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def test_three_lines_of_code_ask_the_configured_model() -> None:
    with desk() as here:
        Configuration.objects.update(system_prompt="Be kind.", options={"temperature": 0.5})
        here.model.says(text("Hello."))
        response = llm.chat("support", "Hi")

        assert response.content == "Hello."
        assert response.metadata["provider"] == "practice"
        assert response.metadata["configuration"] == "support"
        body = here.model.asked[0]
    assert body["messages"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    assert (body["model"], body["temperature"]) == ("practice", 0.5)
    assert "tools" not in body


def test_the_callers_options_stand_over_the_configurations() -> None:
    with desk() as here:
        Configuration.objects.update(options={"temperature": 0.5, "max_tokens": 100})
        here.model.says(text("Hello."))
        llm.chat("support", "Hi", options=ChatOptions(temperature=0))
        assert (here.model.asked[0]["temperature"], here.model.asked[0]["max_tokens"]) == (0, 100)


def test_calls_of_a_plain_chat_are_given_back_and_not_executed() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"))
        response = llm.chat("support", "Where is order 1?", tools=["find_order", "rocket"])
    assert response.tool_calls[0].arguments == {"number": "1"}
    assert response.metadata["refused_tools"] == {"rocket": "There is no tool of this name."}


def test_a_stream_gives_the_text_as_it_comes_and_then_the_whole_response() -> None:
    with desk() as here:
        here.model.says(events(delta(role="assistant", content="Hel"), delta(content="lo."), END, USAGE))
        *deltas, last = llm.stream("support", "Hi")

    assert deltas == [TextDelta(text="Hel"), TextDelta(text="lo.")]
    assert isinstance(last, StreamCompleted)
    assert (last.response.content, last.response.usage.input_tokens) == ("Hello.", 7)
    assert last.response.metadata["provider"] == "practice"


async def _astreamed() -> None:
    async with aclosing(llm.astream("support", "Hi")) as stream:
        assert [event async for event in stream]


@pytest.mark.parametrize(
    "ask", [lambda: list(llm.stream("support", "Hi")), async_to_sync(_astreamed)], ids=["sync", "async"]
)
def test_who_wants_a_stream_asks_the_provider_for_one(ask: Any) -> None:
    """A server that streams only on request would answer all at once, and everybody would wait."""
    with desk() as here:
        here.model.says(text("Hello."))
        ask()
        llm.chat("support", "Hi")
        streamed, plain = here.model.asked
    assert (streamed["stream"], "stream" in plain) == (True, False)


def test_a_server_that_answers_a_stream_with_plain_json_is_understood() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"))
        started, arguments, last = llm.stream("support", "Hi", tools=["find_order"])

    assert isinstance(started, ToolCallStarted)
    assert started.name == "find_order"
    assert arguments == ToolCallDelta(index=0, arguments='{"number":"1"}')
    assert isinstance(last, StreamCompleted)
    assert last.response.has_tool_calls


def test_what_is_wrong_before_contact_is_raised_at_the_call_not_at_the_first_event() -> None:
    with desk():
        with pytest.raises(UnknownConfiguration):
            llm.stream("nobody", "Hi")
        with pytest.raises(InvalidMessage):
            llm.stream("support", [{"role": "nobody", "content": "Hi"}])


def test_a_stream_that_its_model_cannot_serve_is_refused_at_the_call_too() -> None:
    with desk("find_order") as here:
        LanguageModel.objects.update(supports_tools=False)
        with pytest.raises(UnusableConfiguration, match="cannot call any"):
            llm.stream("support", "Where is order 1?", tools=["find_order"])
        assert here.model.asked == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tool_choice": "maybe"}, "tool_choice: must be 'auto', 'none', 'required' or NamedTool(…)"),
        ({"tool_choice": {"type": "function"}}, "tool_choice: must be 'auto', 'none', 'required' or NamedTool(…)"),
        ({"options": {"temperature": 1}}, "options: must be ChatOptions(…)"),
    ],
)
def test_an_argument_of_the_wrong_shape_is_named(wrong: dict[str, Any], told: str) -> None:
    with desk("find_order"), pytest.raises(InvalidMessage) as caught:
        llm.chat("support", "Where is order 1?", tools=["find_order"], **wrong)
    assert str(caught.value) == told


def test_an_error_status_of_a_stream_is_the_same_error() -> None:
    with desk() as here:
        here.model.says(answer(json={"error": {"message": "slow down"}}, status=429))
        with pytest.raises(RateLimited):
            list(llm.stream("support", "Hi"))


def test_a_stream_that_stops_in_the_middle_keeps_what_had_arrived() -> None:
    with desk() as here:
        here.model.says(chunks(b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'))
        with pytest.raises(IncompleteStream) as caught:
            list(llm.stream("support", "Hi"))
    assert caught.value.partial is not None
    assert caught.value.partial.content == "Hel"
    assert caught.value.provider == "practice"


def test_a_refusal_is_an_answer() -> None:
    with desk() as here:
        here.model.says(completion({"role": "assistant", "content": None, "refusal": "I will not."}, "stop"))
        response = llm.chat("support", "Hi")
    assert (response.refusal, response.to_message().text) == ("I will not.", "I will not.")


def test_a_provider_whose_zone_may_not_see_what_the_conversation_holds_is_not_contacted() -> None:
    with desk() as here:
        Provider.objects.update(trust_zone="external")
        from dataclasses import replace

        call = replace(completion_call("support", "Hi"), high_water=DataClass.CONFIDENTIAL)
        with pytest.raises(TrustCeilingExceeded, match="Nothing was sent"):
            call.perform()
        with pytest.raises(TrustCeilingExceeded):
            list(call.stream())
        assert here.model.asked == []


async def test_the_async_twins_do_the_same() -> None:
    enter = desk()
    here = await sync_to_async(enter.__enter__)()
    try:
        here.model.says(text("Hello."), events(delta(content="Hello."), END))
        response = await llm.achat("support", "Hi")
        streamed = [event async for event in llm.astream("support", "Hi")]
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    assert response.content == "Hello."
    assert streamed[0] == TextDelta(text="Hello.")
    assert isinstance(streamed[-1], StreamCompleted)


async def test_who_stops_listening_early_leaves_nothing_to_the_garbage_collector() -> None:
    enter = desk()
    here = await sync_to_async(enter.__enter__)()
    hooks, left_open = sys.get_asyncgen_hooks(), list[Any]()
    try:
        here.model.says(events(*[delta(content="Hel") for _ in range(5)], END))
        sys.set_asyncgen_hooks(finalizer=left_open.append)
        async with aclosing(llm.astream("support", "Hi")) as stream:
            assert await anext(stream) == TextDelta(text="Hel")
        assert left_open == []
    finally:
        sys.set_asyncgen_hooks(*hooks)
        await sync_to_async(enter.__exit__)(None, None, None)


@pytest.mark.parametrize(
    "broken",
    [
        chunks(b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n', b'data: {"error":{"code":429}}\n\n'),
        close_early(b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n', content_type="text/event-stream"),
    ],
    ids=["an error in the stream", "the connection breaks"],
)
async def test_whatever_ends_a_stream_early_what_had_arrived_is_on_the_error(broken: Behaviour) -> None:
    enter = desk()
    here = await sync_to_async(enter.__enter__)()
    try:
        here.model.says(broken, broken)
        with pytest.raises(ProviderError) as caught:
            [event async for event in llm.astream("support", "Hi")]
        with pytest.raises(ProviderError) as caught_by_sync:
            await sync_to_async(lambda: list(llm.stream("support", "Hi")))()
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    for error in (caught.value, caught_by_sync.value):
        assert error.partial is not None
        assert error.partial.content == "Hel"
