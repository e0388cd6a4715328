"""What adapters have in common whose answers come whole, or as server-sent events."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.conversation import call_ids
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.answer_pieces import Beginning
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.errors import ErrorReader
from llm_foundation.providers.event_stream import EventStreamDecoder
from llm_foundation.providers.tool_names import own_names

_STREAM_STARTS: Final = (b"data:", b"event:", b":")


class StreamingAdapter(Adapter):
    """Tells errors, streams and whole answers apart, and says what every answer begins with."""

    names_start_with_letter: ClassVar[bool] = False
    """Whether the names of tools have to; see ``tool_names``."""

    def __init__(self, provider: ProviderSpec, model: ModelSpec, secret: Secret | None) -> None:
        super().__init__(provider, model, secret)
        self._errors = ErrorReader(provider=provider.name, model=model.model_id, secret=secret.value if secret else "")

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
        if self._is_stream(body):
            decoder = self.stream(chat_request)
            decoder.feed(body)
            return decoder.finish()
        return self._whole(status, headers, body, chat_request)

    def _is_stream(self, body: bytes) -> bool:
        """Whether a body is a stream, asked for or not."""
        return body.lstrip().startswith(_STREAM_STARTS)

    @abstractmethod
    def stream(self, chat_request: ChatRequest | None = None) -> EventStreamDecoder: ...

    @abstractmethod
    def _whole(
        self, status: int, headers: Mapping[str, str], body: bytes, chat_request: ChatRequest | None
    ) -> CompletionResponse:
        """Read an answer of status 200 that is no stream."""

    @abstractmethod
    def _dropped(self, chat_request: ChatRequest) -> tuple[str, ...]:
        """The options that a request leaves out because this model cannot take them."""

    def dropped_options(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return self._dropped(chat_request)

    def _read_whole(self, chat_request: ChatRequest | None) -> Callable[[bytes], CompletionResponse]:
        """What a decoder calls for a body that is no stream although one was asked for."""
        return partial(self.response, 200, {}, chat_request=chat_request)

    def _beginning(self, chat_request: ChatRequest | None) -> Beginning:
        if chat_request is None:
            return Beginning(self.owner)
        offered = [tool.name for tool in chat_request.tools]
        called = [call.name for message in chat_request.messages for call in message.tool_calls]
        dropped = self._dropped(chat_request)
        return Beginning(
            self.owner,
            names=own_names([*called, *offered], starts_with_letter=self.names_start_with_letter),
            taken_ids=call_ids(chat_request.messages),
            metadata={"dropped_options": list(dropped)} if dropped else {},
        )
