"""A conversation in the Chat Completions form."""

from collections.abc import Sequence
from typing import Any, Final

from llm_foundation.chat.conversation import complete_turns
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai_chat.state import own_context, put_back
from llm_foundation.providers.tool_names import wire_name
from llm_foundation.providers.wire_json import to_json

_ENCODED: Final[Memo[ChatMessage, bytes]] = Memo()


def encoded_messages(messages: Sequence[ChatMessage], dialect: Dialect) -> list[bytes]:
    """Each message as JSON: turns complete, in the order that the endpoint wants.

    A message that an earlier request of this dialect held is not encoded again. Raises ``InvalidMessage`` where nothing
    is left to send.
    """
    arranged = complete_turns(messages)
    if not arranged:
        raise InvalidMessage("hold only results without their calls; nothing can be sent", field="messages")
    for arrange in dialect.profile.arrangements:
        arranged = arrange(arranged)
    encoded = [
        _ENCODED.get(message, dialect.key, lambda new: to_json(wire_message(new, dialect))) for message in arranged
    ]
    if dialect.profile.continues_assistant and arranged[-1].role is Role.ASSISTANT:
        encoded[-1] = to_json(wire_message(arranged[-1], dialect) | {"prefix": True})
    return encoded


def wire_message(message: ChatMessage, dialect: Dialect) -> dict[str, Any]:
    """One message as this endpoint wants it. Raises ``ProviderStateError`` for context of its own that is damaged."""
    profile = dialect.profile
    wire = message.to_wire(empty_content=profile.empty_content)
    if message.role is Role.SYSTEM:
        wire["role"] = profile.system_role(dialect.model)
    elif message.role is Role.TOOL:
        wire["tool_call_id"] = profile.call_id(wire["tool_call_id"])
    elif message.role is Role.ASSISTANT:
        _complete_turn(wire, message, dialect)
    return wire


def _complete_turn(wire: dict[str, Any], message: ChatMessage, dialect: Dialect) -> None:
    profile = dialect.profile
    for call in wire.get("tool_calls", ()):
        call["id"] = profile.call_id(call["id"])
        call["function"]["name"] = wire_name(call["function"]["name"])
    put_back(wire, message, own_context(message, dialect.owner), profile.replays)
    if profile.blank_reasoning and message.tool_calls:
        wire.setdefault("reasoning_content", "")
