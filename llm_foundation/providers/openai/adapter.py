"""Adapters for OpenAI and for everybody who speaks its formats; each request goes out in the one that can carry it."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.frozen import freeze_object
from llm_foundation.chat.options import ChatOptions, ChatRequest
from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.providers.base import Adapter, HTTPRequest, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.discovery import ModelPage
from llm_foundation.providers.event_stream import EventStreamDecoder
from llm_foundation.providers.openai.endpoint import EndpointAdapter
from llm_foundation.providers.openai.endpoints import effective, profile_for
from llm_foundation.providers.openai.model_traits import traits_of
from llm_foundation.providers.openai_chat.adapter import ChatCompletionsAdapter
from llm_foundation.providers.openai_responses.adapter import ResponsesAdapter
from llm_foundation.providers.openai_responses.options import ONLY_ON_RESPONSES

OPTION: Final = "api"
"""Forces a format: in the options of a provider, or in ``extra`` of a configuration, which counts before those."""

CHAT_COMPLETIONS: Final = "chat_completions"
RESPONSES: Final = "responses"

_OPENAIS_HOST: Final = re.compile(r"https://([\w-]+\.)?api\.openai\.com(:\d+)?(/|$)", re.IGNORECASE)
"""Regional hosts count as well: ``eu.api.openai.com``."""


class OpenAIStyleAdapter(Adapter):
    """Chat Completions, and Responses where the model needs it or somebody asked for it.

    Only OpenAI's own host is sure to have both: there, a request that Chat Completions cannot carry goes to Responses,
    and a conversation that holds context from Responses stays there. Any other endpoint uses Responses only if told to.
    """

    default_profile: ClassVar[str]

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        profile = profile_for(provider, default=self.default_profile)
        super().__init__(effective(provider, profile), model, secret)
        self._forced = _checked(provider.options.get(OPTION), f"Provider {provider.name!r}: its option {OPTION!r}")
        self._may_choose = profile.is_openai and _OPENAIS_HOST.match(self.provider.base_url) is not None
        self._profile = profile
        self.chat = ChatCompletionsAdapter(self.provider, model, secret, profile=profile, owner_name=self.name)
        self.capabilities = self.chat.capabilities
        self.embedding_limits = profile.embedding_limits.adjusted(provider.options, provider=provider.name)

    @cached_property
    def responses(self) -> ResponsesAdapter:
        """Made when it is needed: most endpoints have only the other format, and a run makes adapters at each step."""
        owner = f"{self.name}:{RESPONSES}"
        return ResponsesAdapter(self.provider, self.model, self.secret, profile=self._profile, owner_name=owner)

    @property
    def owner(self) -> StateOwner:
        """Whose context answers carry where the request does not decide otherwise."""
        return self._by_name(self._forced or CHAT_COMPLETIONS).owner

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        return self.format_for(chat_request).request(_without_option(chat_request))

    def response(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        chat_request: ChatRequest | None = None,
    ) -> CompletionResponse:
        asked = chat_request and _without_option(chat_request)
        return self.format_for(chat_request).response(status, headers, body, chat_request=asked)

    def dropped_options(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return self.format_for(chat_request).dropped_options(_without_option(chat_request))

    def stream(self, chat_request: ChatRequest | None = None) -> EventStreamDecoder:
        return self.format_for(chat_request).stream(chat_request and _without_option(chat_request))

    def embedding_request(self, texts: Sequence[str], *, extra: Mapping[str, Any] | None = None) -> HTTPRequest:
        added = {key: value for key, value in (extra or {}).items() if key != OPTION}
        return self.chat.embedding_request(texts, extra=added)

    def embeddings(self, status: int, headers: Mapping[str, str], body: bytes) -> Embeddings:
        return self.chat.embeddings(status, headers, body)

    def models_request(self, page: str = "") -> HTTPRequest:
        return self.chat.models_request(page)

    def models(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelPage:
        return self.chat.models(status, headers, body)

    def format_for(self, chat_request: ChatRequest | None) -> EndpointAdapter:
        """The format that carries a request. Raises ``UnusableConfiguration`` where the request names none that is."""
        if chat_request is None:
            return self._by_name(self._forced or CHAT_COMPLETIONS)
        asked = _checked(chat_request.options.extra.get(OPTION), f"The option extra.{OPTION}")
        forced = asked or self._forced
        if forced:
            return self._by_name(forced)
        return self.responses if self._may_choose and self._needs_responses(chat_request) else self.chat

    def _needs_responses(self, request: ChatRequest) -> bool:
        offers = bool(request.tools) and self.model.supports_tools
        traits = traits_of(self.model.model_id)
        if not traits.takes_on_chat(tools=offers, effort=_effort(request.options)):
            return True
        if not ONLY_ON_RESPONSES.isdisjoint(request.options.extra):
            return True
        owner = self.responses.dialect.owner
        return any(turn.provider_state is not None and turn.provider_state.owner == owner for turn in request.messages)

    def _by_name(self, name: str) -> EndpointAdapter:
        return self.responses if name == RESPONSES else self.chat


class OpenAIAdapter(OpenAIStyleAdapter):
    """OpenAI itself."""

    name = "openai"
    default_profile = "openai"


class OpenAICompatibleAdapter(OpenAIStyleAdapter):
    """Any other endpoint that speaks the format; ``ProviderSpec.profile`` says whose."""

    name = "openai_compatible"
    default_profile = "custom"


def _checked(api: Any, where: str) -> str:
    if api in (None, ""):
        return ""
    if api not in (CHAT_COMPLETIONS, RESPONSES):
        raise UnusableConfiguration(f"{where} cannot be {api!r}; it is {CHAT_COMPLETIONS!r} or {RESPONSES!r}.")
    return str(api)


def _effort(options: ChatOptions) -> str | None:
    """The effort that the model is asked for, also where an operator says it in the words of Chat Completions."""
    effort = options.extra.get("reasoning_effort", options.reasoning_effort)
    return effort if isinstance(effort, str) else None


def _without_option(request: ChatRequest) -> ChatRequest:
    """The request without the word that chose the format: no provider knows it."""
    if OPTION not in request.options.extra:
        return request
    extra = freeze_object({key: value for key, value in request.options.extra.items() if key != OPTION})
    return request.model_copy(update={"options": request.options.model_copy(update={"extra": extra})})
