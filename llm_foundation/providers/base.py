"""What every adapter is: two small translations between our values and one provider's wire. No I/O."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.options import ChatRequest
from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.chat.stream import StreamEvent


@dataclass(frozen=True, slots=True)
class Secret:
    """A key on its way into a header. It never shows itself."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "<secret>"

    @property
    def fingerprint(self) -> str:
        """Tells keys apart without telling the key: 16 hex digits of a digest."""
        return sha256(b"llm_foundation.credential\0" + self.value.encode()).hexdigest()[:16] if self.value else ""


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A connection, as the adapter needs it. ``options`` are the adapter's own (``api_version``, …)."""

    name: str
    adapter: str
    base_url: str
    profile: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model. Sizes are in tokens; ``None`` is unknown. ``supports_*`` say what the model can do."""

    model_id: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    supports_tools: bool = True
    supports_parallel_tool_calls: bool = True
    supports_vision: bool = False
    supports_json_schema: bool = False
    supports_sampling: bool = True
    supports_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """What transport sends. Headers carry the key, so they are not shown; ``url`` never holds one."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the wire format can carry, whatever the model."""

    tools: bool = True
    parallel_tool_calls: bool = True
    streaming: bool = True
    vision: bool = True
    json_schema: bool = True
    system_prompt: bool = True


class StreamDecoder(ABC):
    """Reads one streamed answer, in whatever pieces its bytes arrive."""

    @abstractmethod
    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """The events that these bytes complete. Raises ``ProviderError`` for an error inside the stream."""

    @abstractmethod
    def finish(self) -> CompletionResponse:
        """The whole answer. Raises ``IncompleteStream`` with what had arrived if no end mark came."""

    @abstractmethod
    def partial(self) -> CompletionResponse | None:
        """What has arrived so far, whatever went wrong since; ``None`` where nothing has."""


class Adapter(ABC):
    """An immutable translator for one model of one provider. Reading never raises anything but ``ProviderError``."""

    name: ClassVar[str]
    capabilities: Capabilities = Capabilities()

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        self.provider = provider
        self.model = model
        self.secret = secret

    @abstractmethod
    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        """The call as this provider wants it. ``chat_request.stream`` asks for a stream."""

    @abstractmethod
    def response(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        chat_request: ChatRequest | None = None,
    ) -> CompletionResponse:
        """Read a whole answer, or raise the ``ProviderError`` that it is. Header names are lower case."""

    @abstractmethod
    def stream(self, chat_request: ChatRequest | None = None) -> StreamDecoder:
        """A decoder for one streamed answer to this request."""

    @property
    def owner(self) -> StateOwner:
        """Whose context the answers of this adapter carry."""
        return StateOwner(
            adapter=self.name,
            base_url=self.provider.base_url.rstrip("/"),
            model_family=self.model.model_id,
            credential_fingerprint=self.secret.fingerprint if self.secret else "",
        )
