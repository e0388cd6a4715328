"""Chat Completions: OpenAI itself, and everybody who speaks its format."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.conversation import call_ids
from llm_foundation.chat.options import ChatRequest
from llm_foundation.exceptions import SecretUnavailable, UnusableConfiguration
from llm_foundation.providers.base import Adapter, Capabilities, HTTPRequest, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.endpoints import effective, profile_for
from llm_foundation.providers.errors import ErrorReader
from llm_foundation.providers.openai_chat_answer import Answer
from llm_foundation.providers.openai_chat_dialect import Dialect
from llm_foundation.providers.openai_chat_request import body, dropped_options
from llm_foundation.providers.openai_chat_response import read_answer
from llm_foundation.providers.openai_chat_stream import ChatStreamDecoder
from llm_foundation.providers.tool_names import own_names

_STREAM_STARTS = (b"data:", b"event:", b":")


class ChatCompletionsAdapter(Adapter):
    """One model behind one endpoint. What differs between endpoints stands in ``endpoints``."""

    default_profile: ClassVar[str]

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        profile = profile_for(provider, default=self.default_profile)
        super().__init__(effective(provider, profile), model, secret)
        self.capabilities = Capabilities(json_schema=profile.json_schema)
        self.dialect = Dialect(self.provider, profile, model, self.owner)
        self._headers = self._fixed_headers()
        self._errors = ErrorReader(provider=provider.name, model=model.model_id, secret=secret.value if secret else "")

    def request(self, chat_request: ChatRequest) -> HTTPRequest:
        return HTTPRequest(
            method="POST",
            url=self.dialect.profile.address(self.provider, self.model),
            headers={**self._headers, "accept": "text/event-stream" if chat_request.stream else "application/json"},
            body=body(chat_request, self.dialect),
        )

    def response(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        chat_request: ChatRequest | None = None,
    ) -> CompletionResponse:
        if not 200 <= status < 300:
            raise self._errors.of_answer(status, headers, body)
        if body.lstrip().startswith(_STREAM_STARTS):
            decoder = self.stream(chat_request)
            decoder.feed(body)
            return decoder.finish()
        return read_answer(status, headers, body, answer=self._answer(chat_request), errors=self._errors)

    def stream(self, chat_request: ChatRequest | None = None) -> ChatStreamDecoder:
        read_whole = partial(self.response, 200, {}, chat_request=chat_request)
        return ChatStreamDecoder(self._answer(chat_request), self._errors, read_whole=read_whole)

    def _answer(self, chat_request: ChatRequest | None) -> Answer:
        """An answer to be read: with our own tool names, and with call ids that this conversation does not have yet."""
        if chat_request is None:
            return Answer(self.dialect.owner, names={})
        offered = [tool.name for tool in chat_request.tools]
        called = [call.name for message in chat_request.messages for call in message.tool_calls]
        dropped = dropped_options(chat_request, self.dialect)
        metadata: dict[str, Any] = {"dropped_options": list(dropped)} if dropped else {}
        taken = call_ids(chat_request.messages)
        return Answer(self.dialect.owner, names=own_names([*called, *offered]), taken_ids=taken, metadata=metadata)

    def _fixed_headers(self) -> dict[str, str]:
        extra = self.provider.options.get("headers") or {}
        if not isinstance(extra, dict) or not all(_fits_header(value) for pair in extra.items() for value in pair):
            raise UnusableConfiguration(
                f"Provider {self.provider.name!r}: its option 'headers' must map names to printable values."
            )
        return (
            {name.lower(): value for name, value in extra.items()} | self._key() | {"content-type": "application/json"}
        )

    def _key(self) -> dict[str, str]:
        key = self.secret.value.strip() if self.secret else ""
        if not _fits_header(key):
            raise SecretUnavailable(
                f"The key of provider {self.provider.name!r} holds characters that no key has; enter it again."
            )
        if not key:
            return {}
        bearer = self.dialect.profile.key_header == "authorization"
        return {self.dialect.profile.key_header: f"Bearer {key}" if bearer else key}


def _fits_header(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()


class OpenAIAdapter(ChatCompletionsAdapter):
    """OpenAI's own Chat Completions."""

    name = "openai"
    default_profile = "openai"


class OpenAICompatibleAdapter(ChatCompletionsAdapter):
    """Any other endpoint that speaks the format; ``ProviderSpec.profile`` says whose."""

    name = "openai_compatible"
    default_profile = "custom"
