"""One Gemini answer, put together. A whole answer is one large chunk, so a stream and a plain answer are read alike."""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.providers.answer_pieces import Beginning, FirstChoice, SaidTexts
from llm_foundation.providers.gemini.calls import GeminiCalls, GrowingCall
from llm_foundation.providers.gemini.finish import finish_reason, reason_name
from llm_foundation.providers.gemini.parts import WirePart, is_part, part_kind, says_nothing
from llm_foundation.providers.gemini.state import kept_state
from llm_foundation.providers.gemini.usage import read_usage
from llm_foundation.providers.wire_json import as_list, as_object, as_text

_CUTTING: Final = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.ERROR)
_SOURCES: Final = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
"""What an answer says of itself beside its parts, for people who look into it."""


class GeminiAnswer:
    """What has arrived of an answer so far. Takes anything; what has no promised shape is passed over and counted."""

    def __init__(self, beginning: Beginning) -> None:
        self._owner = beginning.owner
        self._candidate, self._said = FirstChoice("candidates"), SaidTexts()
        self._calls = GeminiCalls(names=beginning.names, taken_ids=beginning.taken_ids)
        self._parts: list[WirePart | GrowingCall] = []
        self._other: dict[str, None] = {}
        self._unread = 0
        self._usage = Usage()
        self._model, self._id = "", ""
        self._metadata = dict(beginning.metadata)
        self._finish_message = ""
        self.raw_finish_reason: str | None = None
        self.blocked: str | None = None

    def add_envelope(self, payload: Mapping[str, Any]) -> None:
        """What stands around the candidates: names, and usage, of which the last one counts."""
        self._model = as_text(payload.get("modelVersion")) or self._model
        self._id = as_text(payload.get("responseId")) or self._id
        self._usage = read_usage(payload.get("usageMetadata")) or self._usage
        feedback = as_object(payload.get("promptFeedback"))
        if feedback.get("blockReason") and not payload.get("candidates"):
            self.blocked = f"{feedback['blockReason']} {as_text(feedback.get('blockReasonMessage'))}".strip()
            self.raw_finish_reason = f"blocked:{feedback['blockReason']}"

    def candidate_of(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The candidate that counts. Empty in a chunk that has none of it."""
        return self._candidate.of(payload)

    def add(self, candidate: Mapping[str, Any]) -> list[StreamEvent]:
        """Take a piece of the answer, or all of it. The events are what is new in it."""
        events: list[StreamEvent] = []
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            if is_part(part):
                events += self._read(part)
            else:
                self._unread += 1
        self._metadata |= {key: candidate[key] for key in _SOURCES if candidate.get(key)}
        if reason_name(candidate.get("finishReason")):
            self.raw_finish_reason = str(candidate["finishReason"])
            self._finish_message = as_text(candidate.get("finishMessage"))
            events += self.flush() if self.is_finished else []
        return events

    def _read(self, part: WirePart) -> list[StreamEvent]:
        kind = part_kind(part)
        if kind == "functionCall":
            begun, events = self._calls.add(part)
            self._parts += [begun] if begun is not None else []
            return events
        if not says_nothing(part):
            self._parts.append(part)
        if kind == "text":
            return self._said.think(part["text"]) if part.get("thought") else self._said.say(part["text"])
        self._other |= {kind: None} if kind else {}
        return []

    @property
    def has_begun(self) -> bool:
        return self._candidate.has_come or self.blocked is not None

    @property
    def is_finished(self) -> bool:
        return reason_name(self.raw_finish_reason) not in ("", "FINISH_REASON_UNSPECIFIED")

    @property
    def calls_the_unexpected(self) -> bool:
        """Whether the model called a tool that was not on offer. The call is there, and can be answered as unknown."""
        return bool(self._calls) and reason_name(self.raw_finish_reason) == "UNEXPECTED_TOOL_CALL"

    def flush(self) -> list[StreamEvent]:
        """End all texts: nothing more will come."""
        return self._said.flush()

    def response(self, *, is_complete: bool = True) -> CompletionResponse:
        """The answer as it stands. The last call of one that is not complete may be cut, like one cut by a limit."""
        self.flush()
        reason = self._reason()
        ends_in_call = bool(self._parts) and isinstance(self._parts[-1], GrowingCall)
        calls = self._calls.built(cut=ends_in_call and (not is_complete or reason in _CUTTING))
        parts = [part.part if isinstance(part, GrowingCall) else part for part in self._parts]
        return CompletionResponse(
            content=self._said.text.text,
            tool_calls=calls,
            finish_reason=reason,
            raw_finish_reason=self.raw_finish_reason,
            usage=self._usage,
            reasoning=self._said.reasoning.text or None,
            model=self._model,
            response_id=self._id or None,
            provider_state=kept_state(self._owner, parts, self._calls.bindings),
            metadata=self._metadata | self._notes(),
        )

    def _reason(self) -> FinishReason:
        """The calls decide whether a turn has calls (opencode#14972), also one of a tool that was not on offer."""
        if self.blocked is not None:
            return FinishReason.CONTENT_FILTER
        said = finish_reason(self.raw_finish_reason)
        if self.calls_the_unexpected or (self._calls and said in (FinishReason.STOP, FinishReason.OTHER)):
            return FinishReason.TOOL_CALLS
        return said

    def _notes(self) -> dict[str, Any]:
        """Why the answer ended, where that says something, and what could not be told in its content."""
        is_usual = finish_reason(self.raw_finish_reason) is FinishReason.STOP
        told = {
            "finish_message": "" if is_usual else self._finish_message,
            "other_parts": list(self._other),
            "calls_without_name": self._calls.nameless,
            "unread_parts": self._unread,
        }
        return {key: value for key, value in told.items() if value}
