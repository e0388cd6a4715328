"""Requests of real conversations, built anew, are accepted by the official package's own request types."""

import json

import pytest

from llm_foundation.chat import ChatMessage, NamedTool
from llm_foundation.exceptions import InvalidRequest
from tests.providers.builders import FIND, call, make_adapter, make_request, sent
from tests.providers.corpus import SHARED, needs_corpus
from tests.providers.official_types import objections
from tests.providers.recorded_requests import objections_to, rebuilt, recorded

ENDPOINTS = ["openai", "azure", "openrouter", "groq", "xai", "together", "fireworks", "vllm", "llama_cpp", "custom"]
LOCAL_MODEL = SHARED / "local-model" / "raw"


@needs_corpus
def test_every_rebuilt_request_is_accepted_without_what_only_its_vendor_takes():
    assert len(recorded()) == 343
    assert {e.id: found for e in recorded() if (found := objections_to(e, vendors_own=False))} == {}


@needs_corpus
def test_all_others_are_accepted_as_they_are():
    refused = [exchange for exchange in recorded() if objections_to(exchange)]
    assert {exchange.profile for exchange in refused} == {"deepseek", "mistral", "openrouter", "custom"}
    assert len(recorded()) - len(refused) == 311


@needs_corpus
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning_details"])
def test_context_goes_back_as_the_recorded_client_sent_it(field):
    compared = 0
    for exchange in recorded():
        if exchange.profile not in ("groq", "xai", "openai", "azure", "ollama"):
            told = [message[field] for message in exchange.request["messages"] if message.get(field)]
            again = [message[field] for message in rebuilt(exchange)["messages"] if message.get(field)]
            assert again == told, exchange.id
            compared += len(told)
    assert compared >= 3


@needs_corpus
def test_recorded_calls_and_results_keep_their_ids():
    for exchange in recorded():
        calls = [call["id"] for message in rebuilt(exchange)["messages"] for call in message.get("tool_calls", [])]
        results = [message["tool_call_id"] for message in rebuilt(exchange)["messages"] if message["role"] == "tool"]
        asked = [call["id"] for message in exchange.request["messages"] for call in message.get("tool_calls") or []]
        assert results == calls
        assert exchange.profile == "openai" or [id for id in asked if len(id) <= 40] == [i for i in calls if i in asked]


@pytest.mark.parametrize("profile", ENDPOINTS)
@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedTool(name="find_order")])
@pytest.mark.parametrize("stream", [False, True])
def test_what_a_full_request_has_is_what_the_official_package_would_send(profile, choice, stream):
    turn = ChatMessage.assistant_tool_calls([call(), call(id="call_2")], "I look it up.")
    strict = FIND.model_copy(update={"strict": True})
    options = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ("END",),
        "seed": 1,
        "parallel_tool_calls": True,
        "response_schema": {"schema": {"type": "object", "properties": {}}},
    }
    request = make_request(
        ChatMessage.system("S"), turn, tools=(strict,), tool_choice=choice, options=options, stream=stream
    )
    assert objections(sent(make_adapter(profile), request)) == []


def test_the_official_types_object_to_what_they_do_not_know():
    body = sent(make_adapter(), make_request())
    assert objections(body | {"unheard_of": 1}) == ["body.unheard_of: unknown"]
    assert objections(body | {"seed": "x"}) != []


def local_answers(suffix: str) -> list[tuple[int, bytes]]:
    """Status and body of the raw answers, which stand as they came, head and all."""
    raw = [path.read_bytes() for path in sorted(LOCAL_MODEL.glob(f"*{suffix}")) if path.name[0] != "m"]
    heads = [answer.partition(b"\r\n\r\n") for answer in raw]
    return [(int(head.split()[1]), body.partition(b"\n#curl")[0]) for head, _, body in heads]


@pytest.mark.skipif(not LOCAL_MODEL.is_dir(), reason="raw answers of a local model (../shared) are not there")
def test_raw_answers_of_a_local_model_are_read_whole_and_byte_by_byte():
    adapter, read = make_adapter("llama_cpp"), []
    for status, body in local_answers(".response.json"):
        if status == 200:
            message = json.loads(body)["choices"][0]["message"]
            response = adapter.response(status, {}, body)
            read.append(response.content == (message["content"] or ""))
            calls = [made.name for made in response.tool_calls]
            read.append(calls == [made["function"]["name"] for made in message.get("tool_calls", [])])
        else:
            with pytest.raises(InvalidRequest):
                adapter.response(status, {}, body)
    for _, body in local_answers(".response.sse"):
        decoder = adapter.stream()
        for place in range(len(body)):
            decoder.feed(body[place : place + 1])
        read.append(decoder.finish().raw_finish_reason in ("stop", "tool_calls"))
    assert len(read) > 20
    assert all(read)
