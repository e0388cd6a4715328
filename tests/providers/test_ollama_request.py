"""Requests to Ollama: address, headers, options, thinking, structured answers."""

import pytest

from llm_foundation.exceptions import SecretUnavailable, UnusableConfiguration
from llm_foundation.providers.registry import adapter_class
from tests.providers.builders import FIND, make_request, sent
from tests.providers.ollama_builders import CLOUD, GPT_OSS, QWEN, make_ollama, read
from tests.providers.ollama_types import objections

OLLAMA = make_ollama()
ANSWER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def options_sent(adapter, **options):
    body = sent(adapter, make_request(options=options))
    assert objections(body) == []
    return body.get("options", {})


def dropped(adapter, *, tools=(), choice="auto", **options):
    request = make_request(tools=tools, tool_choice=choice, options=options)
    return adapter.dropped_options(request)


def think(adapter, effort):
    return sent(adapter, make_request(options={"reasoning_effort": effort})).get("think")


def test_the_registry_knows_it():
    assert adapter_class("ollama").name == "ollama"


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("", "http://localhost:11434/api/chat"),
        ("http://gpu.lan:11434/", "http://gpu.lan:11434/api/chat"),
        ("https://ollama.com", "https://ollama.com/api/chat"),
        ("https://ollama.com/api", "https://ollama.com/api/chat"),
        ("http://localhost:11434/api/chat", "http://localhost:11434/api/chat"),
        ("http://localhost:11434/v1", "http://localhost:11434/api/chat"),
        ("https://proxy.example/ollama", "https://proxy.example/ollama/api/chat"),
    ],
)
def test_where_requests_go(base_url, url):
    assert make_ollama(base_url=base_url).request(make_request()).url == url


def test_headers_with_a_key_and_without():
    plain = OLLAMA.request(make_request())
    assert (plain.method, plain.headers) == (
        "POST",
        {"content-type": "application/json", "accept": "application/json"},
    )
    keyed = make_ollama(key="a-key", options={"headers": {"X-Team": "shop"}}).request(make_request(stream=True))
    assert keyed.headers == {
        "x-team": "shop",
        "authorization": "Bearer a-key",
        "content-type": "application/json",
        "accept": "application/x-ndjson",
    }


def test_a_key_with_a_line_break_is_refused():
    with pytest.raises(SecretUnavailable, match="'shop'"):
        make_ollama(key="a\nkey")


def test_the_whole_body_of_a_plain_request():
    assert sent(OLLAMA, make_request()) == {
        "model": QWEN,
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": False,
        "truncate": False,
        "shift": False,
    }


def test_a_stream_is_asked_for():
    assert sent(OLLAMA, make_request(stream=True))["stream"] is True


def test_options_have_their_names_and_their_place():
    asked = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 100, "stop": ["a", "b"]}
    asked |= {"frequency_penalty": 0.1, "presence_penalty": 0.2}
    assert options_sent(OLLAMA, **asked) == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "num_predict": 100,
        "stop": ["a", "b"],
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
    }
    assert dropped(OLLAMA, **asked) == ()


def test_a_model_that_refuses_sampling_gets_none():
    adapter = make_ollama(supports_sampling=False)
    assert options_sent(adapter, temperature=1, seed=3) == {"seed": 3}
    assert dropped(adapter, temperature=1, seed=3) == ("temperature",)


def test_no_more_tokens_are_asked_for_than_the_model_writes():
    adapter = make_ollama(max_output_tokens=50)
    assert options_sent(adapter, max_tokens=100) == {"num_predict": 50}
    assert dropped(adapter, max_tokens=100) == ("max_tokens",)
    assert dropped(adapter, max_tokens=50) == ()


def test_the_context_that_the_record_names_is_asked_for():
    assert options_sent(make_ollama(context_window=32_768)) == {"num_ctx": 32_768}


@pytest.mark.parametrize(
    "adapter",
    [
        make_ollama(),
        make_ollama(context_window=32_768, options={"num_ctx": False}),
        make_ollama(CLOUD, context_window=32_768),
        make_ollama("gpt-oss:120b-cloud", context_window=32_768),
        make_ollama(context_window=32_768, base_url="https://ollama.com"),
    ],
)
def test_the_server_decides_where_nobody_knows_better(adapter):
    assert options_sent(adapter) == {}


