"""What every adapter is: two small translations between our values and one provider's wire. No I/O."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.options import ChatRequest
from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.embedding_limits import EmbeddingLimits


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
    embeddings: bool = False
    model_list: bool = False


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
    embedding_limits: EmbeddingLimits = EmbeddingLimits()

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

    # What follows is optional: an adapter that has it says so in its capabilities. Without it, the record is wrong.

    def embedding_request(self, texts: Sequence[str], *, extra: Mapping[str, Any] | None = None) -> HTTPRequest:
        """Ask for one vector for each text; no more of them than ``embedding_limits`` says.

        ``extra`` joins the body, as that of ``ChatOptions`` does.
        """
        raise self._lacks("makes no embeddings: choose a model of a provider that does")

    def embeddings(self, status: int, headers: Mapping[str, str], body: bytes) -> Embeddings:
        """Read the answer to an ``embedding_request``: the vectors in the order of its texts."""
        raise self._lacks("makes no embeddings: choose a model of a provider that does")

    def models_request(self, page: str = "") -> HTTPRequest:
        """Ask for the provider's list of models, or for that ``next_page`` of it."""
        raise self._lacks("cannot list models: enter them by hand")

    def models(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelPage:
        """Read the answer to a ``models_request``."""
        raise self._lacks("cannot list models: enter them by hand")

    def details_request(self, found: FoundModel) -> HTTPRequest | None:
        """Ask what the list does not say about one of its models; ``None`` where there is nothing more to learn."""
        return None

    def details(self, found: FoundModel, status: int, headers: Mapping[str, str], body: bytes) -> FoundModel:
        """The model with what the answer to a ``details_request`` says."""
        return found

    def _lacks(self, what: str) -> UnusableConfiguration:
        return UnusableConfiguration(f"Provider {self.provider.name!r}: its adapter {self.provider.adapter!r} {what}.")

    def dropped_options(self, chat_request: ChatRequest) -> tuple[str, ...]:
        """What ``request`` leaves out because the model or the format cannot take it; known before anybody is asked.

        The answer's ``metadata["dropped_options"]`` says the same. An adapter that decides more than its capabilities
        and the model's record do says so here.
        """
        options, model = chat_request.options, self.model
        takes_schema = self.capabilities.json_schema and model.supports_json_schema
        dropped = () if options.response_schema is None or takes_schema else ("response_schema",)
        takes_tools = self.capabilities.tools and model.supports_tools
        return dropped if not chat_request.tools or takes_tools else ("tools", *dropped)

    @property
    def owner(self) -> StateOwner:
        """Whose context the answers of this adapter carry."""
        return StateOwner(
            adapter=self.name,
            base_url=self.provider.base_url.rstrip("/"),
            model_family=self.model.model_id,
            credential_fingerprint=self.secret.fingerprint if self.secret else "",
        )
