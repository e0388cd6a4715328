"""Gemini's generateContent: the Gemini API, and Vertex AI with a key."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.base import Capabilities, HTTPRequest, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.discovery import ModelPage
from llm_foundation.providers.gemini import embeddings as gemini_embeddings
from llm_foundation.providers.gemini import listing as gemini_listing
from llm_foundation.providers.gemini.answer import GeminiAnswer
from llm_foundation.providers.gemini.dialect import GeminiDialect, effective
from llm_foundation.providers.gemini.request import body, dropped_options
from llm_foundation.providers.gemini.response import read_payload
from llm_foundation.providers.gemini.stream import GeminiStreamDecoder
from llm_foundation.providers.headers import own_headers, usable_key, without_body
from llm_foundation.providers.streaming_adapter import StreamingAdapter
from llm_foundation.providers.whole_answers import read_body, read_plain


class GeminiAdapter(StreamingAdapter):
    """One Gemini model. The key goes into a header, never into the address.

    The profile is ``gemini``, or ``vertex`` for Vertex AI's paths, which an address at ``aiplatform.googleapis.com``
    says as well. Options of the provider record: ``headers``, and ``json_schema_fields`` (false for an endpoint that
    knows only the older schema fields).

    Of ``extra``, objects are joined with ours (``generationConfig``, ``toolConfig``), and ``tools`` are added to those
    on offer: Google's own, such as ``{"googleSearch": {}}``. Everything else goes into the body as it is.
    """

    name = "gemini"
    names_start_with_letter = True
    capabilities = Capabilities(embeddings=True, model_list=True)

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        super().__init__(effective(provider), model, secret)
        self.dialect = GeminiDialect(self.provider, model, self.owner)
        limits = gemini_embeddings.limits(model.model_id, on_vertex=self.dialect.on_vertex)
        self.embedding_limits = limits.adjusted(provider.options, provider=provider.name)
        key = usable_key(provider, secret)
        keyed = {"x-goog-api-key": key} if key else {}
        self._headers = own_headers(provider) | keyed | {"content-type": "application/json"}

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        return HTTPRequest(
            method="POST",
            url=self.dialect.address(stream=chat_request.stream),
            headers={**self._headers, "accept": "text/event-stream" if chat_request.stream else "application/json"},
            body=body(chat_request, self.dialect),
        )

    def stream(self, chat_request: ChatRequest | None = None) -> GeminiStreamDecoder:
        answer = GeminiAnswer(self._beginning(chat_request))
        return GeminiStreamDecoder(answer, self._errors, read_whole=self._read_whole(chat_request))

    def _whole(
        self, status: int, headers: Mapping[str, str], body: bytes, chat_request: ChatRequest | None
    ) -> CompletionResponse:
        answer = GeminiAnswer(self._beginning(chat_request))

        def read(payload: Any) -> CompletionResponse:
            return read_payload(payload, status, headers, answer=answer, errors=self._errors)

        return read_body(status, headers, body, errors=self._errors, read=read)

    def _dropped(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return dropped_options(chat_request, self.dialect)

    def embedding_request(self, texts: Sequence[str], *, extra: Mapping[str, Any] | None = None) -> HTTPRequest:
        dialect = self.dialect
        form = gemini_embeddings.method(self.model.model_id, on_vertex=dialect.on_vertex, count=len(texts))
        return HTTPRequest(
            method="POST",
            url=dialect.method_address(form),
            headers=self._headers | {"accept": "application/json"},
            body=gemini_embeddings.body(
                texts, extra or {}, method=form, resource=dialect.resource, on_vertex=dialect.on_vertex
            ),
        )

    def embeddings(self, status: int, headers: Mapping[str, str], body: bytes) -> Embeddings:
        read = partial(gemini_embeddings.read_embeddings, model=self.model.model_id)
        return read_plain(status, headers, body, errors=self._errors, read=read)

    def models_request(self, page: str = "") -> HTTPRequest:
        return HTTPRequest("GET", gemini_listing.address(self.provider, page), without_body(self._headers))

    def models(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelPage:
        return read_plain(status, headers, body, errors=self._errors, read=gemini_listing.read_models)
