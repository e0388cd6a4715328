"""Reading a streamed Ollama answer: a JSON object a line, of which the last one says that it is done."""

from typing import Any

from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.event_stream import EventStreamDecoder, Framing
from llm_foundation.providers.ndjson import LineDecoder
from llm_foundation.providers.ollama.answer import OllamaAnswer
from llm_foundation.providers.ollama.response import failure_of


class OllamaStreamDecoder(EventStreamDecoder):
    """Objects by line, or as server-sent events, which some gateways make of them."""

    _answer: OllamaAnswer

    def _framing(self, start: bytes) -> Framing | None:
        return LineDecoder() if start.startswith(b"{") else super()._framing(start)

    def _take(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        self._answer.add_envelope(chunk)
        events = self._answer.add(chunk)
        self._has_ended = self._answer.is_finished
        if failure := failure_of(self._answer, self._errors):
            raise failure
        return events
