"""Errors, whatever the body is."""

import json
from typing import Any

import pytest

from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContentRefused,
    ContextLengthExceeded,
    InvalidRequest,
    InvalidResponse,
    ModelNotFound,
    Overloaded,
    PermissionRefused,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerError,
    TimedOut,
)
from tests.providers.builders import make_adapter

ADAPTER = make_adapter(model="gpt-4o", key="shop-key-1234567890")


def error(status: int, body: Any = b"", **headers: str) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with pytest.raises(ProviderError) as caught:
        ADAPTER.response(status, named, raw)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, InvalidResponse),
        (100, InvalidResponse),
        (400, InvalidRequest),
        (401, AuthenticationFailed),
        (402, QuotaExhausted),
        (403, PermissionRefused),
        (404, InvalidRequest),
        (405, InvalidRequest),
        (408, TimedOut),
        (413, ContextLengthExceeded),
        (418, InvalidRequest),
        (422, InvalidRequest),
        (429, RateLimited),
        (498, Overloaded),
        (500, ServerError),
        (502, ServerError),
        (503, Overloaded),
        (504, TimedOut),
        (524, TimedOut),
        (529, Overloaded),
        (599, ServerError),
    ],
)
def test_a_status_alone_says_what_it_is(status, kind):
    raised = error(status)
    assert type(raised) is kind
    assert (raised.status, raised.provider, raised.model, raised.message) == (status, "shop", "gpt-4o", "")


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (400, {"error": {"message": "no", "type": "invalid_request_error"}}, InvalidRequest, "no"),
        (400, {"error": "no"}, InvalidRequest, "no"),
        (400, [{"error": {"message": "no", "code": 400}}], InvalidRequest, "no"),
        (400, {"object": "error", "message": "no", "type": "x", "code": "3230"}, InvalidRequest, "no"),
        (422, {"detail": "no"}, InvalidRequest, "no"),
        (422, {"detail": [{"loc": ["body", "tools"], "msg": "no"}]}, InvalidRequest, "no"),
        (422, {"object": "Error", "message": [{"msg": "no"}], "code": 3001}, InvalidRequest, "no"),
        (422, {"message": {"detail": [{"msg": "no"}]}}, InvalidRequest, "no"),
        (400, {"code": "Client specified an invalid argument", "error": "no"}, InvalidRequest, "no"),
        (400, b"no", InvalidRequest, "no"),
        (400, b'"no"', InvalidRequest, "no"),
        (502, b"<html><head><title>502 Bad Gateway</title></head>", ServerError, "502 Bad Gateway"),
        (500, b"<!DOCTYPE html><body>x", ServerError, "an HTML page"),
        (500, b"\xff\xfe", ServerError, "\ufffd\ufffd"),
        (500, b"[" * 100_000, ServerError, None),
        (500, b"null", ServerError, ""),
        (500, b"[[[[[[]]]]]]", ServerError, ""),
        (500, {"error": {"message": {"deep": [1]}}}, ServerError, ""),
    ],
)
def test_a_body_may_have_any_shape(status, body, kind, message):
    raised = error(status, body)
    assert type(raised) is kind
    assert message is None or raised.message == message


