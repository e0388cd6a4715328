"""The calls of one Gemini turn. A call is one part; only where its arguments are streamed it comes in several."""

from collections.abc import Iterable, Mapping
from typing import Any

from llm_foundation.chat.frozen import FrozenDict
from llm_foundation.chat.stream import StreamEvent, ToolCallDelta, ToolCallStarted
from llm_foundation.chat.tool_calls import ToolCall, new_call_id
from llm_foundation.providers.gemini.bindings import native_id, native_name
from llm_foundation.providers.gemini.partial_args import PartialArgs
from llm_foundation.providers.gemini.parts import SIGNATURE, WirePart
from llm_foundation.providers.wire_json import as_object, raw_text


class GrowingCall:
    """One call on its way, with the part that it came in."""

    def __init__(self, part: WirePart, *, position: int, taken: set[str]) -> None:
        """A missing, blank or repeated id becomes one of ours (llama.cpp#11992, vercel/ai#7834, Switchyard#502)."""
        call = part["functionCall"]
        self.name: str = call["name"]
        self.position = position
        self.wire_id: str = native_id(call)
        self.own_id = self.wire_id if self.wire_id and self.wire_id not in taken else new_call_id()
        self.is_open = call.get("willContinue") is True
        self._first = part
        self._pieces = PartialArgs() if self.is_open or "partialArgs" in call else None
        self._grow(call)

    def go_on(self, part: WirePart) -> None:
        """Take another piece. One that does not say that more will come is the last."""
        call = part["functionCall"]
        self.is_open = call.get("willContinue") is True
        if part.get(SIGNATURE):
            self._first = {SIGNATURE: part[SIGNATURE], **self._first}
        self._grow(call)

    def _grow(self, call: Mapping[str, Any]) -> None:
        if self._pieces is not None:
            self._pieces.value |= as_object(call.get("args"))
            self._pieces.add(call.get("partialArgs"))

    @property
    def arguments(self) -> Any:
        return self._first["functionCall"].get("args") if self._pieces is None else self._pieces.value

    @property
    def is_cut(self) -> bool:
        """Whether some of the arguments never came."""
        return self.is_open or (self._pieces is not None and self._pieces.is_broken)

    @property
    def part(self) -> WirePart:
        """The part as it would have come in one piece."""
        if self._pieces is None:
            return self._first
        kept = {key: value for key, value in self._first["functionCall"].items() if key in ("id", "name")}
        return {**self._first, "functionCall": {**kept, "args": self._pieces.value}}


class GeminiCalls:
    """All calls of a turn, in the order in which they began."""

    def __init__(self, *, names: Mapping[str, str], taken_ids: Iterable[str]) -> None:
        self._names = names
        self._taken = set(taken_ids)
        self._calls: list[GrowingCall] = []
        self.nameless = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, part: WirePart) -> tuple[GrowingCall | None, list[StreamEvent]]:
        """Take a part with a call in it. The call is given where this part begins one."""
        piece = part["functionCall"]
        name = native_name(piece)
        last = self._calls[-1] if self._calls else None
        if last is not None and last.is_open and name in ("", last.name) and (not name or "partialArgs" in piece):
            last.go_on(part)
            return None, _told(last)
        if not name:
            self.nameless += 1 if piece.get("args") or piece.get("partialArgs") else 0
            return None, []
        call = GrowingCall(part, position=len(self._calls), taken=self._taken)
        self._taken.add(call.own_id)
        self._calls.append(call)
        started = ToolCallStarted(index=call.position, call_id=call.own_id, name=self._own_name(call))
        return call, [started, *_told(call)]

    def _own_name(self, call: GrowingCall) -> str:
        return self._names.get(call.name, call.name)

    def built(self, *, cut: bool) -> tuple[ToolCall, ...]:
        """The calls. In an answer that was ``cut`` off at its last call, nobody knows whether that one is whole."""
        calls = []
        for call in self._calls:
            if call.is_cut or (cut and call is self._calls[-1]):
                raw = raw_text(call.arguments)
                invalid: dict[str, Any] = {"arguments": FrozenDict(), "invalid_arguments": raw}
                calls.append(ToolCall(id=call.own_id, name=self._own_name(call), **invalid))
            else:
                calls.append(ToolCall.from_model(id=call.own_id, name=self._own_name(call), arguments=call.arguments))
        return tuple(calls)

    @property
    def bindings(self) -> dict[str, str]:
        """From our ids to Gemini's own, for the calls that came with one."""
        return {call.own_id: call.wire_id for call in self._calls if call.wire_id}


def _told(call: GrowingCall) -> list[StreamEvent]:
    """The arguments in one piece, once they are whole."""
    if call.is_open:
        return []
    return [ToolCallDelta(index=call.position, arguments=raw_text(call.arguments) or "{}")]
