"""Gemini's own context: the parts of a turn, how they are kept, and how they go back.

The items of a state are the native parts, unchanged and in order: an answer with calls keeps them all, signed or not;
any other answer keeps them where one is signed. They go back as one content; a signature stays on its part, beside the
call (claude-relay-service#967), and of parallel calls only the first has one (js-genai#1275).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.gemini.bindings import NativeCall, ResultShape, is_same_call, result_shapes
from llm_foundation.providers.gemini.parts import SIGNATURE, WirePart, is_part, is_plain_text
from llm_foundation.providers.own_state import own_state


class OwnTurn(NamedTuple):
    """What goes back of a turn, and how the results of its calls name them."""

    parts: list[WirePart]
    results: tuple[ResultShape, ...]


def kept_state(owner: StateOwner, parts: Sequence[WirePart], bindings: Mapping[str, str]) -> ProviderState | None:
    """The state of an answer with these parts, or ``None`` where nothing in it has to go back."""
    if not any(part.get(SIGNATURE) or "functionCall" in part for part in parts):
        return None
    return ProviderState(owner=owner, items=tuple(parts), tool_call_bindings=dict(bindings))


def own_turn(message: ChatMessage, owner: StateOwner) -> OwnTurn | None:
    """The turn as its owner sent it; ``None`` for a turn without parts of its own, and for anybody else's.

    Raises ``ProviderStateError`` where our own state is not what we once kept.
    """
    state = own_state(message, owner)
    if state is None or not state.items:
        return None
    if not all(map(is_part, state.items)):
        raise ProviderStateError
    parts: list[WirePart] = [thaw(item) for item in state.items]
    natives = [NativeCall.of(part["functionCall"]) for part in parts if "functionCall" in part]
    if not all(native.name for native in natives):
        raise ProviderStateError
    results = result_shapes(message, natives)
    _complete_arguments(parts, message)
    return OwnTurn(_saying(parts, message.text), results)


def _complete_arguments(parts: list[WirePart], message: ChatMessage) -> None:
    """Arguments are an object on the wire, whatever the model sent: without one the turn would be refused for ever."""
    for part in parts:
        call = part.get("functionCall")
        if call is not None and not isinstance(call.get("args"), dict):
            native = NativeCall.of(call)
            call["args"] = next(
                thaw(ours.wire_arguments()) for ours in message.tool_calls if is_same_call(ours, native)
            )


def _saying(parts: list[WirePart], text: str) -> list[WirePart]:
    """The parts with the text as the message has it now; where it was rewritten since, signatures stay."""
    if "".join(part["text"] for part in parts if is_plain_text(part)) == text:
        return parts
    rest = [{"text": text}] if text else []
    rewritten: list[WirePart] = []
    for part in parts:
        if is_plain_text(part):
            said = rest.pop()["text"] if rest else ""
            rewritten += [{**part, "text": said}] if said or part.get(SIGNATURE) else []
        else:
            rewritten.append(part)
    return [*rest, *rewritten]
