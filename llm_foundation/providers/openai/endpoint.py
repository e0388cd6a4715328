"""What the two wire formats of an OpenAI-like endpoint have in common: its address, its key, its owner's name."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.options import ChatRequest
from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.providers.base import Capabilities, HTTPRequest, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.headers import own_headers, usable_key
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai.endpoints import EndpointProfile
from llm_foundation.providers.streaming_adapter import StreamingAdapter
from llm_foundation.providers.whole_answers import read_body


class EndpointAdapter(StreamingAdapter):
    """One model behind one endpoint, in one wire format. What differs between endpoints stands in ``endpoints``.

    ``owner_name`` says in whose name the context of answers is kept: each format has one of its own, because neither
    can give back what came in the other.
    """

    uses_responses: ClassVar[bool]

    def __init__(
        self,
        provider: ProviderSpec,
        model: ModelSpec,
        secret: Secret | None,
        *,
        profile: EndpointProfile,
        owner_name: str,
    ) -> None:
        super().__init__(provider, model, secret)
        self._owner = super().owner.model_copy(update={"adapter": owner_name})
        self.capabilities = Capabilities(json_schema=profile.json_schema, embeddings=True, model_list=True)
        here = self._profile(profile)
        self.dialect = Dialect(provider, here, model, self._owner, is_responses=self.uses_responses)
        self._headers = own_headers(provider) | self._key() | {"content-type": "application/json"}

    @property
    def owner(self) -> StateOwner:
        return self._owner

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        return HTTPRequest(
            method="POST",
            url=self._address(),
            headers={**self._headers, "accept": "text/event-stream" if chat_request.stream else "application/json"},
            body=self._body(chat_request),
        )

    def _profile(self, profile: EndpointProfile) -> EndpointProfile:
        """What the endpoint wants in this format."""
        return profile

    @abstractmethod
    def _read(
        self, payload: Any, status: int, headers: Mapping[str, str], chat_request: ChatRequest | None
    ) -> CompletionResponse:
        """Read the JSON of a body of status 200."""

    def _whole(
        self, status: int, headers: Mapping[str, str], body: bytes, chat_request: ChatRequest | None
    ) -> CompletionResponse:
        def read(payload: Any) -> CompletionResponse:
            return self._read(payload, status, headers, chat_request)

        return read_body(status, headers, body, errors=self._errors, read=read)

    @abstractmethod
    def _address(self) -> str:
        """Where requests go."""

    @abstractmethod
    def _body(self, chat_request: ChatRequest) -> bytes:
        """The JSON of a request."""

    def _key(self) -> dict[str, str]:
        key = usable_key(self.provider, self.secret)
        if not key:
            return {}
        bearer = self.dialect.profile.key_header == "authorization"
        return {self.dialect.profile.key_header: f"Bearer {key}" if bearer else key}
