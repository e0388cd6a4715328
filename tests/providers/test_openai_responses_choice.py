"""Which of OpenAI's two formats carries a request."""

import json

import pytest

from llm_foundation.chat import ChatMessage
from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build
from tests.providers.builders import FIND, HELLO, completion, make_adapter, make_request
from tests.providers.responses_builders import OPENAI, called, end, events, output, responses_adapter, said, thought

CHAT, RESPONSES = "/chat/completions", "/responses"


def openai(model: str, *, base_url: str = "", options=None, **spec):
    provider = ProviderSpec(name="shop", adapter="openai", base_url=base_url, options=options or {})
    return build(provider, ModelSpec(model_id=model, **spec), Secret("a-key"))


def goes_to(adapter, *messages, tools=(), **options) -> str:
    url = adapter.request(make_request(*messages, tools=tools, options=options)).url
    return url[url.index("/v1") + 3 :]


@pytest.mark.parametrize(
    ("model", "effort", "without_tools", "with_tools"),
    [
        ("gpt-4o", None, CHAT, CHAT),
        ("gpt-5", "high", CHAT, CHAT),
        ("o3", "low", CHAT, CHAT),
        ("gpt-6-astra", None, CHAT, RESPONSES),
        ("gpt-6-astra", "low", CHAT, RESPONSES),
        ("gpt-6-sol", None, CHAT, RESPONSES),
        ("gpt-6-sol", "high", CHAT, RESPONSES),
        ("gpt-6-sol", "none", CHAT, CHAT),
        ("gpt-6-luna-2026-09-01", None, CHAT, RESPONSES),
        ("gpt-5.6", None, CHAT, RESPONSES),
        ("gpt-5.6-terra", "none", CHAT, CHAT),
        ("gpt-5.4", None, CHAT, CHAT),
        ("gpt-5.4", "low", CHAT, RESPONSES),
        ("gpt-5.2", "none", CHAT, CHAT),
        ("gpt-5-codex", None, RESPONSES, RESPONSES),
        ("gpt-5-pro", None, RESPONSES, RESPONSES),
        ("o3-pro-2025-06-10", None, RESPONSES, RESPONSES),
        ("heard-of-never", None, CHAT, CHAT),
    ],
)
def test_on_openais_own_host_the_model_and_the_request_decide(model, effort, without_tools, with_tools):
    adapter = openai(model)
    assert goes_to(adapter, reasoning_effort=effort) == without_tools
    assert goes_to(adapter, reasoning_effort=effort, tools=(FIND,)) == with_tools


def test_an_effort_in_the_operators_own_words_counts_as_well():
    assert goes_to(openai("gpt-6-sol"), tools=(FIND,), extra={"reasoning_effort": "none"}) == CHAT
    assert goes_to(openai("gpt-5.4"), tools=(FIND,), extra={"reasoning_effort": "low"}) == RESPONSES


def test_words_that_only_responses_knows_ask_for_it():
    assert goes_to(openai("gpt-5"), extra={"reasoning": {"summary": "auto"}}) == RESPONSES
    assert goes_to(openai("gpt-5"), extra={"service_tier": "flex"}) == CHAT


def test_tools_that_the_model_cannot_take_do_not_count():
    assert goes_to(openai("gpt-6-astra", supports_tools=False), tools=(FIND,)) == CHAT


