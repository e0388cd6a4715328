"""Which ``ProviderError`` it is: by the provider's own word for it, then by its text, then by the status."""

import re
from typing import Final

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
from llm_foundation.providers.error_body import ErrorFacts

ErrorKind = type[ProviderError]

_WORDS: Final[dict[ErrorKind, str]] = {
    ContextLengthExceeded: "context_length_exceeded exceed_context_size_error context_window_exceeded",
    ContentRefused: (
        "content_filter content_filter_error content_policy_violation responsibleaipolicyviolation moderation_blocked"
        " data_inspection_failed"
    ),
    InvalidResponse: "tool_use_failed json_validate_failed",  # the model's own mistake, no outage (opencode#1018)
    QuotaExhausted: (
        "insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance insufficient_credits"
        " payment_required quota_exceeded billing_error"
    ),
    AuthenticationFailed: "invalid_api_key authentication_error api_key_invalid unauthenticated unauthorized",
    ModelNotFound: "model_not_found deploymentnotfound model_not_available unknown_model not_found_error",
    RateLimited: "rate_limit_exceeded rate_limit_error too_many_requests",
    Overloaded: "overloaded overloaded_error engine_overloaded_error unavailable_error",
    TimedOut: "timeout_error",
    PermissionRefused: "permission_error permission_denied access_denied",
}
_BY_CODE: Final = {word: kind for kind, words in _WORDS.items() for word in words.split()}

_TEXTS: Final[dict[ErrorKind, str]] = {
    ContextLengthExceeded: (
        r"context (length|window|size|limit)|maximum context|(prompt|input) (is )?too long|too many (input )?tokens"
        r"|reduce (the length|your message size)|exceeds? the (model|available context|maximum number of tokens)"
    ),
    ContentRefused: (
        r"content (management |filtering )?policy|safety (system|policy|filter)|flagged (by|as|for)"
        r"|require[sd]? moderation"
    ),
    QuotaExhausted: (
        r"insufficient (account )?(balance|quota|credits?|funds)|credit balance|current quota|more credits"
        r"|spending limit|billing (details|limit)"
    ),
    AuthenticationFailed: (
        r"(invalid|incorrect|missing|no|wrong) (authentication|api.?key|auth)"
        r"|api.?key( is)? (not valid|invalid|missing|required)"
    ),
    ModelNotFound: r"models?\b.{0,120}?(not exist|not found|is not available|unknown)|(unknown|invalid) model",
    RateLimited: r"rate.?limit|too many requests",
    Overloaded: r"overloaded|(over|at) capacity|server (is )?busy",
    PermissionRefused: r"user location is not supported",  # Gemini, in countries where it is not sold
}
_BY_TEXT: Final = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _TEXTS.items()}

_BY_STATUS: Final[dict[int, ErrorKind]] = {
    401: AuthenticationFailed,
    402: QuotaExhausted,
    403: PermissionRefused,
    408: TimedOut,
    413: ContextLengthExceeded,
    429: RateLimited,
    498: Overloaded,
    503: Overloaded,
    504: TimedOut,
    524: TimedOut,
    529: Overloaded,
}
_MODEL_MADE: Final = re.compile(r"error parsing tool call", re.IGNORECASE)  # Ollama, with status 500
_TEMPLATE: Final = re.compile(r"roles must alternate|jinja|chat template", re.IGNORECASE)


def kind_of_error(status: int | None, facts: ErrorFacts, *, waits: bool) -> ErrorKind:
    """The type of an error. ``status`` is ``None`` where neither the answer nor its body names one.

    ``waits`` says whether the provider named a time after which to try again.
    """
    if status == 413:
        return ContextLengthExceeded  # Groq calls a request that is larger than its limit per minute a rate limit
    kind = next((kind for code, kind in _BY_CODE.items() if code in facts.codes), None)
    if kind is None and _MODEL_MADE.search(facts.message):
        return InvalidResponse
    if kind is None and (status is None or status < 500):
        kind = _by_text(facts.message, waits=waits)
    elif kind is None and _TEMPLATE.search(facts.message):
        return InvalidRequest  # llama.cpp#19851: a 500, but the same messages will always fail
    if kind is None and status is None and "invalid_request_error" in facts.codes:
        return InvalidRequest
    return kind or _by_status(status)


def _by_text(message: str, *, waits: bool) -> ErrorKind | None:
    for kind, pattern in _BY_TEXT.items():
        # Gemini speaks of a quota where it means a rate, and then says how long to wait.
        if pattern.search(message) and not (kind is QuotaExhausted and waits):
            return kind
    return None


def _by_status(status: int | None) -> ErrorKind:
    if status is None or status >= 500:
        return ServerError if status is None else _BY_STATUS.get(status, ServerError)
    return _BY_STATUS.get(status, InvalidRequest if status >= 400 else InvalidResponse)
