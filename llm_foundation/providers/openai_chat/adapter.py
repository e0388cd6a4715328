"""Chat Completions: the format that OpenAI and most others speak."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.base import HTTPRequest
from llm_foundation.providers.discovery import ModelPage
from llm_foundation.providers.headers import without_body
from llm_foundation.providers.openai import embeddings as openai_embeddings
from llm_foundation.providers.openai import listing as openai_listing
from llm_foundation.providers.openai.endpoint import EndpointAdapter
from llm_foundation.providers.openai_chat.answer import Answer
from llm_foundation.providers.openai_chat.request import body, dropped_options
from llm_foundation.providers.openai_chat.response import read_payload
from llm_foundation.providers.openai_chat.stream import ChatStreamDecoder
from llm_foundation.providers.whole_answers import read_plain


class ChatCompletionsAdapter(EndpointAdapter):
    """One model behind one endpoint, by ``/chat/completions``, and by what such endpoints have beside it."""

    name = "chat_completions"
    uses_responses = False

    def stream(self, chat_request: ChatRequest | None = None) -> ChatStreamDecoder:
        return ChatStreamDecoder(self._answer(chat_request), self._errors, read_whole=self._read_whole(chat_request))

    def embedding_request(self, texts: Sequence[str], *, extra: Mapping[str, Any] | None = None) -> HTTPRequest:
        return HTTPRequest(
            method="POST",
            url=openai_embeddings.address(self.provider, self.dialect.profile, self.model),
            headers=self._headers | {"accept": "application/json"},
            body=openai_embeddings.body(texts, self.dialect, extra or {}),
        )

    def embeddings(self, status: int, headers: Mapping[str, str], body: bytes) -> Embeddings:
        return read_plain(status, headers, body, errors=self._errors, read=openai_embeddings.read_embeddings)

    def models_request(self, page: str = "") -> HTTPRequest:
        """The list comes in one piece."""
        address = openai_listing.address(self.provider, self.dialect.profile)
        return HTTPRequest("GET", address, without_body(self._headers))

    def models(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelPage:
        return read_plain(status, headers, body, errors=self._errors, read=openai_listing.read_models)

    def _address(self) -> str:
        return self.dialect.profile.address(self.provider, self.model)

    def _body(self, chat_request: ChatRequest) -> bytes:
        return body(chat_request, self.dialect)

    def _dropped(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return dropped_options(chat_request, self.dialect)

    def _read(
        self, payload: Any, status: int, headers: Mapping[str, str], chat_request: ChatRequest | None
    ) -> CompletionResponse:
        return read_payload(payload, status, headers, answer=self._answer(chat_request), errors=self._errors)

    def _answer(self, chat_request: ChatRequest | None) -> Answer:
        return Answer(self._beginning(chat_request))
