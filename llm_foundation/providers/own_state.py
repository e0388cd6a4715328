"""Whose the opaque context of a turn is: it goes back to its owner, and nobody else gets any of it."""

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import CURRENT_VERSION, ProviderState, StateOwner
from llm_foundation.exceptions import ProviderStateError


def own_state(message: ChatMessage, owner: StateOwner) -> ProviderState | None:
    """The state of this owner's turn; ``None`` for a turn without state, and for anybody else's.

    Raises ``ProviderStateError`` for one of another version, or with items of a turn that had other calls.
    """
    state = message.provider_state
    if state is None or state.owner != owner:
        return None
    bound = state.tool_call_bindings.keys() if any(state.items or ()) else set()
    if state.version != CURRENT_VERSION or not bound <= {call.id for call in message.tool_calls}:
        raise ProviderStateError
    return state
