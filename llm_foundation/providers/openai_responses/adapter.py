"""Responses: OpenAI's newer format, which keeps what the model thought between its calls. Nothing is stored there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.call_ids import at_most_64
from llm_foundation.providers.openai.endpoint import EndpointAdapter
from llm_foundation.providers.openai.endpoint_quirks import files_after_results
from llm_foundation.providers.openai.endpoints import EndpointProfile
from llm_foundation.providers.openai_responses.answer import Answer
from llm_foundation.providers.openai_responses.request import address, body, dropped_options
from llm_foundation.providers.openai_responses.response import read_payload
from llm_foundation.providers.openai_responses.stream import ResponsesStreamDecoder


class ResponsesAdapter(EndpointAdapter):
    """One model behind one endpoint, by ``/responses``."""

    name = "responses"
    uses_responses = True

    def _profile(self, profile: EndpointProfile) -> EndpointProfile:
        """Ids may be longer here (pi#2328), and OpenAI takes files in results."""
        left = {files_after_results} if profile.is_openai else set()
        kept = tuple(arrange for arrange in profile.arrangements if arrange not in left)
        return replace(profile, call_id=at_most_64, arrangements=kept)

    def stream(self, chat_request: ChatRequest | None = None) -> ResponsesStreamDecoder:
        return ResponsesStreamDecoder(
            self._answer(chat_request), self._errors, read_whole=self._read_whole(chat_request)
        )

    def _address(self) -> str:
        return address(self.provider, self.dialect.profile)

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
