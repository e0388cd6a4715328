"""Every error this package raises.

::

    LLMFoundationError
    ├── InvalidMessage                  a message, call or option of the wrong shape; names the field
    ├── ProviderStateError              opaque provider context that cannot be replayed; nothing was sent
    │   └── InvalidProviderState        the same, found while a message was read: an InvalidMessage as well
    ├── ConfigurationError              what stands in the database or settings does not work
    │   ├── UnknownConfiguration
    │   ├── UnusableConfiguration       disabled, without a usable key, asking for what its model cannot do …
    │   ├── UnknownAdapter
    │   └── SecretUnavailable
    ├── UrlRefused                      an address that the URL policy does not let us contact
    ├── EncryptionError
    │   ├── KeyRingMissing
    │   └── DecryptionFailed
    ├── ToolError
    │   ├── InvalidTool                 a declaration that cannot work; raised when the tool is declared
    │   ├── InvalidArguments            what the model sent does not fit; carries one entry per field
    │   ├── InvalidResult               what a tool returned cannot be shown to a model; the tool itself ran
    │   ├── ToolTimedOut                an async tool was stopped at its timeout; its effect may have happened
    │   └── NotExecuted                 raised *by* a tool that knows its effect did not happen
    ├── ToolApprovalRequired            an in-memory run met a call that a person must decide
    ├── TrustCeilingExceeded            the transcript holds more than the next provider may see
    ├── ContextExhausted                the conversation does not fit the model's window
    ├── RunError
    │   ├── RunInsideTransaction
    │   ├── RunLost                     another segment took the run over, or it has ended
    │   └── InvalidTransition
    ├── DecisionError
    │   ├── DecisionNotPermitted
    │   ├── AlreadyDecided
    │   └── StaleDigest
    └── ProviderError                   a contact with a provider that did not give an answer
        ├── AuthenticationFailed · PermissionRefused · ModelNotFound
        ├── RateLimited · QuotaExhausted · Overloaded · ServerError
        ├── InvalidRequest · ContextLengthExceeded · ContentRefused
        ├── ConnectionFailed · TimedOut
        └── InvalidResponse · IncompleteStream
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

if TYPE_CHECKING:
    from llm_foundation.chat.completions import CompletionResponse
    from llm_foundation.chat.tool_calls import ToolCall


_MAX_LINE: Final = 300


def _one_line(text: str) -> str:
    """Foreign text that an error may show: bounded, and without characters that could forge a log or a screen."""
    shown = "".join(character if character.isprintable() else " " for character in text[: 4 * _MAX_LINE])
    line = " ".join(shown.split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


class LLMFoundationError(Exception):
    """The root: ``except LLMFoundationError`` catches all that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross processes (task workers, parallel tests), whatever arguments their makers take."""
        return (_restored, (type(self), self.args), vars(self))


def _restored(kind: type[LLMFoundationError], args: tuple[Any, ...]) -> LLMFoundationError:
    return kind.__new__(kind, *args)


class InvalidMessage(LLMFoundationError, ValueError):
    """A message, tool call or option has the wrong shape. ``field`` is its path, for example ``tool_calls[0].id``."""

    def __init__(self, problem: str, *, field: str) -> None:
        # Not super(): below this class stands ProviderStateError in InvalidProviderState, and it takes no text.
        Exception.__init__(self, f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def inside(self, parent: str) -> Self:
        """The same error, seen from the value that holds the faulty one."""
        joint = "" if not self.field or self.field.startswith("[") else "."
        return self._at(f"{parent}{joint}{self.field}")

    def _at(self, field: str) -> Self:
        return type(self)(self.problem, field=field)


class ProviderStateError(LLMFoundationError):
    """Provider context is malformed, duplicate, mixed or ambiguous. The text is fixed: the context is never shown."""

    text: Final = "The stored provider context of this conversation cannot be replayed; nothing was sent."

    def __init__(self) -> None:
        super().__init__(self.text)


class InvalidProviderState(InvalidMessage, ProviderStateError):
    """A message that was read holds such context: whoever catches either kind of error meets this one."""

    def __init__(self, *, field: str) -> None:
        InvalidMessage.__init__(self, self.text, field=field)

    def _at(self, field: str) -> Self:
        return type(self)(field=field)


class ConfigurationError(LLMFoundationError):
    """What stands in the database or in settings cannot work; the message says what to change."""


class UnknownConfiguration(ConfigurationError):
    """No configuration has this slug."""


class UnusableConfiguration(ConfigurationError):
    """The configuration exists, but cannot be used as it stands."""


class UnknownAdapter(ConfigurationError):
    """A provider names an adapter, or an endpoint profile, that is not registered."""


class SecretUnavailable(ConfigurationError):
    """A provider's key is missing, not allowed to be read, or unreadable."""


