"""One Messages answer, put together. A whole message is opened, filled and closed block by block, as a stream is."""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse, FinishReason
from llm_foundation.chat.stream import StreamEvent, ToolCallStarted
from llm_foundation.chat.tool_calls import new_call_id
from llm_foundation.providers.answer_pieces import Beginning
from llm_foundation.providers.anthropic.blocks import Block, CallBlock, InputBlock, TextBlock, ThinkingBlock
from llm_foundation.providers.anthropic.state import kept_state
from llm_foundation.providers.anthropic.usage import read_usage
from llm_foundation.providers.wire_json import as_list, as_object, as_text

_REASONS: Final = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "pause_turn": FinishReason.PAUSE,
    "refusal": FinishReason.REFUSAL,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_CUTTING: Final = (FinishReason.LENGTH, FinishReason.REFUSAL, FinishReason.CONTENT_FILTER)
_TOLD: Final = ("stop_sequence", "stop_details", "context_management", "input_transformations")
"""What an answer says of itself beside its blocks, for people who look into it."""


def _says_something(value: Any) -> bool:
    return any(value.values()) if isinstance(value, dict) else bool(value)


class Answer:
    """What has arrived of an answer so far. Takes anything; what has no promised shape is passed over."""

    def __init__(self, beginning: Beginning) -> None:
        self._owner = beginning.owner
        self._names = beginning.names
        self._taken = set(beginning.taken_ids)
        self._blocks: list[Block] = []
        self._open: dict[Any, Block] = {}
        self._usage: dict[str, Any] = {}
        self._model, self._id = "", ""
        self._container: dict[str, Any] = {}
        self._metadata = dict(beginning.metadata)
        self._nameless = 0
        self.has_begun = False
        self.raw_finish_reason: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the model said why it stopped."""
        return bool(self.raw_finish_reason)

    def begin(self, message: Mapping[str, Any]) -> list[StreamEvent]:
        """Take a message: its head in a stream, all of it otherwise. One that begins again goes on with the answer."""
        self.has_begun = True
        self._model = as_text(message.get("model")) or self._model
        self._id = as_text(message.get("id")) or self._id
        events: list[StreamEvent] = []
        for index, block in enumerate(as_list(message.get("content"))):
            events += [*self.open_block(index, block), *self.close_block(index)]
        self.add_envelope(message)
        return events

    def add_envelope(self, envelope: Mapping[str, Any]) -> None:
        """What stands around the blocks. Counts are totals: the last one that is given counts (openclaude#1444)."""
        self.raw_finish_reason = as_text(envelope.get("stop_reason")) or self.raw_finish_reason
        self._container = as_object(envelope.get("container")) or self._container
        self._usage |= {key: value for key, value in as_object(envelope.get("usage")).items() if value is not None}
        self._metadata |= {key: envelope[key] for key in _TOLD if _says_something(envelope.get(key))}

    def open_block(self, index: Any, start: Any) -> list[StreamEvent]:
        """A block begins. One that was still open at its place stays as it is: cut off."""
        self.has_begun = True
        events = self._leave(self._open.pop(index, None))
        block = self._block(as_object(start), events)
        if block is None:
            return events
        self._blocks.append(block)
        self._open[index] = block
        return [*events, *block.open()]

    def _leave(self, block: Block | None) -> list[StreamEvent]:
        """End the texts of a block that nobody closed; it stays open."""
        if block is None or block.is_closed:
            return []
        events = list(block.flush())
        if isinstance(block, CallBlock):
            block.is_cut = True
        return events

    def _block(self, start: dict[str, Any], events: list[StreamEvent]) -> Block | None:
        kind = as_text(start.get("type"))
        if kind == "tool_use":
            return self._call(start, events)
        if kind == "text":
            return TextBlock(start)
        if kind == "thinking":
            return ThinkingBlock(start)
        if not kind:
            return None
        return InputBlock(start) if "input" in start else Block(start)

    def _call(self, start: dict[str, Any], events: list[StreamEvent]) -> CallBlock | None:
        """A missing, blank or repeated id becomes one of ours (Switchyard#502); a call without a name is none."""
        name, wire_id = as_text(start.get("name")).strip(), as_text(start.get("id")).strip()
        if not name:
            self._nameless += 1
            return None
        own_id = wire_id if wire_id and wire_id not in self._taken else new_call_id()
        self._taken.add(own_id)
        own_name = self._names.get(name, name)
        block = CallBlock(start, position=len(self._calls), own_id=own_id, own_name=own_name)
        events.append(ToolCallStarted(index=block.position, call_id=own_id, name=own_name))
        return block

    @property
    def _calls(self) -> list[CallBlock]:
        return [block for block in self._blocks if isinstance(block, CallBlock)]

    def grow_block(self, index: Any, delta: Any) -> list[StreamEvent]:
        """A piece of the block at this place; of one that never began, it is passed over."""
        block = self._open.get(index)
        return list(block.grow(as_object(delta))) if block is not None else []

    def close_block(self, index: Any) -> list[StreamEvent]:
        block = self._open.get(index)
        if block is None or block.is_closed:
            return []
        block.is_closed = True
        return list(block.flush())

    def flush(self) -> list[StreamEvent]:
        """End all texts: nothing more will come. What is still open stays so."""
        return [event for block in self._open.values() if not block.is_closed for event in block.flush()]

    def response(self, *, is_complete: bool = True) -> CompletionResponse:
        """The answer as it stands. A call at the end of one that is not complete, or was cut off, is never whole."""
        self.flush()
        reason = self._reason()
        last = self._blocks[-1] if self._blocks else None
        if isinstance(last, CallBlock) and (reason in _CUTTING or not (is_complete or last.is_closed)):
            last.is_cut = True
        thoughts = [block.pieces.text for block in self._blocks if isinstance(block, ThinkingBlock)]
        content = [kept for block in self._blocks if (kept := block.kept()) is not None]
        return CompletionResponse(
            content="".join(block.pieces.text for block in self._blocks if isinstance(block, TextBlock)),
            tool_calls=tuple(block.call for block in self._calls),
            finish_reason=reason,
            raw_finish_reason=self.raw_finish_reason,
            usage=read_usage(self._usage),
            reasoning="".join(thoughts) or None,
            refusal=self._refusal() if reason is FinishReason.REFUSAL else None,
            model=self._model,
            response_id=self._id or None,
            provider_state=kept_state(self._owner, content, self._container),
            metadata=self._metadata | self._sources(),
        )

    def _reason(self) -> FinishReason:
        """The calls decide whether a turn has calls (opencode#14972, mastra#12581); other reasons stand."""
        said = _REASONS.get((self.raw_finish_reason or "").lower(), FinishReason.OTHER)
        if self._calls and said in (FinishReason.STOP, FinishReason.PAUSE, FinishReason.OTHER):
            return FinishReason.TOOL_CALLS
        if not self._calls and said is FinishReason.TOOL_CALLS:
            return FinishReason.STOP
        return said

    def _refusal(self) -> str | None:
        return as_text(as_object(self._metadata.get("stop_details")).get("explanation")) or None

    def _sources(self) -> dict[str, Any]:
        """What the text cites, what the provider's own tools were used for, and which calls could not be read."""
        citations = [cited for block in self._blocks if isinstance(block, TextBlock) for cited in block.citations]
        used = {key: value for key, value in as_object(self._usage.get("server_tool_use")).items() if value}
        found = {"citations": citations, "server_tool_use": used, "calls_without_name": self._nameless}
        return {key: value for key, value in found.items() if value}
