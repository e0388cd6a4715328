"""The adapter as a whole: address, headers, marks for the cache, errors, models."""

import json

import pytest

from llm_foundation.chat import ChatMessage
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContentRefused,
    ContextLengthExceeded,
    InvalidRequest,
    ModelNotFound,
    Overloaded,
    PermissionRefused,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    SecretUnavailable,
    ServerError,
    TimedOut,
    UnusableConfiguration,
)
from llm_foundation.providers.anthropic.models import traits_of
from tests.providers.anthropic_builders import SEARCH, SONNET_4_5, assistant, make_claude, message, result, said, user
from tests.providers.builders import FIND, HELLO, REFUND, answered, call, make_request, sent

CLAUDE = make_claude()


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://gateway.example/anthropic", "https://gateway.example/anthropic/v1/messages"),
        ("https://gateway.example/v1/messages", "https://gateway.example/v1/messages"),
    ],
)
def test_where_requests_go(base_url, url):
    assert make_claude(base_url=base_url).request(make_request()).url == url


def test_headers_of_a_plain_and_of_a_streaming_request():
    fixed = {"x-api-key": "a-key", "anthropic-version": "2023-06-01", "content-type": "application/json"}
    assert CLAUDE.request(make_request()).headers == fixed | {"accept": "application/json"}
    assert CLAUDE.request(make_request(stream=True)).headers == fixed | {"accept": "text/event-stream"}
    assert sent(CLAUDE, make_request(stream=True))["stream"] is True


def test_an_endpoint_may_want_the_key_as_a_bearer():
    headers = make_claude(options={"key_header": "authorization"}).request(make_request()).headers
    assert headers["authorization"] == "Bearer a-key"
    assert "x-api-key" not in headers


def test_a_provider_without_a_key_gets_none():
    assert "x-api-key" not in make_claude(key=None).request(make_request()).headers


def test_a_key_with_a_line_break_is_refused():
    with pytest.raises(SecretUnavailable, match="'shop'"):
        make_claude(key="a\nkey")


def test_features_in_beta_are_named_once_each_by_provider_configuration_and_header():
    adapter = make_claude(options={"betas": ["b", "c"], "headers": {"Anthropic-Beta": "a"}})
    extra = {"betas": ["c", "d"]}
    request = make_request(options={"extra": extra})
    assert adapter.request(request).headers["anthropic-beta"] == "a,b,c,d"
    assert "betas" not in sent(adapter, request)


@pytest.mark.parametrize("betas", ["b", [7], ["b\n"]])
def test_names_of_features_that_are_none_are_left_out(betas):
    request = make_request(options={"extra": {"betas": betas}})
    assert "anthropic-beta" not in CLAUDE.request(request).headers
    assert answered(CLAUDE, message("x"), request=request).metadata["dropped_options"] == ["extra.betas"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"betas": "b"}, "'betas' must be a list"),
        ({"betas": ["a\nb"]}, "'betas' must be a list"),
        ({"api_version": "2023\n"}, "'api_version' must be a date"),
        ({"api_version": 7}, "'api_version' must be a date"),
        ({"prompt_cache": True}, "'prompt_cache' must be one of 'auto', 'always', 'off'"),
        ({"cache_ttl": "1d"}, "'cache_ttl' must be one of '5m', '1h'"),
        ({"thinking_display": []}, "'thinking_display'"),
        ({"stale_thinking": "x"}, "'stale_thinking' must be one of 'drop_block', 'error', None"),
        ({"key_header": "x"}, "'key_header'"),
        ({"headers": {"x": 7}}, "'headers'"),
    ],
)
def test_options_of_a_provider_that_make_no_sense_are_named(options, told):
    with pytest.raises(UnusableConfiguration, match=told):
        make_claude(options=options)


MARK = {"cache_control": {"type": "ephemeral"}}
RULES = ChatMessage.system("Be brief.")
TURN = [ChatMessage.assistant_tool_calls([call(id="1")]), ChatMessage.tool_result("1", "x")]


def cached(*messages, provider=None, **fields):
    return sent(make_claude(options={"prompt_cache": "auto"} | (provider or {})), make_request(*messages, **fields))


def test_tools_system_and_the_last_message_are_marked_for_the_cache_where_steps_follow():
    body = cached(RULES, HELLO, *TURN, tools=(FIND, REFUND))
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, {"type": "ephemeral"}]
    assert body["system"] == [said("Be brief.") | MARK]
    assert body["messages"][0] == user("Hello")
    assert body["messages"][-1] == user(result("1", said("x")) | MARK)


def test_a_conversation_that_goes_on_is_marked_without_tools_too():
    body = cached(RULES, HELLO, ChatMessage.assistant("Hi."), ChatMessage.user("Tea?"))
    assert body["messages"][-1] == user(said("Tea?") | MARK)


def test_a_single_question_is_not_marked_because_writing_to_the_cache_costs():
    assert "cache_control" not in json.dumps(cached(RULES, HELLO))
    assert "cache_control" in json.dumps(cached(RULES, HELLO, provider={"prompt_cache": "always"}))


