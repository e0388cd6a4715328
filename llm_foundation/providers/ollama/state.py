"""Ollama's own context: how it is kept, and how it goes back to its owner.

The state of a turn has one item, an object with what the message carried, unchanged:

- ``thinking``: the guide to its tools wants it back beside text and calls (langchain4j#4743);
- ``calls``: what stood on each call beside its known keys, in the order of the calls (ollama#14568).

Where our id of a call is not the one it came with, the state's bindings say which that was.
"""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.call_ids import at_most_64
from llm_foundation.providers.openai_chat.state import own_context
from llm_foundation.providers.own_state import own_state

SHAPES: Final[dict[str, type[Any]]] = {"thinking": str, "calls": list}


def kept_state(owner: StateOwner, fields: Mapping[str, Any], bindings: Mapping[str, str]) -> ProviderState | None:
    """The state of a turn, or ``None`` where the answer carried nothing."""
    if not fields and not bindings:
        return None
    return ProviderState(owner=owner, items=(dict(fields),) if fields else None, tool_call_bindings=dict(bindings))


def own_fields(message: ChatMessage, owner: StateOwner) -> dict[str, Any]:
    """What this owner's turn carried. Raises ``ProviderStateError`` where it is not what we once kept."""
    fields: dict[str, Any] = thaw(dict(own_context(message, owner, shapes=SHAPES)))
    return fields


def wire_ids(message: ChatMessage, owner: StateOwner) -> list[str]:
    """The ids of a turn's calls on the wire, in order: the owner's own, each for one call, or ours.

    Raises ``ProviderStateError`` where they cannot be told apart, or belong to no call of the turn.
    """
    state = own_state(message, owner)
    bindings = state.tool_call_bindings if state is not None else {}
    ids = [bindings[call.id] if call.id in bindings else at_most_64(call.id) for call in message.tool_calls]
    if not bindings.keys() <= {call.id for call in message.tool_calls} or not all(id.strip() for id in ids):
        raise ProviderStateError
    if bindings and len(set(ids)) != len(ids):
        raise ProviderStateError
    return ids
