"""Sending one request and reading its answer, whole or as a stream; a sync and an async driver over the same steps."""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.options import ChatRequest
from llm_foundation.chat.stream import (
    ReasoningDelta,
    StreamCompleted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from llm_foundation.exceptions import ConnectionFailed, ProviderError
from llm_foundation.pipeline.target import Target
from llm_foundation.providers.base import HTTPRequest, StreamDecoder
from llm_foundation.transport import client
from llm_foundation.vocabulary import DataClass


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One contact with a model. ``high_water`` is the highest data class that the conversation holds.

    ``notes`` join the response's metadata.
    """

    target: Target
    request: ChatRequest
    high_water: DataClass = DataClass.PUBLIC
    notes: Mapping[str, Any] = field(default_factory=dict)

    def _prepare(self) -> HTTPRequest:
        self.target.require_tools(self.request.tools)
        prepared = self.target.adapter.request(self.request)
        self.target.require_ceiling(self.high_water)
        return prepared

    def _read(self, status: int, headers: Mapping[str, str], body: bytes) -> CompletionResponse:
        response = self.target.adapter.response(status, headers, body, chat_request=self.request)
        return self._signed(response)

    def _signed(self, response: CompletionResponse) -> CompletionResponse:
        """What served the call stands on the response."""
        served = {"configuration": self.target.configuration, "provider": self.target.provider}
        return response.with_metadata(**served, **self.notes)

    def perform(self) -> CompletionResponse:
        with self.target.named_in_errors():
            answer = client.send(self._prepare(), limits=self.target.deadlines)
            return self._read(answer.status, answer.headers, answer.body)

    async def aperform(self) -> CompletionResponse:
        with self.target.named_in_errors():
            answer = await client.asend(self._prepare(), limits=self.target.deadlines)
            return self._read(answer.status, answer.headers, answer.body)

    def stream(self) -> Generator[StreamEvent, None, None]:
        """The events. What is wrong before contact is raised here, not at the first of them."""
        call = self._streaming()
        with self.target.named_in_errors():
            return call._events(call._prepare())

    def _streaming(self) -> "ModelCall":
        """The same, asking for a stream."""
        return replace(self, request=self.request.model_copy(update={"stream": True}))

    def _events(self, prepared: HTTPRequest) -> Generator[StreamEvent, None, None]:
        with self.target.named_in_errors(), client.open_stream(prepared, limits=self.target.deadlines) as answer:
            if not _is_stream(answer.status, answer.headers):
                yield from _as_events(self._read(answer.status, answer.headers, answer.read()))
                return
            decoder = self.target.adapter.stream(self.request)
            with _keeping_partial(decoder):
                for chunk in answer.chunks:
                    yield from decoder.feed(chunk)
            yield StreamCompleted(response=self._signed(decoder.finish()))

    def astream(self) -> AsyncGenerator[StreamEvent, None]:
        return self._streaming()._aevents()

    async def _aevents(self) -> AsyncGenerator[StreamEvent, None]:
        with self.target.named_in_errors():
            async with client.aopen_stream(self._prepare(), limits=self.target.deadlines) as answer:
                if not _is_stream(answer.status, answer.headers):
                    for event in _as_events(self._read(answer.status, answer.headers, await answer.read())):
                        yield event
                    return
                decoder = self.target.adapter.stream(self.request)
                with _keeping_partial(decoder):
                    async for chunk in answer.chunks:
                        for event in decoder.feed(chunk):
                            yield event
                yield StreamCompleted(response=self._signed(decoder.finish()))


def _is_stream(status: int, headers: Mapping[str, str]) -> bool:
    """Some servers answer a streaming request with plain JSON, and every error comes that way."""
    return status < 400 and "json" not in headers.get("content-type", "").partition(";")[0].replace("ndjson", "")


@contextmanager
def _keeping_partial(decoder: StreamDecoder) -> Iterator[None]:
    """What had arrived stays on the error. A connection that breaks after the end mark has broken nothing."""
    try:
        yield
    except ConnectionFailed as failure:
        try:
            decoder.finish()
        except ProviderError as incomplete:
            raise incomplete from failure
    except ProviderError as error:
        error.partial = error.partial or decoder.partial()
        raise


def _as_events(response: CompletionResponse) -> Iterator[StreamEvent]:
    if response.reasoning:
        yield ReasoningDelta(text=response.reasoning)
    if response.content:
        yield TextDelta(text=response.content)
    for index, call in enumerate(response.tool_calls):
        yield ToolCallStarted(index=index, call_id=call.id, name=call.name)
        yield ToolCallDelta(index=index, arguments=call.to_wire()["function"]["arguments"])
    yield StreamCompleted(response=response)