def test_the_operator_has_the_last_word():
    extra = {"options": {"num_ctx": 8192, "min_p": 0.1}, "keep_alive": "10m", "think": "max", "truncate": True}
    body = sent(make_ollama(context_window=4096), make_request(options={"seed": 1, "extra": extra}))
    assert body["options"] == {"num_ctx": 8192, "seed": 1, "min_p": 0.1}
    assert (body["keep_alive"], body["think"], body["truncate"], body["shift"]) == ("10m", "max", True, False)


def test_extra_cannot_replace_what_the_rest_relies_on():
    extra = {"messages": [], "model": "other", "stream": True, "tools": [], "options": 3}
    body = sent(OLLAMA, make_request(options={"extra": extra}))
    assert (body["model"], body["stream"], len(body["messages"])) == (QWEN, False, 1)
    assert not {"tools", "options"} & body.keys()
    assert dropped(OLLAMA, extra=extra) == (
        "extra.options",
        "extra.messages",
        "extra.model",
        "extra.stream",
        "extra.tools",
    )


@pytest.mark.parametrize("name", ["num_ctx", "think_levels"])
def test_a_switch_that_is_none_is_refused(name):
    with pytest.raises(UnusableConfiguration, match=f"'shop'.*{name}"):
        make_ollama(options={name: "yes"})


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@pytest.mark.parametrize(
    ("adapter", "words", "lost"),
    [
        (OLLAMA, [False, True, True, True, True, True, True], EFFORTS[1:]),
        (make_ollama(GPT_OSS, supports_reasoning=False), [None, "low", "low", "medium", "high", "high", "high"], None),
        (
            make_ollama(CLOUD),
            [False, "low", "low", "medium", "high", "max", "max"],
            ("minimal", "xhigh"),
        ),
        (
            make_ollama(options={"think_levels": True}),
            [False, "low", "low", "medium", "high", "max", "max"],
            ("minimal", "xhigh"),
        ),
        (make_ollama("llama3.2", supports_reasoning=False), [None] * 7, EFFORTS),
    ],
)
def test_effort_is_said_as_far_as_model_and_server_have_words_for_it(adapter, words, lost):
    lost = ("none", "minimal", "xhigh", "max") if lost is None else lost
    assert [think(adapter, effort) for effort in EFFORTS] == words
    named = tuple(effort for effort in EFFORTS if dropped(adapter, reasoning_effort=effort) == ("reasoning_effort",))
    assert named == lost


def test_without_an_effort_nothing_is_said_about_thinking():
    assert "think" not in sent(OLLAMA, make_request())


def test_a_schema_for_the_answer_is_its_format():
    body = sent(OLLAMA, make_request(options={"response_schema": {"schema": ANSWER}}))
    assert body["format"] == ANSWER
    assert objections(body) == []


def test_patterns_are_left_out_of_it_but_not_properties_of_that_name():
    text = {"type": "string", "pattern": "^x$"}
    schema = {
        "type": "object",
        "properties": {"pattern": text, "any": True, "list": {"type": "array", "items": text}},
        "$defs": {"Code": text},
        "additionalProperties": text,
        "default": {"pattern": "kept"},
    }
    body = sent(OLLAMA, make_request(options={"response_schema": {"schema": schema}}))
    assert body["format"] == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "any": {},
            "list": {"type": "array", "items": {"type": "string"}},
        },
        "$defs": {"Code": {"type": "string"}},
        "additionalProperties": {"type": "string"},
        "default": {"pattern": "kept"},
    }


def test_a_schema_is_left_out_beside_tools_which_would_never_be_called():
    asked = {"response_schema": {"schema": ANSWER}}
    assert "format" not in sent(OLLAMA, make_request(tools=(FIND,), options=asked))
    assert dropped(OLLAMA, tools=(FIND,), **asked) == ("response_schema",)
    assert "format" in sent(OLLAMA, make_request(tools=(FIND,), tool_choice="none", options=asked))


def test_a_model_without_structured_answers_gets_no_schema():
    adapter = make_ollama(supports_json_schema=False)
    assert dropped(adapter, response_schema={"schema": ANSWER}) == ("response_schema",)


def test_the_answer_names_what_was_left_out():
    request = make_request(options={"reasoning_effort": "high"})
    response = OLLAMA.response(200, {}, b'{"message":{"content":"x"},"done":true}', chat_request=request)
    assert response.metadata["dropped_options"] == ["reasoning_effort"]
    assert "dropped_options" not in read(OLLAMA, "x").metadata
