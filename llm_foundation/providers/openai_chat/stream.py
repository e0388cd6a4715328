"""Reading a streamed Chat Completions answer."""

from typing import Any

from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.event_stream import EventStreamDecoder
from llm_foundation.providers.openai_chat.answer import Answer


class ChatStreamDecoder(EventStreamDecoder):
    """Chunks with choices in them, of which one counts."""

    _answer: Answer

    def _take(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        self._answer.add_envelope(chunk)
        choice = self._answer.choice_of(chunk)
        events = self._answer.add_delta(choice) if choice else []
        if choice.get("error"):
            raise self._errors.of_payload(choice, partial=self.partial())
        if self._answer.raw_finish_reason == "error":
            raise self._errors.unreadable("the model stopped with an error", partial=self.partial())
        return events
