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
    ├── StructuredOutputError           the answer is no instance of the schema that it should follow
    │   ├── AnswerTruncated             it was cut off
    │   ├── AnswerRefused
    │   └── AnswerFiltered
    ├── RunError
    │   ├── RunInsideTransaction
    │   ├── RunLost                     another segment took the run over, or it has ended
    │   ├── OwnerGone                   the owner's account was deleted; nobody acts in their place
    │   ├── RunNotFinished              only a run that has ended can be continued
    │   ├── RunNotPermitted             cancelling, or continuing, somebody else's run
    │   ├── IdempotencyConflict         the key of another start was given again
    │   └── InvalidTransition
    ├── DecisionError
    │   ├── DecisionNotPermitted
    │   ├── AlreadyDecided
    │   ├── DecisionExpired             nobody decided the call in time
    │   ├── InvalidEdit                 edited arguments that do not fit the tool; sentences per field
    │   ├── InvalidInput                an input that does not fit its model; sentences per field
    │   ├── TooEarly                    an attempt in doubt may still be at work
    │   └── StaleDigest
    └── ProviderError                   a contact with a provider that did not give an answer
        ├── AuthenticationFailed · PermissionRefused · ModelNotFound
        ├── RateLimited · QuotaExhausted · Overloaded · ServerError
        ├── InvalidRequest · ContextLengthExceeded · ContentRefused
        ├── ConnectionFailed · TimedOut
        └── InvalidResponse · IncompleteStream
"""

from llm_foundation.exceptions.answers import AnswerFiltered, AnswerRefused, AnswerTruncated, StructuredOutputError
from llm_foundation.exceptions.configuration import (
    ConfigurationError,
    DecryptionFailed,
    EncryptionError,
    KeyRingMissing,
    SecretUnavailable,
    UnknownAdapter,
    UnknownConfiguration,
    UnusableConfiguration,
    UrlRefused,
)
from llm_foundation.exceptions.messages import InvalidMessage, InvalidProviderState, ProviderStateError
from llm_foundation.exceptions.providers import (
    AuthenticationFailed,
    ConnectionFailed,
    ContentRefused,
    ContextLengthExceeded,
    IncompleteStream,
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
from llm_foundation.exceptions.root import LLMFoundationError
from llm_foundation.exceptions.runs import (
    AlreadyDecided,
    ContextExhausted,
    DecisionError,
    DecisionExpired,
    DecisionNotPermitted,
    IdempotencyConflict,
    InvalidEdit,
    InvalidInput,
    InvalidTransition,
    OwnerGone,
    RunError,
    RunInsideTransaction,
    RunLost,
    RunNotFinished,
    RunNotPermitted,
    StaleDigest,
    TooEarly,
    TrustCeilingExceeded,
)
from llm_foundation.exceptions.tools import (
    InvalidArguments,
    InvalidResult,
    InvalidTool,
    NotExecuted,
    ToolApprovalRequired,
    ToolError,
    ToolTimedOut,
)

__all__ = [
    "AlreadyDecided",
    "AnswerFiltered",
    "AnswerRefused",
    "AnswerTruncated",
    "AuthenticationFailed",
    "ConfigurationError",
    "ConnectionFailed",
    "ContentRefused",
    "ContextExhausted",
    "ContextLengthExceeded",
    "DecisionError",
    "DecisionExpired",
    "DecisionNotPermitted",
    "DecryptionFailed",
    "EncryptionError",
    "IdempotencyConflict",
    "IncompleteStream",
    "InvalidArguments",
    "InvalidEdit",
    "InvalidInput",
    "InvalidMessage",
    "InvalidProviderState",
    "InvalidRequest",
    "InvalidResponse",
    "InvalidResult",
    "InvalidTool",
    "InvalidTransition",
    "KeyRingMissing",
    "LLMFoundationError",
    "ModelNotFound",
    "NotExecuted",
    "Overloaded",
    "OwnerGone",
    "PermissionRefused",
    "ProviderError",
    "ProviderStateError",
    "QuotaExhausted",
    "RateLimited",
    "RunError",
    "RunInsideTransaction",
    "RunLost",
    "RunNotFinished",
    "RunNotPermitted",
    "SecretUnavailable",
    "ServerError",
    "StaleDigest",
    "StructuredOutputError",
    "TimedOut",
    "TooEarly",
    "ToolApprovalRequired",
    "ToolError",
    "ToolTimedOut",
    "TrustCeilingExceeded",
    "UnknownAdapter",
    "UnknownConfiguration",
    "UnusableConfiguration",
    "UrlRefused",
]
