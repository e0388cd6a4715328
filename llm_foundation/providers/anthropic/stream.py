"""Reading a streamed Messages answer."""

from typing import Any

from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.anthropic.answer import Answer
from llm_foundation.providers.event_stream import EventStreamDecoder
from llm_foundation.providers.wire_json import as_object


class MessageStreamDecoder(EventStreamDecoder):
    """Reads events until ``message_stop``, or until the bytes end after a stop reason. Other events say nothing."""

    _answer: Answer

    def _take(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        index = chunk.get("index")
        place = index if isinstance(index, int | str) else None
        match chunk.get("type"):
            case "content_block_delta":
                return self._answer.grow_block(place, chunk.get("delta"))
            case "content_block_start":
                return self._answer.open_block(place, chunk.get("content_block"))
            case "content_block_stop":
                return self._answer.close_block(place)
            case "message_start":
                return self._answer.begin(as_object(chunk.get("message")))
            case "message_delta":
                self._answer.add_envelope(chunk)
                self._answer.add_envelope(as_object(chunk.get("delta")))
            case "message_stop":
                self._has_ended = True
                return self._answer.flush()
        return []
