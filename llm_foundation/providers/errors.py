"""Making ``ProviderError`` of what a provider sent."""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.exceptions import InvalidResponse, ProviderError, TimedOut
from llm_foundation.providers.error_body import ErrorFacts, facts_of, facts_of_bytes, without_keys
from llm_foundation.providers.error_kinds import kind_of_error
from llm_foundation.providers.retry_after import retry_after

_REQUEST_IDS: Final = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id", "x-amzn-requestid", "cf-ray")


UNREADABLE: Final = (ValueError, RecursionError)
"""What our own values, and JSON, raise for an answer that they cannot hold."""


class ErrorReader:
    """Makes errors for one provider and model. Never raises one of its own, whatever it is given."""

    def __init__(self, *, provider: str, model: str, secret: str = "") -> None:
        self._names: dict[str, Any] = {"provider": provider, "model": model}
        self._secret = secret

    def of_answer(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that an answer with an error status is."""
        return self._error(status, headers, facts_of_bytes(body))

    def of_payload(
        self,
        payload: Any,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        partial: CompletionResponse | None = None,
    ) -> ProviderError:
        """The error that JSON inside an answer of status 200 is. ``partial`` is what had arrived before it."""
        return self._error(status, headers or {}, facts_of(payload), partial)

    def unreadable(
        self,
        problem: str,
        *,
        kind: type[InvalidResponse] = InvalidResponse,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        partial: CompletionResponse | None = None,
    ) -> InvalidResponse:
        """The error that an answer without sense is."""
        return kind(problem, partial=partial, status=status, request_id=_request_id(headers or {}), **self._names)

    def _error(
        self,
        status: int | None,
        headers: Mapping[str, str],
        facts: ErrorFacts,
        partial: CompletionResponse | None = None,
    ) -> ProviderError:
        wait = retry_after(headers, facts.message, facts.retry_delay)
        said = facts.status if status is None or 200 <= status < 300 else status
        kind = kind_of_error(said, facts, waits=wait is not None)
        told: dict[str, Any] = {
            **self._names,
            "status": status if said is None else said,
            "request_id": _request_id(headers),
            "retry_after": wait,
            "partial": partial or _failed(facts),
        }
        if issubclass(kind, TimedOut):
            told["sent"] = True
        return kind(without_keys(facts.message, secret=self._secret), **told)


def _failed(facts: ErrorFacts) -> CompletionResponse | None:
    """What the model had written when the provider found it no valid call (smolagents#1119)."""
    return CompletionResponse(content=facts.failed_generation) if facts.failed_generation else None


def _request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's own name for this contact, to quote when asking its support."""
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)
