"""Which of Gemini's own call ids belongs to which of our calls.

A populated id has to come back on exactly that call's result ("functionResponse.id does not match", CLIProxyAPI#5199).
The binding is made when the answer is read, and used from the same turn's state only. Whatever does not fit together
one to one is refused: sending a result under another call's id would tell the model something that never happened.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.tool_calls import INVALID_JSON, ToolCall, decode_arguments
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.gemini.parts import gemini_name
from llm_foundation.providers.wire_json import raw_text


def native_name(function_call: Mapping[str, Any]) -> str:
    """The name, empty for none: a call without a name is not a call."""
    return _unless_blank(function_call.get("name"))


def native_id(function_call: Mapping[str, Any]) -> str:
    """Gemini's own id, empty for none: a blank one is none (vercel/ai#7834)."""
    return _unless_blank(function_call.get("id"))


def _unless_blank(text: str | None) -> str:
    return text if text and text.strip() else ""


class ResultShape(NamedTuple):
    """How the result of a call names that call; ``id`` is ``None`` where the call came without one."""

    name: str
    id: str | None = None


class NativeCall(NamedTuple):
    """A call as Gemini wrote it."""

    name: str
    id: str
    arguments: Any

    @classmethod
    def of(cls, function_call: Mapping[str, Any]) -> "NativeCall":
        return cls(native_name(function_call), native_id(function_call), function_call.get("args"))

    @property
    def shape(self) -> ResultShape:
        return ResultShape(self.name, self.id or None)


def result_shapes(message: ChatMessage, natives: Sequence[NativeCall]) -> tuple[ResultShape, ...]:
    """For each call of the message, in its order, how its result has to name it.

    Raises ``ProviderStateError`` where calls and native calls are not the same ones, or cannot be told apart.
    """
    calls = message.tool_calls
    ids = [native.id for native in natives if native.id]
    if len(natives) != len(calls) or len(ids) not in (0, len(natives)) or len(set(ids)) != len(ids):
        raise ProviderStateError
    if not ids:
        return _in_order(calls, natives)
    bindings = message.provider_state.tool_call_bindings if message.provider_state else {}
    if not bindings:
        return _by_content(calls, natives)
    return _by_bindings(calls, {native.id: native for native in natives}, bindings)


def _in_order(calls: Sequence[ToolCall], natives: Sequence[NativeCall]) -> tuple[ResultShape, ...]:
    """Without ids the place is all that tells calls apart."""
    if not all(map(is_same_call, calls, natives)):
        raise ProviderStateError
    return tuple(native.shape for native in natives)


def _by_bindings(
    calls: Sequence[ToolCall], natives: Mapping[str, NativeCall], bindings: Mapping[str, str]
) -> tuple[ResultShape, ...]:
    if {call.id for call in calls} != bindings.keys() or set(bindings.values()) != natives.keys():
        raise ProviderStateError
    chosen = [natives[bindings[call.id]] for call in calls]
    if not all(map(is_same_call, calls, chosen)):
        raise ProviderStateError
    return tuple(native.shape for native in chosen)


def _by_content(calls: Sequence[ToolCall], natives: Sequence[NativeCall]) -> tuple[ResultShape, ...]:
    """For states from before there were bindings: name and arguments have to identify one call."""
    shapes = []
    for call in calls:
        matching = [native for native in natives if is_same_call(call, native)]
        if len(matching) != 1:
            raise ProviderStateError
        shapes.append(matching[0].shape)
    if len(set(shapes)) != len(natives):
        raise ProviderStateError
    return tuple(shapes)


def is_same_call(call: ToolCall, native: NativeCall) -> bool:
    """Whether this is the call that was read from that one."""
    if native.name not in (call.name, gemini_name(call.name)):
        return False
    if call.invalid_arguments is not None:
        return call.invalid_arguments in _raw_forms(native.arguments)
    decoded, invalid = decode_arguments(native.arguments)
    return invalid is None and is_same_json(call.arguments, decoded)


def _raw_forms(arguments: Any) -> tuple[str, ...]:
    replayed = arguments.get(INVALID_JSON) if isinstance(arguments, dict) else None
    return (raw_text(arguments), replayed) if isinstance(replayed, str) else (raw_text(arguments),)


def is_same_json(one: Any, other: Any) -> bool:
    """Equal as JSON. Numbers count by their exact value, so 1 is 1.0 and 2**53 + 1 is no float; true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and one == other
