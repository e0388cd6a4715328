"""Opaque context in Responses answers: how it is kept, and whether it is still what was kept.

The state of a turn has the output items of the answer, unchanged and in their order: reasoning with its encrypted
content, messages, calls, and what built-in tools left. They are the whole turn. ``tool_call_bindings`` has the calls
whose ids we replaced.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.chat.tool_calls import ToolCall, decode_arguments
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.openai_responses.items import CALLS, call_id, call_name, is_named_call, kind_of_item
from llm_foundation.providers.own_state import own_state
from llm_foundation.providers.tool_names import wire_name

_SHAPES: Final[dict[str, tuple[type, ...]]] = {
    "id": (str, type(None)),
    "encrypted_content": (str, type(None)),
    "summary": (list, str, type(None)),
    "name": (str,),
    "call_id": (str, type(None)),
    "input": (str, type(None)),
    "arguments": (str, dict, type(None)),
}


def kept_state(
    owner: StateOwner, items: Iterable[dict[str, Any]], calls: tuple[ToolCall, ...], bindings: dict[str, str]
) -> ProviderState | None:
    """The state of a turn. ``None`` where its items contradict each other: they could not go back."""
    kept = tuple(item for item in items if kind_of_item(item) not in CALLS or is_named_call(item))
    state = ProviderState(owner=owner, items=kept, tool_call_bindings=bindings)
    return state if _fits(state, calls) else None


def own_items(message: ChatMessage, owner: StateOwner) -> list[dict[str, Any]] | None:
    """The items of this owner's turn; ``None`` for a turn without items, and for anybody else's.

    Raises ``ProviderStateError`` where our own state is not what we once kept.
    """
    state = own_state(message, owner)
    if state is None or not state.items:
        return None
    if not _fits(state, message.tool_calls):
        raise ProviderStateError
    return [thaw(item) for item in state.items]


def _fits(state: ProviderState, calls: tuple[ToolCall, ...]) -> bool:
    """Whether the items are well formed, none of them twice, and their calls those of the turn, one by one."""
    items = state.items or ()
    if not all(_is_item(item) for item in items) or _repeats(items):
        return False
    made = [item for item in items if kind_of_item(item) in CALLS]
    bindings = state.tool_call_bindings
    return len(made) == len(calls) and all(
        call_id(item) in ("", bindings.get(call.id, call.id)) and _is_same_call(item, call)
        for item, call in zip(made, calls, strict=True)
    )


def _is_item(item: Any) -> bool:
    if not isinstance(item, dict) or not kind_of_item(item):
        return False
    if not all(isinstance(item[key], kinds) for key, kinds in _SHAPES.items() if key in item):
        return False
    if kind_of_item(item) == "message":
        return isinstance(item.get("content"), list | str)
    return kind_of_item(item) not in CALLS or is_named_call(item)


def _repeats(items: tuple[Any, ...]) -> bool:
    """xAI gives several items of an answer one id; the same item twice is a mistake."""
    known: dict[str, list[Any]] = {}
    for item in items:
        if item.get("id"):
            others = known.setdefault(item["id"], [])
            if item in others:
                return True
            others.append(item)
    return False


def _is_same_call(item: Mapping[str, Any], call: ToolCall) -> bool:
    if call_name(item) not in (call.name, wire_name(call.name)):
        return False
    return call.invalid_arguments is not None or written_arguments(item) == call.arguments


def written_arguments(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a call as an object, ``None`` where they are none. Free text is the one argument ``input``."""
    written = item.get(CALLS[kind_of_item(item)])
    if kind_of_item(item) == "custom_tool_call":
        return {"input": written or ""}
    arguments, invalid = decode_arguments(written)
    return arguments if invalid is None else None
