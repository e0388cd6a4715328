"""What a contact with a provider can end in, other than an answer."""

from typing import TYPE_CHECKING, Any, ClassVar

from llm_foundation.exceptions.root import LLMFoundationError, one_line

if TYPE_CHECKING:
    from llm_foundation.chat.completions import CompletionResponse


class ProviderError(LLMFoundationError):
    """A contact with a provider that gave no answer. Carries facts, never a key, a header or a body.

    ``message`` is the provider's own text as one short printable line; ``retry_after`` the seconds it asks to wait,
    or ``None`` where it names no time; ``partial`` what had arrived of an answer that then failed, if anything.
    """

    retryable: ClassVar[bool] = False
    """Whether the same request may succeed later."""
    fallback: ClassVar[bool] = True
    """Whether another provider or model may answer where this one did not."""
    what: ClassVar[str] = "gave no answer"

    def __init__(
        self,
        message: str = "",
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        partial: "CompletionResponse | None" = None,
    ) -> None:
        self.message = one_line(message)
        self.provider = provider
        self.model = model
        self.status = status
        self.request_id = one_line(request_id) if request_id else None
        self.retry_after = retry_after
        self.partial = partial
        super().__init__(self.message)

    def __str__(self) -> str:
        subject = f"Provider {self.provider!r}" if self.provider else "The provider"
        facts = [
            f"model {self.model!r}" if self.model else "",
            f"status {self.status}" if self.status is not None else "",
            f"request {self.request_id}" if self.request_id else "",
        ]
        described = ", ".join(fact for fact in facts if fact)
        sentence = f"{subject} {self.what}" + (f" ({described})" if described else "")
        return f"{sentence}: {self.message}" if self.message else f"{sentence}."


class AuthenticationFailed(ProviderError):
    what = "did not accept the key"


class PermissionRefused(ProviderError):
    what = "does not allow this key to do that"


class ModelNotFound(ProviderError):
    what = "does not know this model"


class RateLimited(ProviderError):
    retryable = True
    what = "asks to slow down"


class QuotaExhausted(ProviderError):
    what = "says that the account's quota or credit is used up"


class Overloaded(ProviderError):
    retryable = True
    what = "is overloaded"


class ServerError(ProviderError):
    retryable = True
    what = "had an error of its own"


class InvalidRequest(ProviderError):
    fallback = False
    what = "refused the request"


class ContextLengthExceeded(InvalidRequest):
    fallback = True
    what = "says that the conversation is too long for the model"


class ContentRefused(InvalidRequest):
    what = "refused the content"


class ConnectionFailed(ProviderError):
    """No connection, or it broke. ``sent`` says whether the request may have reached the provider."""

    retryable = True
    what = "could not be reached"

    def __init__(self, message: str = "", *, sent: bool = False, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.sent = sent


class TimedOut(ConnectionFailed):
    what = "did not answer in time"


class InvalidResponse(ProviderError):
    retryable = True
    what = "sent an answer that cannot be read"


class IncompleteStream(InvalidResponse):
    """The stream ended without an end mark; ``partial`` is what had arrived."""

    what = "stopped in the middle of its answer"
