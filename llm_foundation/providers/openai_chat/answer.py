"""One answer, put together. A whole message is one large delta, so a stream and a plain answer are read alike."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.answer_pieces import Beginning, FirstChoice, SaidTexts
from llm_foundation.providers.openai.usage import read_usage
from llm_foundation.providers.openai_chat.calls import Calls
from llm_foundation.providers.openai_chat.chunks import Chunks, ReasoningDetails
from llm_foundation.providers.openai_chat.state import kept_state
from llm_foundation.providers.text_pieces import TextPieces
from llm_foundation.providers.wire_json import as_list, as_object, as_text

_REASONS: Final = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "complete": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
    "network_error": FinishReason.ERROR,
    "insufficient_system_resource": FinishReason.ERROR,
}
_CUTTING: Final = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.ERROR)
_SOURCES: Final = ("annotations", "citations", "search_results")


class Answer:
    """What has arrived of an answer so far. Takes anything; what has no promised shape is passed over."""

    def __init__(self, beginning: Beginning) -> None:
        self._owner = beginning.owner
        self._choice, self._said = FirstChoice("choices"), SaidTexts()
        self._refusal, self._reasoning_content = TextPieces(), TextPieces()
        self._details, self._chunks = ReasoningDetails(), Chunks()
        self._extra_content: dict[str, Any] = {}
        self._calls = Calls(names=beginning.names, taken_ids=beginning.taken_ids)
        self._usage = Usage()
        self._model, self._id = "", ""
        self._metadata = dict(beginning.metadata)
        self.raw_finish_reason: str | None = None

    def add_envelope(self, payload: Mapping[str, Any]) -> None:
        """What stands around the choices: names, and usage, of which the last one counts (openclaude#1444)."""
        self._model = as_text(payload.get("model")) or self._model
        self._id = as_text(payload.get("id")) or self._id
        choices = [as_object(choice) for choice in as_list(payload.get("choices"))]
        for holder in (as_object(payload.get("x_groq")), *choices[:1], payload):
            self._usage = read_usage(holder.get("usage")) or self._usage
        self._keep_sources(payload)

    def choice_of(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The choice that counts. Empty in a chunk that has none of it."""
        return self._choice.of(payload)

    def add_delta(self, choice: Mapping[str, Any], *, whole: bool = False) -> list[StreamEvent]:
        """Take a piece of the answer, or all of it. The events are what is new in it."""
        keys = ("message", "delta") if whole else ("delta", "message")
        delta: dict[str, Any] = next((choice[key] for key in keys if isinstance(choice.get(key), dict)), {})
        events: list[StreamEvent] = [*self._reason(delta, whole=whole), *self._say(delta.get("content"))]
        self._refusal.add(as_text(delta.get("refusal")))
        self._extra_content |= as_object(delta.get("extra_content"))
        self._keep_sources(delta)
        events += self._calls.add(delta.get("tool_calls"), whole=whole)
        if not delta.get("tool_calls"):
            events += self._calls.add_function_call(delta.get("function_call"))
        return events + self._finish(choice.get("finish_reason"))

    def _reason(self, delta: Mapping[str, Any], *, whole: bool) -> Iterator[StreamEvent]:
        """Thinking has three names; where one delta has several of them, they all say the same."""
        own = as_text(delta.get("reasoning_content"))
        self._reasoning_content.add(own)
        details = self._details.add(delta.get("reasoning_details"), whole=whole)
        yield from self._said.think(own or as_text(delta.get("reasoning")) or details)

    def _say(self, content: Any) -> Iterator[StreamEvent]:
        """Text, or Mistral's list of chunks, in one stream mixed with plain strings (vercel/ai#8012)."""
        for kind, text in self._chunks.read(content):
            yield from self._said.think(text) if kind == "thinking" else self._said.say(text)

    def _keep_sources(self, holder: Mapping[str, Any]) -> None:
        self._metadata |= {key: holder[key] for key in _SOURCES if isinstance(holder.get(key), list) and holder[key]}

    def _finish(self, reason: Any) -> list[StreamEvent]:
        if not isinstance(reason, str | int):
            return []
        self.raw_finish_reason = str(reason) or self.raw_finish_reason or ""
        return self.flush() if self.is_finished else []

    @property
    def has_begun(self) -> bool:
        return self._choice.has_come

    @property
    def is_finished(self) -> bool:
        """Whether the model said why it stopped. Some servers say an empty reason with every chunk."""
        return bool(self.raw_finish_reason)

    def flush(self) -> list[StreamEvent]:
        """End all texts: nothing more will come."""
        return self._said.flush() + self._calls.flush()

    def response(self, *, is_complete: bool = True) -> CompletionResponse:
        """The answer as it stands. Calls of one that is not complete may be cut, like those of one cut by a limit."""
        self.flush()
        nameless = {"calls_without_name": self._calls.nameless} if self._calls.nameless else {}
        refusal = self._refusal.text or None
        reason = self._reason_for(refusal)
        calls = self._calls.built(cut=not is_complete or reason in _CUTTING)
        return CompletionResponse(
            content=self._said.text.text,
            tool_calls=calls,
            finish_reason=reason,
            raw_finish_reason=self.raw_finish_reason,
            usage=self._usage,
            reasoning=self._said.reasoning.text or None,
            refusal=refusal,
            model=self._model,
            response_id=self._id or None,
            provider_state=kept_state(self._owner, self._context()),
            metadata=self._metadata | nameless,
        )

    def _reason_for(self, refusal: str | None) -> FinishReason:
        """The calls decide whether a turn has calls (opencode#14972, mastra#12581); other reasons stand."""
        said = _REASONS.get((self.raw_finish_reason or "").lower(), FinishReason.OTHER)
        if self._calls and said in (FinishReason.STOP, FinishReason.OTHER):
            return FinishReason.TOOL_CALLS
        if not self._calls and said is FinishReason.TOOL_CALLS:
            said = FinishReason.STOP
        return FinishReason.REFUSAL if refusal and said is FinishReason.STOP else said

    def _context(self) -> dict[str, Any]:
        """What has to go back to the provider, by the field that it came in."""
        fields = {
            "reasoning_content": self._reasoning_content.text,
            "reasoning_details": self._details.entries,
            "content": self._chunks.kept,
            "extra_content": self._extra_content,
            "calls": self._calls.extras,
        }
        return {key: value for key, value in fields.items() if value}
