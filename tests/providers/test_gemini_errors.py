"""Errors of the Gemini API and of Vertex AI, by type."""

import json

import pytest

from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContextLengthExceeded,
    InvalidRequest,
    ModelNotFound,
    Overloaded,
    PermissionRefused,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerError,
    TimedOut,
)
from tests.providers.gemini_builders import make_gemini

ADAPTER = make_gemini(key="AIzaSyA-secret-key-0123456789")


def error_of(status: int, body, **headers: str) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ProviderError) as caught:
        ADAPTER.response(status, headers, raw)
    return caught.value


def told(code: int, message: str, status: str, *details) -> dict:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


@pytest.mark.parametrize(
    ("code", "message", "status", "kind"),
    [
        (400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", AuthenticationFailed),
        (401, "Request had invalid authentication credentials.", "UNAUTHENTICATED", AuthenticationFailed),
        (403, "Permission denied on resource project p.", "PERMISSION_DENIED", PermissionRefused),
        (400, "User location is not supported for the API use.", "FAILED_PRECONDITION", PermissionRefused),
        (404, "models/gemini-9 is not found for API version v1beta", "NOT_FOUND", ModelNotFound),
        (
            404,
            "Publisher Model `projects/p/locations/l/publishers/google/models/x` not found.",
            "NOT_FOUND",
            ModelNotFound,
        ),
        (
            400,
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
            "INVALID_ARGUMENT",
            ContextLengthExceeded,
        ),
        (400, "Please use a valid role: user, model.", "INVALID_ARGUMENT", InvalidRequest),
        (
            400,
            "Function call is missing a thought_signature in functionCall parts.",
            "INVALID_ARGUMENT",
            InvalidRequest,
        ),
        (429, "Resource exhausted. Please try again later.", "RESOURCE_EXHAUSTED", RateLimited),
        (429, "You exceeded your current quota. Please retry in 48.9s.", "RESOURCE_EXHAUSTED", RateLimited),
        (429, "You exceeded your current quota, please check your plan.", "RESOURCE_EXHAUSTED", QuotaExhausted),
        (500, "An internal error has occurred.", "INTERNAL", ServerError),
        (503, "The model is overloaded. Please try again later.", "UNAVAILABLE", Overloaded),
        (504, "The request timed out.", "DEADLINE_EXCEEDED", TimedOut),
    ],
)
def test_errors_have_their_types(code, message, status, kind):
    error = error_of(code, told(code, message, status))
    assert (type(error), error.status, error.message) == (kind, code, message)
    assert (error.provider, error.model) == ("shop", "gemini-3-flash-preview")


def test_how_long_to_wait_may_stand_in_the_details():
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}
    quota = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []}
    error = error_of(429, told(429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", quota, wait))
    assert (type(error), error.retry_after) == (RateLimited, 48)


def test_the_words_of_the_message_are_more_exact_than_the_details():
    body = told(429, "Quota. Please retry in 48.939935699s.", "RESOURCE_EXHAUSTED", {"retryDelay": "48s"})
    assert error_of(429, body).retry_after == pytest.approx(48.939935699)


@pytest.mark.parametrize("delay", [None, 7, "soon", [], "-1s"])
def test_a_delay_that_cannot_be_read_is_none(delay):
    assert error_of(429, told(429, "Slow down.", "RESOURCE_EXHAUSTED", {"retryDelay": delay}, 7)).retry_after is None


def test_an_error_in_a_list_is_read():
    assert type(error_of(400, [told(400, "API key not valid.", "INVALID_ARGUMENT")])) is AuthenticationFailed


@pytest.mark.parametrize("body", [b"", b"<html><title>502</title>", b"null", b"[]", b"\xff", b"{", b'{"error": null}'])
def test_any_other_body_is_an_error_by_its_status(body):
    assert type(error_of(502, body)) is ServerError


def test_the_key_is_never_told():
    error = error_of(400, told(400, "Key AIzaSyA-secret-key-0123456789 is bad", "INVALID_ARGUMENT"))
    assert error.message == "Key *** is bad"
