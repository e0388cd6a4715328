"""One Responses answer, put together."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.frozen import FrozenDict
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.providers.answer_pieces import Beginning
from llm_foundation.providers.openai.usage import read_usage
from llm_foundation.providers.openai_responses.growing import GrowingItem, as_written
from llm_foundation.providers.openai_responses.items import (
    CALLS,
    PLAIN,
    Passage,
    Place,
    call_id,
    is_named_call,
    kind_of_item,
    spoken,
)
from llm_foundation.providers.openai_responses.output import Output
from llm_foundation.providers.openai_responses.state import kept_state
from llm_foundation.providers.wire_json import as_list, as_object, as_text

_WHOLE: Final = ("completed", "complete")
_INCOMPLETE: Final = {"content_filter": FinishReason.CONTENT_FILTER}
_ENDS: Final = {f"response.{status}": status for status in ("completed", "incomplete", "failed", "cancelled")} | {
    "response.done": None
}
"""The events that end a stream, and the status that each stands for."""


class Answer:
    """What has arrived of an answer so far. Takes anything; what has no promised shape is passed over."""

    def __init__(self, beginning: Beginning) -> None:
        self._owner = beginning.owner
        self._output = Output(names=beginning.names, taken_ids=beginning.taken_ids)
        self._has_output = False
        self._usage = Usage()
        self._model, self._id = "", ""
        self._incomplete = ""
        self._metadata = dict(beginning.metadata)
        self.status: str | None = None
        self.is_finished = False

    @property
    def has_begun(self) -> bool:
        return bool(self._output) or self.is_finished

    def take(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        """Take an event of a stream; the events are what is new in it. What it does not know says nothing to it."""
        kind, response = as_text(event.get("type")), as_object(event.get("response"))
        if kind in _ENDS:
            return self.end({**response, "status": response.get("status") or _ENDS[kind]})
        self.add_envelope(response)
        reader = _READERS.get(kind)
        return list(reader(self, event)) if reader else []

    def add_envelope(self, payload: Mapping[str, Any], /) -> None:
        """What stands around the output: names and usage."""
        self._model = as_text(payload.get("model")) or self._model
        self._id = as_text(payload.get("id")) or self._id
        self._usage = read_usage(payload.get("usage")) or self._usage

    def end(self, response: Mapping[str, Any]) -> list[StreamEvent]:
        """Take the answer as it stands at its end, which is all of one that came whole."""
        self.add_envelope(response)
        self.is_finished = True
        self.status = as_text(response.get("status")) or None
        self._incomplete = as_text(as_object(response.get("incomplete_details")).get("reason"))
        self._has_output = self._has_output or isinstance(response.get("output"), list)
        told = self._output.settle(list(filter(None, map(as_object, as_list(response.get("output"))))))
        return [*told, *self.flush()]

    def flush(self) -> list[StreamEvent]:
        """End all items: nothing more will come."""
        return list(self._output.flush())

    def _open(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if item := as_object(event.get("item")):
            self._has_output = True
            yield from self._output.open(event.get("output_index"), item)

    def _close(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if item := as_object(event.get("item")):
            self._has_output = True
            yield from self._output.close(event.get("output_index"), item)

    def _say(self, event: Mapping[str, Any], *, passage: Passage, numbered: str, key: str) -> Iterator[StreamEvent]:
        """A piece of a text; or the whole of it, which counts only where no pieces came."""
        kind = "reasoning" if passage.kind == "reasoning" else "message"
        item = self._output.item_for(event, kind)
        index = event.get(numbered)
        place: Place = (passage.place[0], index if type(index) is int else 0)
        if key == "delta" or not item.has(place):
            yield from item.say(Passage(passage.kind, place, as_text(event.get(key))))

    def _write(self, event: Mapping[str, Any], *, kind: str, key: str) -> Iterator[StreamEvent]:
        item = self._output.item_for(event, kind)
        yield from self._output.name(item, as_text(event.get("name")).strip())
        if key == "delta" or not item.is_written:
            yield from item.write(as_text(event.get(key)))

    def response(self, *, is_complete: bool = True) -> CompletionResponse:
        """The answer as it stands. Calls of one that is not complete may be cut, like those of one cut by a limit."""
        growing = self._output.items
        items = [item.whole() for item in growing]
        is_cut = not is_complete or self.status not in (None, *_WHOLE)
        calls = tuple(self._call(item, is_cut=is_cut) for item in growing if is_named_call(item.whole()))
        refusal = spoken(items, "refusal") or None
        bindings = {item.own_id: wire for item in growing if (wire := _replaced_id(item))}
        # What is not done may hold encrypted content that is not whole.
        keeps = is_complete and self._has_output and all(item.is_done for item in growing)
        return CompletionResponse(
            content=spoken(items, "text"),
            tool_calls=calls,
            finish_reason=self._reason_for(has_calls=bool(calls), refusal=refusal),
            raw_finish_reason=self.status,
            usage=self._usage,
            reasoning=spoken(items, "reasoning") or None,
            refusal=refusal,
            model=self._model,
            response_id=self._id or None,
            provider_state=kept_state(self._owner, items, calls, bindings) if keeps else None,
            metadata=self._metadata | self._told_beside(items),
        )

    def _call(self, growing: GrowingItem, *, is_cut: bool) -> ToolCall:
        """One call. Where the answer was cut off and the cut could be in it unseen, it is invalid."""
        item = growing.whole()
        written, name = as_written(item), self._output.own_name(item)
        is_free_text = kind_of_item(item) == "custom_tool_call"
        if is_cut and item.get("status") != "completed" and (is_free_text or not written.strip()):
            return ToolCall(id=growing.own_id, name=name, arguments=FrozenDict(), invalid_arguments=written)
        if is_free_text:
            return ToolCall(id=growing.own_id, name=name, arguments={"input": written})
        return ToolCall.from_model(id=growing.own_id, name=name, arguments=written)

    def _reason_for(self, *, has_calls: bool, refusal: str | None) -> FinishReason:
        if self.status == "incomplete":
            return _INCOMPLETE.get(self._incomplete, FinishReason.LENGTH)
        if has_calls:
            return FinishReason.TOOL_CALLS
        if self.status not in _WHOLE:
            return FinishReason.OTHER
        return FinishReason.REFUSAL if refusal else FinishReason.STOP

    def _told_beside(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        """What is neither text nor a call of ours: sources, what built-in tools did, why the answer is not whole."""
        parts = [as_object(part) for item in items for part in as_list(item.get("content"))]
        told = {
            "annotations": [note for part in parts for note in as_list(part.get("annotations"))],
            "built_in_tools": [kind for item in items if (kind := kind_of_item(item)) and kind not in PLAIN],
            "calls_without_name": sum(1 for item in items if kind_of_item(item) in CALLS and not is_named_call(item)),
            "incomplete_reason": self._incomplete,
        }
        return {key: value for key, value in told.items() if value}


def _replaced_id(growing: GrowingItem) -> str:
    """The provider's own id of a call that has one of ours instead; empty where it has its own."""
    wire = call_id(growing.whole())
    return wire if growing.own_id and wire != growing.own_id else ""


