"""A conversation in the form of the Messages API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from llm_foundation.chat.conversation import complete_turns
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.parts import TextPart
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.anthropic.content import blocks_of
from llm_foundation.providers.anthropic.dialect import Dialect
from llm_foundation.providers.anthropic.state import THINKING, Blocks, own_context, replayed
from llm_foundation.providers.call_ids import letters_digits_dashes
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.tool_names import wire_name
from llm_foundation.providers.wire_json import to_json

_ENCODED: Final[Memo[ChatMessage, bytes]] = Memo()

OPENING: Final = ChatMessage.user("(The conversation begins.)")
"""What the user says where nobody but the assistant or the system has spoken: the API wants a user first."""
PROCEED: Final = ChatMessage.user("(Please go on.)")
"""What the user says where the assistant has the last word and the model does not go on with that by itself."""

_WIRE_ROLES: Final = {Role.ASSISTANT: b"assistant", Role.SYSTEM: b"system"}


@dataclass(frozen=True, slots=True)
class Conversation:
    """What goes into ``system``, and the messages that take turns."""

    system: tuple[ChatMessage, ...]
    messages: tuple[ChatMessage, ...]


def arranged(messages: Sequence[ChatMessage], dialect: Dialect, *, prefill: bool) -> Conversation:
    """The conversation as the API wants it: turns complete, a user first, and a user last unless ``prefill``.

    Raises ``InvalidMessage`` where nothing is left to send; ``ProviderStateError`` for damaged context of our own.
    """
    complete = complete_turns(messages)
    if not complete:
        raise InvalidMessage("hold only results without their calls; nothing can be sent", field="messages")
    system, said = _split_system([message for message in complete if _encoded(message, dialect)], dialect)
    if not said or said[0].role is Role.ASSISTANT:
        said = (OPENING, *said)
    if said[-1].role is Role.ASSISTANT and not prefill and not is_paused(said[-1], dialect):
        said = (*said, PROCEED)
    return Conversation(system, said)


def _split_system(
    messages: Sequence[ChatMessage], dialect: Dialect
) -> tuple[tuple[ChatMessage, ...], tuple[ChatMessage, ...]]:
    """System messages before the conversation, and the conversation. Only newer models take any inside it."""
    systems = tuple(message for message in messages if message.role is Role.SYSTEM)
    others = tuple(message for message in messages if message.role is not Role.SYSTEM)
    leading = next((place for place, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    if len(systems) == leading or not dialect.traits.system_turns:
        return systems, others
    late, placed = _placed(messages[leading:])
    return (*messages[:leading], *late), placed


def _placed(messages: Sequence[ChatMessage]) -> tuple[tuple[ChatMessage, ...], tuple[ChatMessage, ...]]:
    """System messages behind the user's turn in which, or before which, they stand; those that find none come first."""
    waiting: list[ChatMessage] = []
    placed: list[ChatMessage] = []
    for message in messages:
        if message.role is Role.SYSTEM:
            waiting.append(message)
            continue
        if message.role is Role.ASSISTANT and placed and placed[-1].role in (Role.USER, Role.TOOL):
            placed += waiting
            waiting = []
        placed.append(message)
    if placed and placed[-1].role in (Role.USER, Role.TOOL):
        return (), (*placed, *waiting)
    return tuple(waiting), tuple(placed)


def is_paused(message: ChatMessage, dialect: Dialect) -> bool:
    """Whether this own turn ends in the provider's own tools: it goes back unchanged, and the model goes on with it."""
    content = own_context(message, dialect).get("content") or [{"type": "text"}]
    return content[-1]["type"] not in ("text", "tool_use", *THINKING)


def encoded_messages(messages: Sequence[ChatMessage], dialect: Dialect, *, mark_last: bool) -> Iterator[bytes]:
    """Neighbours of one role as one message each (claude-code#5989, theia#17104).

    ``mark_last`` marks the end of the last user message for the cache.
    """
    grouped = [(role, list(group)) for role, group in groupby(messages, key=_wire_role)]
    marked = max((place for place, (role, _) in enumerate(grouped) if role == b"user"), default=None)
    for place, (role, members) in enumerate(grouped):
        blocks = [_encoded(message, dialect) for message in members]
        if mark_last and place == marked:
            blocks[-1] = _joined(_marked(wire_blocks(members[-1], dialect), dialect))
        if place == len(grouped) - 1 and role == b"assistant":
            blocks[-1] = _joined(_without_trailing_blanks(members[-1], dialect))
        yield b'{"role":"%b","content":[%b]}' % (role, b",".join(blocks))


def _wire_role(message: ChatMessage) -> bytes:
    return _WIRE_ROLES.get(message.role, b"user")


def _encoded(message: ChatMessage, dialect: Dialect) -> bytes:
    """The blocks of a message as JSON, commas between; nothing where it has none. Encoded once, not once per step."""
    return _ENCODED.get(message, dialect.key, lambda new: _joined(wire_blocks(new, dialect)))


def _joined(blocks: Blocks) -> bytes:
    return to_json(blocks)[1:-1]


def _marked(blocks: Blocks, dialect: Dialect) -> Blocks:
    return [*blocks[:-1], blocks[-1] | {"cache_control": dialect.settings.cache_control}]


def _without_trailing_blanks(message: ChatMessage, dialect: Dialect) -> Blocks:
    """The API refuses blanks at the end of an answer that it should go on with."""
    blocks = wire_blocks(message, dialect)
    if blocks[-1]["type"] == "text":
        blocks[-1] = blocks[-1] | {"text": blocks[-1]["text"].rstrip()}
    return blocks


def wire_blocks(message: ChatMessage, dialect: Dialect) -> Blocks:
    """One message as content blocks. Raises ``ProviderStateError`` for context of our own that is damaged."""
    if message.role is Role.TOOL:
        return [_tool_result(message)]
    if message.role is Role.ASSISTANT:
        return _turn(message, dialect)
    return blocks_of(message.parts)


def _tool_result(message: ChatMessage) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": letters_digits_dashes(message.tool_call_id or "")}
    content = blocks_of(message.parts)
    return result | ({"content": content} if content else {})


def _turn(message: ChatMessage, dialect: Dialect) -> Blocks:
    """An own turn as it came; any other from its text and its calls."""
    context = own_context(message, dialect)
    ids = [letters_digits_dashes(call.id) for call in message.tool_calls]
    if "content" in context:
        return replayed(context, message, ids, unsigned_thinking=not dialect.is_anthropics_own)
    texts = blocks_of(part for part in message.parts if isinstance(part, TextPart))
    calls = [
        {"type": "tool_use", "id": id, "name": wire_name(call.name), "input": call.wire_arguments()}
        for id, call in zip(ids, message.tool_calls, strict=True)
    ]
    return [*texts, *calls]
