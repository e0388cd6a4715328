"""Chat Completions: the format that OpenAI and most others speak."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.openai_chat_answer import Answer
from llm_foundation.providers.openai_chat_request import body, dropped_options
from llm_foundation.providers.openai_chat_response import read_payload
from llm_foundation.providers.openai_chat_stream import ChatStreamDecoder
from llm_foundation.providers.openai_endpoint import EndpointAdapter


class ChatCompletionsAdapter(EndpointAdapter):
    """One model behind one endpoint, by ``/chat/completions``."""

    name = "chat_completions"
    uses_responses = False

    def stream(self, chat_request: ChatRequest | None = None) -> ChatStreamDecoder:
        return ChatStreamDecoder(self._answer(chat_request), self._errors, read_whole=self._read_whole(chat_request))

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
        return Answer(**self._beginning(chat_request))