Reader = Callable[[Answer, Mapping[str, Any]], Iterator[StreamEvent]]


def _texts(kind: Any, field: str, numbered: str, event: str, whole: str = "text") -> dict[str, Reader]:
    passage = Passage(kind, (field, 0), "")
    return {
        f"{event}.delta": lambda answer, told: answer._say(told, passage=passage, numbered=numbered, key="delta"),
        f"{event}.done": lambda answer, told: answer._say(told, passage=passage, numbered=numbered, key=whole),
    }


def _written(kind: str, event: str) -> dict[str, Reader]:
    return {
        f"{event}.delta": lambda answer, told: answer._write(told, kind=kind, key="delta"),
        f"{event}.done": lambda answer, told: answer._write(told, kind=kind, key=CALLS[kind]),
    }


_READERS: Final[dict[str, Reader]] = {
    "response.output_item.added": Answer._open,
    "response.output_item.done": Answer._close,
    **_texts("text", "content", "content_index", "response.output_text"),
    **_texts("refusal", "content", "content_index", "response.refusal", "refusal"),
    **_texts("reasoning", "summary", "summary_index", "response.reasoning_summary_text"),
    **_texts("reasoning", "content", "content_index", "response.reasoning_text"),
    **_written("function_call", "response.function_call_arguments"),
    **_written("custom_tool_call", "response.custom_tool_call_input"),
}