@pytest.mark.parametrize(
    ("provider", "extra"), [({"prompt_cache": "off"}, {}), ({}, {"cache_control": None})], ids=["provider", "call"]
)
def test_marks_can_be_switched_off(provider, extra):
    body = cached(RULES, HELLO, *TURN, provider=provider, tools=(FIND,), options={"extra": extra})
    assert "cache_control" not in json.dumps(body)


def test_the_operators_own_mark_replaces_ours():
    own = {"type": "ephemeral", "ttl": "1h"}
    body = cached(RULES, HELLO, tools=(FIND,), options={"extra": {"cache_control": own}})
    assert body.pop("cache_control") == own
    assert "cache_control" not in json.dumps(body)


def test_a_longer_time_in_the_cache():
    body = cached(HELLO, tools=(FIND,), provider={"cache_ttl": "1h"})
    assert body["tools"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_a_tool_that_loads_later_is_not_marked():
    later = {"name": "later", "input_schema": {"type": "object"}, "defer_loading": True}
    body = cached(HELLO, tools=(FIND,), options={"extra": {"tools": [later]}})
    assert ["cache_control" in tool for tool in body["tools"]] == [True, False]


def test_a_paused_turn_is_not_marked_but_the_message_before_it():
    adapter = make_claude(options={"prompt_cache": "auto"})
    paused = answered(adapter, message("I look.", SEARCH, stop="pause_turn")).to_message()
    assert sent(adapter, make_request(HELLO, paused))["messages"] == [
        user(said("Hello") | MARK),
        assistant("I look.", SEARCH),
    ]


def test_the_same_conversation_has_the_same_bytes_however_often_it_is_sent():
    request = make_request(RULES, HELLO, *TURN, tools=(FIND,))
    assert CLAUDE.request(request).body == CLAUDE.request(request).body


def failed(status: int, body, headers=None) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ProviderError) as raised:
        CLAUDE.response(status, headers or {}, raw)
    return raised.value


def said_error(kind: str, text: str) -> dict:
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}


@pytest.mark.parametrize(
    ("status", "kind", "text", "expected"),
    [
        (400, "invalid_request_error", "messages: at least one message is required", InvalidRequest),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextLengthExceeded),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000",
            ContextLengthExceeded,
        ),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", QuotaExhausted),
        (400, "invalid_request_error", "Output blocked by content filtering policy", ContentRefused),
        (401, "authentication_error", "invalid x-api-key", AuthenticationFailed),
        (402, "billing_error", "Please pay.", QuotaExhausted),
        (403, "permission_error", "Your key may not do that.", PermissionRefused),
        (404, "not_found_error", "model: claude-9", ModelNotFound),
        (413, "request_too_large", "Request exceeds the maximum size", ContextLengthExceeded),
        (429, "rate_limit_error", "This request would exceed your limit", RateLimited),
        (500, "api_error", "Internal server error", ServerError),
        (504, "timeout_error", "Request timed out", TimedOut),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ],
)
def test_errors_have_their_types(status, kind, text, expected):
    error = failed(status, said_error(kind, text))
    assert (type(error), error.status, error.message) == (expected, status, text)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("api_error", ServerError),
        ("timeout_error", TimedOut),
        ("authentication_error", AuthenticationFailed),
        ("of_tomorrow", ServerError),
    ],
)
def test_errors_of_status_200_have_their_types_too(kind, expected):
    assert type(failed(200, said_error(kind, "It went wrong."))) is expected


def test_an_error_says_how_long_to_wait_and_the_providers_own_name_for_it():
    error = failed(429, said_error("rate_limit_error", "Slow."), {"retry-after": "7", "request-id": "req_1"})
    assert (error.retry_after, error.request_id, error.provider, error.model) == (7.0, "req_1", "shop", SONNET_4_5)


@pytest.mark.parametrize("body", [b"", b"<html><title>502 Bad Gateway</title></html>", b"[1]", b'"x"', b"{}", b"\xff"])
def test_any_body_of_an_error_is_read(body):
    assert isinstance(failed(502, body), ServerError)


def test_an_error_never_shows_the_key():
    error = failed(400, said_error("invalid_request_error", "a-key is no key, nor is sk-ant-api03-abcdefghijk"))
    assert "a-key" not in str(error)
    assert "api03" not in str(error)


@pytest.mark.parametrize(
    ("model", "same_as"),
    [
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-4-opus-20250514", "claude-opus-4-20250514"),
        ("claude-opus-4-8@20260528", "claude-opus-4-8"),
        ("us.anthropic.claude-opus-4-8-v1:0", "claude-opus-4-8"),
        ("anthropic/claude-sonnet-5.5", "claude-sonnet-5-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-opus-5-6", "claude-opus-5-5"),
        ("claude-mythos-preview", "claude-mythos-5"),
        ("claude-fable-6", "claude-fable-5-2"),
    ],
)
def test_models_are_known_by_family_and_version(model, same_as):
    assert traits_of(model) == traits_of(same_as)
    assert traits_of(model).max_output in (8_192, 32_000, 64_000, 128_000)


def test_a_model_of_another_family_has_no_traits():
    assert traits_of("kimi-k2") == traits_of("claude-2.1") == traits_of("")
