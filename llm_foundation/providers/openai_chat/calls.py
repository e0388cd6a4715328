"""The calls of one turn, put together from whatever pieces they come in."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llm_foundation.chat.frozen import FrozenDict
from llm_foundation.chat.stream import StreamEvent, ToolCallDelta, ToolCallStarted
from llm_foundation.chat.tool_calls import ToolCall, decode_arguments, new_call_id
from llm_foundation.providers.openai_chat.state import KNOWN_CALL_KEYS
from llm_foundation.providers.text_pieces import TextPieces
from llm_foundation.providers.wire_json import as_list, as_object, as_text


class CallPieces:
    """One call on its way. Id and name are taken once, and never appended to (open-webui#22235)."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.wire_id = ""
        self.name = ""
        self.own_id = ""
        self.position = -1
        self.arguments = TextPieces()
        self.closing = ""
        self.is_custom = False
        self.extras: dict[str, Any] = {}

    @property
    def is_started(self) -> bool:
        return bool(self.own_id)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments so far are one object: nothing can follow that."""
        text = self.arguments.text.strip()
        return text.endswith("}") and decode_arguments(text)[1] is None


class Calls:
    """All calls of a turn, in the order in which they began."""

    def __init__(self, *, names: Mapping[str, str], taken_ids: Iterable[str]) -> None:
        self._names = names
        self._taken = set(taken_ids)
        self._pieces: list[CallPieces] = []
        self._named: list[CallPieces] = []

    def __bool__(self) -> bool:
        return bool(self._named)

    def add(self, entries: Any, *, whole: bool = False) -> Iterator[StreamEvent]:
        """Take the calls of a delta, or of a ``whole`` message, where each entry is a call of its own."""
        touched: list[CallPieces] = []
        for entry in map(as_object, as_list(entries)):
            if entry:
                piece = Piece.of(entry)
                call = self._open(None) if whole else self._place(piece, touched)
                touched.append(call)
                yield from self._take(call, piece)

    def add_function_call(self, entry: Any) -> Iterator[StreamEvent]:
        """The form that came before ``tool_calls``: one call, without an id."""
        if function := as_object(entry):
            yield from self.add([{"index": "function_call", "function": function}])

    def _open(self, index: Any) -> CallPieces:
        call = CallPieces(index)
        self._pieces.append(call)
        return call

    def _place(self, piece: "Piece", touched: list[CallPieces]) -> CallPieces:
        """The call that a piece belongs to: by index where there is one, by id, else the last one."""
        candidates = [call for call in self._pieces if call.index == piece.index]
        candidates = [call for call in candidates if piece.id and call.wire_id == piece.id] or candidates[-1:]
        if not candidates and not piece.id and not piece.name:
            candidates = self._pieces[-1:]
        if not candidates or _opens_another(piece, candidates[-1], touched):
            return self._open(piece.index)
        return candidates[-1]

    def _take(self, call: CallPieces, piece: "Piece") -> Iterator[StreamEvent]:
        call.wire_id = call.wire_id or piece.id
        call.name = call.name or piece.name
        call.extras.update(piece.extras)
        if piece.is_custom and not call.is_custom:
            call.is_custom, call.closing = True, '"}'
            call.arguments.add('{"input":"')
        ready = call.arguments.add(piece.arguments)
        if call.name and not call.is_started:
            self._start(call)
            yield ToolCallStarted(index=call.position, call_id=call.own_id, name=self._own_name(call))
            ready = call.arguments.ready
        if call.is_started and ready:
            yield ToolCallDelta(index=call.position, arguments=ready)

    def _start(self, call: CallPieces) -> None:
        """A missing, blank or repeated id becomes one of ours (llama.cpp#11992, vercel/ai#7834, Switchyard#502)."""
        call.own_id = call.wire_id if call.wire_id and call.wire_id not in self._taken else new_call_id()
        self._taken.add(call.own_id)
        call.position = len(self._named)
        self._named.append(call)

    def _own_name(self, call: CallPieces) -> str:
        return self._names.get(call.name, call.name)

    def flush(self) -> list[StreamEvent]:
        """End the calls: nothing more will come."""
        events: list[StreamEvent] = []
        for call in self._named:
            rest = call.arguments.flush() + call.arguments.add(call.closing)
            call.closing = ""
            events += [ToolCallDelta(index=call.position, arguments=rest)] if rest else []
        return events

    def built(self, *, cut: bool) -> tuple[ToolCall, ...]:
        """The calls. In a turn that was ``cut`` off, the last one is invalid where the cut could be in it unseen."""
        calls = [
            ToolCall.from_model(id=call.own_id, name=self._own_name(call), arguments=call.arguments.text)
            for call in self._named
        ]
        if cut and calls and (self._named[-1].is_custom or not self._named[-1].arguments.text.strip()):
            raw = self._named[-1].arguments.text
            calls[-1] = calls[-1].model_copy(update={"arguments": FrozenDict(), "invalid_arguments": raw})
        return tuple(calls)

    @property
    def extras(self) -> list[dict[str, Any]]:
        """What stood on each call beside its known keys; empty where nothing stood on any."""
        extras = [call.extras for call in self._named]
        return extras if any(extras) else []

    @property
    def nameless(self) -> int:
        """Calls with arguments but without a name: nobody can answer those. Placeholders do not count."""
        return sum(1 for call in self._pieces if not call.name and call.arguments.text.strip())


def _opens_another(piece: "Piece", call: CallPieces, touched: list[CallPieces]) -> bool:
    """Whether a piece that seems to go on with a call begins a new one instead."""
    if piece.id and call.wire_id and piece.id != call.wire_id:
        return True  # hermes-agent#62937: all parallel calls have index 0
    if not piece.name or not call.name:
        return False
    if piece.name != call.name:
        return True  # openai-python#2806, ollama#7881
    if piece.id and piece.id == call.wire_id and piece.index is not None:
        return False  # open-webui#22235: name and id in every delta
    return call in touched or bool(piece.arguments.strip() and call.is_whole)


@dataclass(slots=True)
class Piece:
    """One entry of a ``tool_calls`` list, read."""

    index: int | str | None
    id: str
    name: str
    arguments: str
    is_custom: bool
    extras: dict[str, Any]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> "Piece":
        function, custom = as_object(entry.get("function")), as_object(entry.get("custom"))
        is_custom = entry.get("type") == "custom" or (not function and any(custom.values()))
        index = entry.get("index")
        return cls(
            index=index if isinstance(index, int | str) else None,
            id=as_text(entry.get("id")).strip(),
            name=as_text((custom if is_custom else function).get("name")).strip(),
            arguments=_escaped(custom.get("input")) if is_custom else _argument_text(function.get("arguments")),
            is_custom=is_custom,
            extras={key: value for key, value in entry.items() if key not in KNOWN_CALL_KEYS and value is not None},
        )


def _escaped(text: Any) -> str:
    """The input of a custom tool is text, not JSON: it goes into a JSON string piece by piece."""
    return json.dumps(as_text(text), ensure_ascii=False)[1:-1]


def _argument_text(arguments: Any) -> str:
    """Arguments as text; some servers send them as an object (llama.cpp#20198)."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)
