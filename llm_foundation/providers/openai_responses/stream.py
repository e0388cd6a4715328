"""Reading a streamed Responses answer."""

from typing import Any, Final

from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.errors import UNREADABLE
from llm_foundation.providers.event_stream import EventStreamDecoder
from llm_foundation.providers.openai_responses.answer import Answer
from llm_foundation.providers.openai_responses.response import failure_in
from llm_foundation.providers.sse import ServerSentEvent
from llm_foundation.providers.wire_json import as_object, as_text, from_json

_DONE: Final = "[DONE]"
"""Some servers say it at the end; whether the answer is whole, only the event before it tells."""


class ResponsesStreamDecoder(EventStreamDecoder):
    """Reads events until ``response.completed`` or ``response.incomplete``; ``response.failed`` is an error."""

    _answer: Answer

    def _read(self, event: ServerSentEvent) -> list[StreamEvent]:
        if event.data.strip() == _DONE:
            return []
        try:
            chunk = as_object(from_json(event.data))
        except ValueError:
            return super()._read(event)
        kind = as_text(chunk.get("type")) or event.name
        if not kind.startswith("response."):
            return super()._read(event)
        try:
            return self._take({**chunk, "type": kind})
        except UNREADABLE:
            raise self._errors.unreadable("an event cannot be read", partial=self.partial()) from None

    def _take(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        events = self._answer.take(chunk)
        self._has_ended = self._answer.is_finished
        if self._has_ended and (failure := failure_in(as_object(chunk.get("response")), self._answer.status)):
            raise self._errors.of_payload(failure, partial=self.partial())
        return events