class UrlRefused(LLMFoundationError):
    """The URL policy does not let us contact this address."""


class EncryptionError(LLMFoundationError):
    """Something stored cannot be encrypted or decrypted."""


class KeyRingMissing(EncryptionError):
    """``LLM_FOUNDATION["ENCRYPTION_KEYS"]`` is missing or malformed."""


class DecryptionFailed(EncryptionError):
    """No key of the ring opens this value in this place."""


class ToolError(LLMFoundationError):
    """Something about a tool."""


class InvalidTool(ToolError):
    """A tool's declaration cannot work."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool. ``problems`` holds (field path, why) pairs, fit to show the model."""

    def __init__(self, tool: str, problems: Sequence[tuple[str, str]]) -> None:
        self.tool = tool
        self.problems = tuple(problems)
        listed = "; ".join(f"{field}: {why}" for field, why in self.problems)
        super().__init__(f"Invalid arguments for {tool}: {listed}")


class InvalidResult(ToolError):
    """What a tool returned cannot be shown to a model. The tool itself ran to its end, so its effect happened."""


class ToolTimedOut(ToolError):
    """An async tool was stopped after ``seconds``. Whether its effect happened is unknown."""

    def __init__(self, tool: str, *, seconds: float) -> None:
        self.tool = tool
        self.seconds = seconds
        super().__init__(f"Tool {tool!r} did not end within {seconds:g} seconds and was stopped.")


class NotExecuted(ToolError):
    """Raise it in a tool to say: the effect certainly did not happen. The text goes to the model."""


class ToolApprovalRequired(LLMFoundationError):
    """An in-memory run met calls that a person must decide. ``pending`` holds them, ``messages`` the transcript."""

    def __init__(self, pending: Sequence["ToolCall"], *, messages: Sequence[Any] = ()) -> None:
        self.pending = tuple(pending)
        self.messages = tuple(messages)
        names = ", ".join(call.name for call in self.pending)
        super().__init__(
            f"A person must decide: {names}. Use llm.run() to store the run and wait for the decision,"
            " or unattended=True to offer only tools that never pause."
        )


class TrustCeilingExceeded(LLMFoundationError):
    """The transcript holds data that the provider's trust zone may not see; nothing was sent."""


class ContextExhausted(LLMFoundationError):
    """Not even the first message and the newest turn fit the model's context window; nothing was sent."""

    def __init__(self, configuration: str, model: str) -> None:
        super().__init__(
            f"Configuration {configuration!r}: the conversation does not fit the context window of model {model!r},"
            " even with its older turns left out. Choose a model with a larger window, or start a new conversation."
        )


class RunError(LLMFoundationError):
    """Something about a stored run."""


class RunInsideTransaction(RunError):
    """``llm.run(mode="wait")`` was called inside ``transaction.atomic``, which could undo what the run did."""


class RunLost(RunError):
    """This segment no longer holds the run: another one took it over, or the run has ended."""


class InvalidTransition(RunError):
    """A run or a call cannot move to that state from where it is."""


class DecisionError(LLMFoundationError):
    """A decision about a call could not be taken."""


class DecisionNotPermitted(DecisionError):
    """This person may not decide this call; ``rule`` names what forbids it."""

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class AlreadyDecided(DecisionError):
    """The call is no longer pending. Says who decided, what, and when, where a person did."""

    def __init__(
        self,
        message: str,
        *,
        state: str,
        decider: str | None = None,
        verdict: str | None = None,
        decided_at: datetime | None = None,
    ) -> None:
        super().__init__(message)
        self.state = state
        self.decider = decider
        self.verdict = verdict
        self.decided_at = decided_at


class StaleDigest(DecisionError):
    """What was shown when the decision was made is not what would run now. Look again, then decide."""


class ProviderError(LLMFoundationError):
    """A contact with a provider that gave no answer. Carries facts, never a key, a header or a body.

    ``message`` is the provider's own text as one short printable line; ``retry_after`` the seconds it asks to wait,
    or ``None`` where it names no time.
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
    ) -> None:
        self.message = _one_line(message)
        self.provider = provider
        self.model = model
        self.status = status
        self.request_id = _one_line(request_id) if request_id else None
        self.retry_after = retry_after
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
    """The answer cannot be read. ``partial`` holds what could be, if anything."""

    retryable = True
    what = "sent an answer that cannot be read"

    def __init__(self, message: str = "", *, partial: "CompletionResponse | None" = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.partial = partial


class IncompleteStream(InvalidResponse):
    """The stream ended without an end mark; ``partial`` is what had arrived."""

    what = "stopped in the middle of its answer"
