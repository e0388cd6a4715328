"""Reading a streamed Gemini answer. It has no end mark of its own: a finish reason is one."""

from typing import Any

from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.event_stream import EventStreamDecoder
from llm_foundation.providers.gemini.answer import GeminiAnswer
from llm_foundation.providers.gemini.response import failure_of


class GeminiStreamDecoder(EventStreamDecoder):
    """Chunks with candidates in them, of which one counts."""

    _answer: GeminiAnswer

    def _take(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        self._answer.add_envelope(chunk)
        events = self._answer.add(self._answer.candidate_of(chunk))
        failure = failure_of(self._answer, self._errors)
        if failure is not None and not events:
            raise failure
        self._failure, self._has_ended = failure, failure is not None
        return events
