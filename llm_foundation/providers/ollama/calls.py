"""The calls of one Ollama turn. Each comes whole; in a stream they come one or several a line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from llm_foundation.chat.frozen import FrozenDict
from llm_foundation.chat.stream import StreamEvent, ToolCallDelta, ToolCallStarted
from llm_foundation.chat.tool_calls import ToolCall, new_call_id
from llm_foundation.providers.openai_chat.state import KNOWN_CALL_KEYS
from llm_foundation.providers.wire_json import as_list, as_object, as_text, raw_text


@dataclass(frozen=True, slots=True)
class OllamaCall:
    """A call as it came. ``wire_id`` is empty where it came without an id, or with one that is blank."""

    id: str
    wire_id: str
    name: str
    arguments: Any
    extra: Mapping[str, Any]

    def built(self, *, cut: bool) -> ToolCall:
        if not cut:
            return ToolCall.from_model(id=self.id, name=self.name, arguments=self.arguments)
        raw = raw_text(self.arguments)
        return ToolCall(id=self.id, name=self.name, arguments=FrozenDict(), invalid_arguments=raw)


class OllamaCalls:
    """All calls of a turn, in their order."""

    def __init__(self, *, names: Mapping[str, str], taken_ids: Iterable[str]) -> None:
        self._names = names
        self._taken = set(taken_ids)
        self._wired: set[str] = set()
        self._calls: list[OllamaCall] = []
        self.nameless = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, entries: Any) -> list[StreamEvent]:
        """Take the calls of one line. What is no call with a name is none."""
        events: list[StreamEvent] = []
        for entry in map(as_object, as_list(entries)):
            function = as_object(entry.get("function"))
            name = as_text(function.get("name"))
            if name.strip():
                events += self._add(entry, function, self._names.get(name, name))
            else:
                self.nameless += 1
        return events

    def _add(self, entry: dict[str, Any], function: dict[str, Any], name: str) -> list[StreamEvent]:
        """A missing, blank or repeated id becomes one of ours (llama.cpp#11992, vercel/ai#7834, Switchyard#502)."""
        wire_id = as_text(entry.get("id")) if as_text(entry.get("id")).strip() else ""
        id = wire_id if wire_id and wire_id not in self._taken else new_call_id()
        extra = {key: value for key, value in entry.items() if key not in KNOWN_CALL_KEYS}
        call = OllamaCall(id, "" if wire_id in self._wired else wire_id, name, function.get("arguments"), extra)
        self._taken.add(id)
        self._wired.add(wire_id)
        index = len(self._calls)
        self._calls.append(call)
        arguments = raw_text(call.arguments) or "{}"
        return [
            ToolCallStarted(index=index, call_id=id, name=name),
            ToolCallDelta(index=index, arguments=arguments),
        ]

    def built(self, *, cut: bool) -> tuple[ToolCall, ...]:
        """The calls. In an answer that was ``cut`` off at its last call, nobody knows whether that one is whole."""
        return tuple(call.built(cut=cut and call is self._calls[-1]) for call in self._calls)

    @property
    def bindings(self) -> dict[str, str]:
        """From our ids to Ollama's own, where they differ. An id that it gave twice in one turn names the first."""
        return {call.id: call.wire_id for call in self._calls if call.wire_id and call.wire_id != call.id}

    @property
    def extras(self) -> list[dict[str, Any]]:
        """What stood on each call beside what we know; empty where nothing did on any."""
        extras = [dict(call.extra) for call in self._calls]
        return extras if any(extras) else []
