"""Reading a streamed answer that comes as server-sent events, or in another framing: what all formats share."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.exceptions import IncompleteStream, ProviderError
from llm_foundation.providers.base import StreamDecoder
from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import UNREADABLE, ErrorReader
from llm_foundation.providers.sse import ServerSentEvent, SSEDecoder
from llm_foundation.providers.wire_json import as_object, from_json

_END: Final = "[DONE]"
_NO_STREAM: Final = (b"{", b"[", b"<")
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"


class StreamedAnswer(Protocol):
    """What a decoder needs of the answer that it puts together."""

    @property
    def has_begun(self) -> bool: ...

    @property
    def is_finished(self) -> bool:
        """Whether the model said why it stopped."""

    def add_envelope(self, payload: Mapping[str, Any], /) -> None:
        """Take what stands around the content: names and usage."""

    def flush(self) -> list[StreamEvent]:
        """End all texts: nothing more will come."""

    def response(self, *, is_complete: bool = True) -> CompletionResponse: ...


class Framing(Protocol):
    """What finds the events in bytes, in whatever pieces these arrive."""

    def feed(self, chunk: bytes, /) -> list[ServerSentEvent]:
        """The events that these bytes complete."""

    def finish(self) -> list[ServerSentEvent]:
        """What is left when the bytes end."""


class EventStreamDecoder(StreamDecoder):
    """Reads chunks until ``[DONE]``, or until the bytes end after a finish reason.

    A body that is no stream although one was asked for goes to ``read_whole`` at the end, and gives no events. An error
    is raised after the events that came before it, so it does not matter in which pieces the bytes arrive.
    """

    def __init__(
        self, answer: StreamedAnswer, errors: ErrorReader, *, read_whole: Callable[[bytes], CompletionResponse]
    ) -> None:
        self._answer = answer
        self._errors = errors
        self._read_whole = read_whole
        self._frames: Framing | None = None
        self._first = bytearray()
        self._is_stream: bool | None = None
        self._has_ended = False
        self._failure: ProviderError | None = None

    def _framing(self, start: bytes) -> Framing | None:
        """What reads a body that begins like this; ``None`` for one that is no stream."""
        return None if start.startswith(_NO_STREAM) else SSEDecoder()

    @abstractmethod
    def _take(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        """The events of one chunk. ``UNREADABLE`` out of it becomes a ``ProviderError``."""

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        if self._frames is not None:
            return self._read_all(self._frames.feed(chunk))
        self._first += chunk
        if self._is_stream is None and (start := bytes(self._first.lstrip(_BLANK))):
            self._frames = self._framing(start)
            self._is_stream = self._frames is not None
        return self._read_all(self._frames.feed(bytes(self._first))) if self._frames is not None else []

    def finish(self) -> CompletionResponse:
        if self._is_stream is False:
            return self._read_whole(bytes(self._first))
        self._read_all(self._frames.finish() if self._frames is not None else [])
        self._read_all([])
        if not self._answer.has_begun or not (self._has_ended or self._answer.is_finished):
            raise self._errors.unreadable("no end mark came", kind=IncompleteStream, partial=self.partial())
        try:
            return self._answer.response()
        except UNREADABLE:
            raise self._errors.unreadable("the answer cannot be put together") from None

    def partial(self) -> CompletionResponse | None:
        try:
            return self._answer.response(is_complete=False) if self._answer.has_begun else None
        except UNREADABLE:
            return None

    def _read_all(self, received: list[ServerSentEvent]) -> list[StreamEvent]:
        if self._failure is not None:
            raise self._failure
        events: list[StreamEvent] = []
        try:
            for event in received:
                events += [] if self._has_ended else self._read(event)
        except ProviderError as failure:
            self._failure = failure
            if not events:
                raise
        return events

    def _read(self, event: ServerSentEvent) -> list[StreamEvent]:
        if event.data.strip() == _END:
            self._has_ended = True
            return self._answer.flush()
        try:
            payload = from_json(event.data)
        except ValueError:
            payload = event.data
        if event.name == "error" or is_error(payload):
            self._answer.add_envelope(as_object(payload))
            raise self._errors.of_payload(payload, partial=self.partial())
        if isinstance(payload, str):
            raise self._errors.unreadable("a chunk is no JSON", partial=self.partial())
        try:
            return self._take(as_object(payload))
        except UNREADABLE:
            raise self._errors.unreadable("a chunk cannot be read", partial=self.partial()) from None