@pytest.mark.parametrize(
    ("status", "entry", "kind"),
    [
        (400, {"code": "context_length_exceeded"}, ContextLengthExceeded),
        (400, {"message": "9000 tokens, but the maximum context is 8192"}, ContextLengthExceeded),
        (400, {"message": "The prompt is too long, by 5 tokens"}, ContextLengthExceeded),
        (400, {"type": "exceed_context_size_error", "message": "exceeds the available context"}, ContextLengthExceeded),
        (413, {"code": "rate_limit_exceeded", "message": "Request too large"}, ContextLengthExceeded),
        (400, {"code": "content_filter"}, ContentRefused),
        (400, {"innererror": {"code": "ResponsibleAIPolicyViolation"}}, ContentRefused),
        (403, {"message": "Your input was flagged by the moderation"}, ContentRefused),
        (429, {"code": "insufficient_quota", "message": "Pay first"}, QuotaExhausted),
        (429, {"message": "Your current quota is used up"}, QuotaExhausted),
        (429, {"message": "Your current quota is used up. Please retry in 34.07s."}, RateLimited),
        (402, {"message": "Insufficient Balance"}, QuotaExhausted),
        (400, {"message": "Your credit balance is too low"}, QuotaExhausted),
        (429, {"code": "rate_limit_exceeded"}, RateLimited),
        (400, {"message": "Incorrect API key provided"}, AuthenticationFailed),
        (401, {"type": "api_error", "message": "Unauthorized"}, AuthenticationFailed),
        (404, {"code": "model_not_found"}, ModelNotFound),
        (404, {"code": "DeploymentNotFound"}, ModelNotFound),
        (400, {"message": "The model x does not exist, or not for you"}, ModelNotFound),
        (404, {"message": "model 'x' not found, try pulling it first"}, ModelNotFound),
        (500, {"type": "overloaded_error"}, Overloaded),
        (400, {"code": "tool_use_failed"}, InvalidResponse),
        (500, {"message": "Jinja Exception: Conversation roles must alternate"}, InvalidRequest),
    ],
)
def test_the_providers_own_words_count_before_the_status(status, entry, kind):
    assert type(error(status, {"error": entry})) is kind


def test_what_may_be_retried_and_where_a_fallback_helps():
    facts = {
        kind: (kind.retryable, kind.fallback)
        for kind in (type(error(status)) for status in (400, 401, 402, 403, 413, 429, 500, 503, 504))
    }
    assert facts == {
        InvalidRequest: (False, False),
        AuthenticationFailed: (False, True),
        QuotaExhausted: (False, True),
        PermissionRefused: (False, True),
        ContextLengthExceeded: (False, True),
        RateLimited: (True, True),
        ServerError: (True, True),
        Overloaded: (True, True),
        TimedOut: (True, True),
    }


def test_what_the_model_had_written_is_kept_when_the_provider_found_it_no_call():
    raised = error(400, {"error": {"code": "tool_use_failed", "message": "no", "failed_generation": "maybe"}})
    assert raised.partial.content == "maybe"


def test_what_a_gateway_passes_on_is_told_too():
    inner = json.dumps({"object": "error", "message": "Unexpected role", "code": "3230"})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": inner}}}
    assert error(400, body).message == "Provider returned error: Unexpected role"
    body["error"]["metadata"]["raw"] = "rate-limited upstream"
    assert error(429, body).message == "Provider returned error: rate-limited upstream"


@pytest.mark.parametrize("header", ["x-request-id", "request-id", "apim-request-id", "x-ms-request-id"])
def test_the_providers_request_id_is_told(header):
    raised = error(500, b"", **{header: "req_1"})
    assert raised.request_id == "req_1"
    assert "request req_1" in str(raised)


def test_the_wait_is_told():
    assert error(429, b"", retry_after="7").retry_after == 7
    assert error(429, {"error": {"message": "Please try again in 1.5s."}}).retry_after == 1.5
    assert error(429).retry_after is None


def test_a_message_is_one_short_line_without_control_characters():
    raised = error(500, {"error": {"message": "a\x1b[31m\r\n\tb\u202e" + "x" * 1000}})
    assert raised.message.startswith("a [31m b x")
    assert len(raised.message) == 300
    assert raised.message.endswith("…")


@pytest.mark.parametrize(
    "message",
    [
        "Incorrect key shop-key-1234567890",
        "Incorrect key sk-proj-abcdefghijklmnop",
        "Incorrect key gsk_abcdefghijklmnop",
        "header was Bearer abcdefghijklmnop",
        "Incorrect key AIzaSyAbcdefghijklmnopq",
        " " * 3990 + "shop-key-1234567890",
    ],
)
def test_a_message_never_holds_a_key(message):
    told = str(error(401, {"error": {"message": message}}))
    assert "abcdefghijklmnop" not in told.lower()
    assert "shop-key" not in told


def test_no_error_carries_header_or_body():
    raised = error(500, b'{"error": {"message": "no", "prompt": "secret prompt"}}', x_trace="secret header")
    assert "secret" not in f"{raised!r} {raised} {vars(raised)}"


def test_a_timeout_of_the_provider_means_that_it_had_the_request():
    assert error(504).sent is True