@pytest.mark.parametrize(
    ("base_url", "chooses"),
    [
        ("https://api.openai.com/v1", True),
        ("https://API.openai.com/v1/", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://gateway.example/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evil.example/api.openai.com/v1", False),
        ("http://localhost:4000/v1", False),
    ],
)
def test_only_openais_own_host_is_sure_to_have_both(base_url, chooses):
    assert goes_to(openai("gpt-6-astra", base_url=base_url), tools=(FIND,)) == (RESPONSES if chooses else CHAT)


def test_an_endpoint_that_is_another_vendors_uses_responses_only_if_told_to():
    assert (
        goes_to(make_adapter("azure", model="gpt-6-astra", base_url="https://r.example/openai/v1"), tools=(FIND,))
        == CHAT
    )
    assert goes_to(responses_adapter("xai", model="grok-4.3")) == RESPONSES


@pytest.mark.parametrize("api", ["responses", "chat_completions"])
def test_a_provider_or_a_configuration_may_force_either(api):
    expected = RESPONSES if api == "responses" else CHAT
    assert goes_to(openai("gpt-6-astra", options={"api": api}), tools=(FIND,)) == expected
    assert goes_to(openai("gpt-4o", options={"api": api})) == expected
    assert goes_to(openai("gpt-4o"), extra={"api": api}) == expected
    other = "chat_completions" if api == "responses" else "responses"
    assert goes_to(openai("gpt-4o", options={"api": other}), extra={"api": api}) == expected


@pytest.mark.parametrize("api", ["responses", "chat_completions"])
def test_the_word_that_forces_is_not_sent(api):
    asked = make_request(options={"extra": {"api": api, "user": "u"}})
    body = json.loads(openai("gpt-4o").request(asked).body)
    assert "api" not in body
    assert body["user"] == "u"


def test_nothing_is_forced_by_an_empty_word_and_no_other_word_is_taken():
    assert goes_to(openai("gpt-4o", options={"api": ""})) == CHAT
    with pytest.raises(UnusableConfiguration, match="'shop': its option 'api' cannot be 'completions'"):
        openai("gpt-4o", options={"api": "completions"})
    with pytest.raises(UnusableConfiguration, match=r"extra.api cannot be 7; it is 'chat_completions' or 'responses'"):
        goes_to(openai("gpt-4o"), extra={"api": 7})


def test_answers_and_streams_are_read_in_the_format_of_their_request():
    adapter = openai("gpt-6-astra")
    plain, with_tools = make_request(), make_request(tools=(FIND,))
    answers = {id(plain): completion({"content": "x"}), id(with_tools): output(said("x"))}
    for asked in (plain, with_tools):
        body = json.dumps(answers[id(asked)]).encode()
        assert adapter.response(200, {}, body, chat_request=asked).content == "x"
    decoder = adapter.stream(with_tools)
    decoder.feed(events(end(said("x"))))
    assert decoder.finish().content == "x"
    forced = openai("gpt-4o", options={"api": "responses"})
    assert forced.response(200, {}, json.dumps(output(said("x"))).encode()).content == "x"


def test_options_that_are_dropped_are_those_of_the_format_that_is_used():
    adapter = openai("gpt-6-sol")
    asked = make_request(tools=(FIND,), options={"reasoning_effort": "high", "seed": 1})
    response = adapter.response(200, {}, json.dumps(output(said("x"))).encode(), chat_request=asked)
    assert response.metadata["dropped_options"] == ["seed"]
    on_chat = openai("gpt-5.4", options={"api": "chat_completions"})
    asked = make_request(tools=(FIND,), options={"reasoning_effort": "high"})
    assert "reasoning_effort" not in json.loads(on_chat.request(asked).body)
    response = on_chat.response(200, {}, json.dumps(completion({"content": "x"})).encode(), chat_request=asked)
    assert response.metadata["dropped_options"] == ["reasoning_effort"]


def test_a_conversation_with_context_from_responses_stays_there():
    adapter = openai("gpt-6-astra")
    asked = make_request(HELLO, tools=(FIND,))
    answer = adapter.response(200, {}, json.dumps(output(thought(), called())).encode(), chat_request=asked)
    history = [HELLO, answer.to_message(), ChatMessage.tool_result("call_1", "x")]
    assert goes_to(adapter, *history) == RESPONSES
    body = json.loads(adapter.request(make_request(*history)).body)
    assert body["input"][1:3] == [thought(), called()]
    assert goes_to(openai("gpt-4o"), *history) == CHAT


def test_the_owner_is_that_of_the_format_that_is_forced():
    assert openai("gpt-4o").owner.adapter == "openai"
    forced = openai("gpt-4o", options={"api": "responses"})
    assert forced.owner.adapter == "openai:responses"
    assert forced.owner.base_url == OPENAI


def test_the_key_shows_in_no_repr():
    adapter = responses_adapter(key="sk-very-secret")
    assert "very-secret" not in f"{adapter.request(make_request())!r} {adapter.responses.dialect!r} {adapter.owner!r}"
