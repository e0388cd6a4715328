"""Opaque context in Chat Completions answers: how it is kept, and how it goes back to its owner.

The state of a turn has one item, an object with the fields that the assistant message carried, unchanged:

- ``reasoning_content``: DeepSeek and others (langchain#34166);
- ``reasoning_details``: OpenRouter (openrouter-examples#67);
- ``content``: Mistral's list of chunks, with the thinking in it (vercel/ai#8012);
- ``extra_content``: Gemini's OpenAI face, on the message;
- ``calls``: what stood on each call beside its known keys, in the order of the calls (ServiceNow/eva#206).
"""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.own_state import own_state
from llm_foundation.providers.wire_json import as_text

KNOWN_CALL_KEYS: Final = frozenset({"id", "type", "function", "custom", "index"})

_SHAPES: Final[dict[str, type[Any]]] = {
    "reasoning_content": str,
    "reasoning_details": list,
    "content": list,
    "extra_content": dict,
    "calls": list,
}


def kept_state(owner: StateOwner, fields: Mapping[str, Any]) -> ProviderState | None:
    """The state of a turn, or ``None`` where the answer carried nothing."""
    return ProviderState(owner=owner, items=(dict(fields),)) if fields else None


def own_context(
    message: ChatMessage, owner: StateOwner, *, shapes: Mapping[str, type[Any]] = _SHAPES
) -> Mapping[str, Any]:
    """What this owner's turn carried; empty for a turn without state, and for anybody else's.

    ``shapes`` are the fields that there can be, and what each of them holds.

    Raises ``ProviderStateError`` where our own state is not what we once kept.
    """
    state = own_state(message, owner)
    items = (state and state.items) or ()
    if len(items) > 1:
        raise ProviderStateError
    context = items[0] if items else {}
    if not isinstance(context, dict) or not all(_has_shape(value, shapes.get(key)) for key, value in context.items()):
        raise ProviderStateError
    _check_calls(context.get("calls"), message)
    return context


def _has_shape(value: Any, shape: type[Any] | None) -> bool:
    if shape is None or not isinstance(value, shape):
        return False
    return not isinstance(value, list) or all(isinstance(entry, dict) for entry in value)


def _check_calls(extras: list[Any] | None, message: ChatMessage) -> None:
    if extras is None:
        return
    if len(extras) != len(message.tool_calls) or any(KNOWN_CALL_KEYS & entry.keys() for entry in extras):
        raise ProviderStateError


def put_back(wire: dict[str, Any], message: ChatMessage, context: Mapping[str, Any], replays: frozenset[str]) -> None:
    """Put a turn's context back where it stood in the answer, as far as the endpoint takes it."""
    back = {key: thaw(value) for key, value in context.items() if key in replays}
    for key in ("reasoning_content", "reasoning_details", "extra_content"):
        if key in back:
            wire[key] = back[key]
    if "content" in back:
        wire["content"] = _chunks(back["content"], message.text)
    for call, extras in zip(wire.get("tool_calls", ()), back.get("calls", ()), strict=False):
        call.update(extras)


def _chunks(chunks: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The chunks as they came, or the thinking before the text where that was rewritten since."""
    if "".join(as_text(chunk.get("text")) for chunk in chunks if chunk.get("type") == "text") == text:
        return chunks
    rewritten = [{"type": "text", "text": text}] if text else []
    return [chunk for chunk in chunks if chunk.get("type") == "thinking"] + rewritten
