"""One Ollama answer, put together. A whole answer is one large line, so a stream and a plain answer are read alike."""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.answer_pieces import Beginning, SaidTexts
from llm_foundation.providers.ollama.calls import OllamaCalls
from llm_foundation.providers.ollama.state import kept_state
from llm_foundation.providers.wire_json import as_count, as_object, as_text

_REASONS: Final = {
    "": FinishReason.STOP,  # servers before May 2024 say no reason
    "stop": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
}
_NOT_ASKED: Final = ("load", "unload")
"""Why an answer ends where the model was only brought into memory, or out of it (oh-my-pi#7465)."""

_COUNTS: Final = {
    "input_tokens": "prompt_eval_count",
    "cached_input_tokens": "prompt_eval_cached_count",
    "output_tokens": "eval_count",
}
_COUNTED: Final = frozenset(_COUNTS.values())


class OllamaAnswer:
    """What has arrived of an answer so far. Takes anything; what has no promised shape is passed over."""

    def __init__(self, beginning: Beginning) -> None:
        self._owner = beginning.owner
        self._said = SaidTexts()
        self._calls = OllamaCalls(names=beginning.names, taken_ids=beginning.taken_ids)
        self._ends_in_call = False
        self._usage = Usage()
        self._model = ""
        self._metadata = dict(beginning.metadata)
        self.raw_finish_reason: str | None = None
        self.has_begun = False
        self.is_finished = False

    def add_envelope(self, payload: Mapping[str, Any]) -> None:
        """What stands around the message: names, and usage, of which the last one counts."""
        self._model = as_text(payload.get("model")) or self._model
        if payload.keys() & _COUNTED:
            counts = {ours: as_count(payload.get(theirs)) for ours, theirs in _COUNTS.items()}
            self._usage = Usage(**counts) if any(count is not None for count in counts.values()) else self._usage

    def add(self, payload: Mapping[str, Any]) -> list[StreamEvent]:
        """Take a piece of the answer, or all of it. The events are what is new in it."""
        message = as_object(payload.get("message"))
        thinking, text = as_text(message.get("thinking")), as_text(message.get("content"))
        events: list[StreamEvent] = [*self._said.think(thinking), *self._said.say(text)]
        called = self._calls.add(message["tool_calls"]) if message.get("tool_calls") else []
        self._ends_in_call = bool(called) or (self._ends_in_call and not (thinking or text))
        self.has_begun = self.has_begun or "message" in payload or payload.get("done") is True
        events += called
        if payload.get("done") is True:
            self.is_finished = True
            reason = payload.get("done_reason")
            self.raw_finish_reason = reason if isinstance(reason, str) else None
            events += self.flush()
        return events

    @property
    def was_not_asked(self) -> bool:
        """Whether the model was only loaded, and so wrote nothing."""
        return self.raw_finish_reason in _NOT_ASKED and not (self._said.text or self._calls)

    def flush(self) -> list[StreamEvent]:
        """End all texts: nothing more will come."""
        return self._said.flush()

    def response(self, *, is_complete: bool = True) -> CompletionResponse:
        """The answer as it stands. The last call of one that is not complete may be cut, like one cut by a limit."""
        self.flush()
        reason = self._reason()
        cut = self._ends_in_call and (not is_complete or reason is FinishReason.LENGTH)
        thinking = self._said.reasoning.text
        fields = {"thinking": thinking, "calls": self._calls.extras}
        nameless = {"calls_without_name": self._calls.nameless} if self._calls.nameless else {}
        return CompletionResponse(
            content=self._said.text.text,
            tool_calls=self._calls.built(cut=cut),
            finish_reason=reason,
            raw_finish_reason=self.raw_finish_reason,
            usage=self._usage,
            reasoning=thinking or None,
            model=self._model,
            provider_state=kept_state(
                self._owner, {key: value for key, value in fields.items() if value}, self._calls.bindings
            ),
            metadata=self._metadata | nameless,
        )

    def _reason(self) -> FinishReason:
        """The calls decide whether a turn has calls (opencode#14972, mastra#12581); other reasons stand."""
        if not self.is_finished:
            return FinishReason.OTHER
        said = _REASONS.get((self.raw_finish_reason or "").lower(), FinishReason.OTHER)
        if self._calls and said in (FinishReason.STOP, FinishReason.OTHER):
            return FinishReason.TOOL_CALLS
        return FinishReason.STOP if said is FinishReason.TOOL_CALLS and not self._calls else said
