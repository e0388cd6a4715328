"""The Messages API: Anthropic itself, and everybody who speaks its format."""

from collections.abc import Mapping
from dataclasses import replace

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.anthropic import listing as anthropic_listing
from llm_foundation.providers.anthropic.answer import Answer
from llm_foundation.providers.anthropic.dialect import BASE_URL, Dialect, Settings
from llm_foundation.providers.anthropic.request import body, plan
from llm_foundation.providers.anthropic.response import read_answer
from llm_foundation.providers.anthropic.stream import MessageStreamDecoder
from llm_foundation.providers.base import Capabilities, HTTPRequest, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.discovery import ModelPage
from llm_foundation.providers.headers import own_headers, usable_key, without_body
from llm_foundation.providers.streaming_adapter import StreamingAdapter
from llm_foundation.providers.whole_answers import read_plain


class AnthropicAdapter(StreamingAdapter):
    """One model behind one endpoint. What differs between models stands in ``anthropic_models``.

    Options of the provider record: ``api_version``, ``betas``, ``headers``, ``prompt_cache``, ``cache_ttl``,
    ``thinking_display``, ``stale_thinking``, ``key_header``; see ``anthropic_dialect.Settings``.

    Of ``extra``, ``tools`` are added to those on offer, ``betas`` go into their header, and ``cache_control`` (an
    object, or null for none) replaces our own marks; everything else goes into the body as it is.
    """

    name = "anthropic"
    capabilities = Capabilities(model_list=True)

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        super().__init__(replace(provider, base_url=_root(provider.base_url)), model, secret)
        self.dialect = Dialect(self.provider, model, self.owner, Settings.of(provider))
        self._headers = self._fixed_headers()

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        planned = plan(chat_request, self.dialect)
        betas = [*filter(None, [self._headers.get("anthropic-beta")]), *planned.betas]
        beta = {"anthropic-beta": ",".join(betas)} if betas else {}
        accept = {"accept": "text/event-stream" if chat_request.stream else "application/json"}
        return HTTPRequest(
            method="POST",
            url=f"{self.provider.base_url}/v1/messages",
            headers=self._headers | beta | accept,
            body=body(chat_request, self.dialect, planned),
        )

    def stream(self, chat_request: ChatRequest | None = None) -> MessageStreamDecoder:
        answer = Answer(self._beginning(chat_request))
        return MessageStreamDecoder(answer, self._errors, read_whole=self._read_whole(chat_request))

    def models_request(self, page: str = "") -> HTTPRequest:
        address = anthropic_listing.address(self.provider.base_url, page)
        return HTTPRequest("GET", address, without_body(self._headers))

    def models(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelPage:
        return read_plain(status, headers, body, errors=self._errors, read=anthropic_listing.read_models)

    def _whole(
        self, status: int, headers: Mapping[str, str], body: bytes, chat_request: ChatRequest | None
    ) -> CompletionResponse:
        answer = Answer(self._beginning(chat_request))
        return read_answer(status, headers, body, answer=answer, errors=self._errors)

    def _dropped(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return plan(chat_request, self.dialect).dropped

    def _fixed_headers(self) -> dict[str, str]:
        settings, key = self.dialect.settings, usable_key(self.provider, self.secret)
        bearer = settings.key_header == "authorization"
        keyed = {settings.key_header: f"Bearer {key}" if bearer else key} if key else {}
        fixed = {"anthropic-version": settings.api_version, "content-type": "application/json"}
        return own_headers(self.provider) | keyed | fixed


def _root(base_url: str) -> str:
    """The address before ``/v1/messages``, however much of that an operator wrote."""
    return base_url.rstrip("/").removesuffix("/messages").removesuffix("/v1") or BASE_URL
