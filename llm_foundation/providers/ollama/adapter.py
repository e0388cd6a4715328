"""Ollama's own format: ``/api/chat``, on a server of one's own or in Ollama's cloud."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.base import Capabilities, HTTPRequest, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.headers import own_headers, usable_key, without_body
from llm_foundation.providers.ollama import embeddings as ollama_embeddings
from llm_foundation.providers.ollama import listing as ollama_listing
from llm_foundation.providers.ollama.answer import OllamaAnswer
from llm_foundation.providers.ollama.dialect import OllamaDialect, effective
from llm_foundation.providers.ollama.request import body, dropped_options
from llm_foundation.providers.ollama.response import read_payload
from llm_foundation.providers.ollama.stream import OllamaStreamDecoder
from llm_foundation.providers.streaming_adapter import StreamingAdapter
from llm_foundation.providers.whole_answers import read_body, read_plain
from llm_foundation.providers.wire_json import to_json

_SEVERAL_LINES: Final = re.compile(rb"\}[ \t\r]*\n\s*\{")


class OllamaAdapter(StreamingAdapter):
    """One model of one server. A key is needed by Ollama's cloud, and by proxies.

    The record's context window goes out as ``num_ctx``. Options of the provider record: ``headers``; ``num_ctx`` (false
    leaves the size of the context to the server); ``think_levels`` (true for a server that takes a level of thinking
    for every model that thinks, not only for gpt-oss).

    Of ``extra``, ``options`` are joined with ours; everything else goes into the body as it is: ``keep_alive``,
    ``think``, or ``truncate`` and ``shift``, with which the server may cut what does not fit.
    """

    name = "ollama"
    capabilities = Capabilities(embeddings=True, model_list=True)

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        super().__init__(effective(provider), model, secret)
        self.dialect = OllamaDialect(self.provider, model, self.owner)
        self.embedding_limits = self.embedding_limits.adjusted(provider.options, provider=provider.name)
        key = usable_key(provider, secret)
        keyed = {"authorization": f"Bearer {key}"} if key else {}
        self._headers = own_headers(provider) | keyed | {"content-type": "application/json"}

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        return HTTPRequest(
            method="POST",
            url=self.dialect.address,
            headers={**self._headers, "accept": "application/x-ndjson" if chat_request.stream else "application/json"},
            body=body(chat_request, self.dialect),
        )

    def stream(self, chat_request: ChatRequest | None = None) -> OllamaStreamDecoder:
        answer = OllamaAnswer(self._beginning(chat_request))
        return OllamaStreamDecoder(answer, self._errors, read_whole=self._read_whole(chat_request))

    def embedding_request(self, texts: Sequence[str], *, extra: Mapping[str, Any] | None = None) -> HTTPRequest:
        return self._ask("embed", ollama_embeddings.body(texts, self.dialect, extra or {}))

    def embeddings(self, status: int, headers: Mapping[str, str], body: bytes) -> Embeddings:
        return read_plain(status, headers, body, errors=self._errors, read=ollama_embeddings.read_embeddings)

    def models_request(self, page: str = "") -> HTTPRequest:
        """The list comes in one piece."""
        return HTTPRequest("GET", f"{self.provider.base_url}/api/tags", without_body(self._headers))

    def models(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelPage:
        return read_plain(status, headers, body, errors=self._errors, read=ollama_listing.read_models)

    def details_request(self, found: FoundModel) -> HTTPRequest:
        return self._ask("show", to_json({"model": found.model_id}))

    def details(self, found: FoundModel, status: int, headers: Mapping[str, str], body: bytes) -> FoundModel:
        read = partial(ollama_listing.read_details, found=found)
        return read_plain(status, headers, body, errors=self._errors, read=read)

    def _ask(self, what: str, body: bytes) -> HTTPRequest:
        headers = self._headers | {"accept": "application/json"}
        return HTTPRequest("POST", f"{self.provider.base_url}/api/{what}", headers, body)

    def _is_stream(self, body: bytes) -> bool:
        several = body.lstrip().startswith(b"{") and _SEVERAL_LINES.search(body)
        return super()._is_stream(body) or bool(several)

    def _whole(
        self, status: int, headers: Mapping[str, str], body: bytes, chat_request: ChatRequest | None
    ) -> CompletionResponse:
        answer = OllamaAnswer(self._beginning(chat_request))

        def read(payload: Any) -> CompletionResponse:
            return read_payload(payload, status, headers, answer=answer, errors=self._errors)

        return read_body(status, headers, body, errors=self._errors, read=read)

    def _dropped(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return dropped_options(chat_request, self.dialect)
