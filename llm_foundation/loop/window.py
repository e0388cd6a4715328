"""Fitting a transcript into the context window of the model that will serve it."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ToolDefinition
from llm_foundation.chat.parts import TextPart

_BYTES_PER_TOKEN: Final = 3
"""On the safe side for every tokenizer we met: English is near 4, other scripts near 3."""

_MESSAGE_OVERHEAD: Final = 8
_MEDIA_TOKENS: Final = 1_600


def fit_window(messages: Sequence[ChatMessage], *, budget: int | None) -> tuple[ChatMessage, ...] | None:
    """The messages that fit into ``budget`` estimated tokens, oldest turns left out first; ``None`` if none fit.

    The head (system messages and the first message after them), what the user said last and the newest turn always
    stay, and a call is never separated from its result. A ``budget`` of ``None`` says that the window is not known:
    nothing is left out.
    """
    if budget is None:
        return tuple(messages)
    units = _units(messages)
    sizes = [sum(map(message_tokens, unit)) for unit in units]
    excess = sum(sizes) - budget
    dropped = set()
    for index in _droppable(units):
        if excess <= 0:
            break
        dropped.add(index)
        excess -= sizes[index]
    if excess > 0:
        return None
    return tuple(message for index, unit in enumerate(units) if index not in dropped for message in unit)


def _droppable(units: Sequence[Sequence[ChatMessage]]) -> list[int]:
    """All but the head, what the user said last, and the newest turn; oldest first."""
    asked = max((index for index, unit in enumerate(units) if unit[-1].role is Role.USER), default=0)
    return [index for index in range(1, len(units) - 1) if index != asked]


def _units(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """The head, then each message with what belongs to it: an assistant's turn and the results of its calls."""
    start = next((index for index, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    units = [list(messages[: start + 1])]
    for message in messages[start + 1 :]:
        if message.role is Role.TOOL:
            units[-1].append(message)
        else:
            units.append([message])
    return units


def message_tokens(message: ChatMessage) -> int:
    """A safe estimate of what a message costs."""
    text = sum(len(part.text.encode()) for part in message.parts if isinstance(part, TextPart))
    media = sum(not isinstance(part, TextPart) for part in message.parts)
    calls = sum(len(call.name) + _json_bytes(call.arguments) for call in message.tool_calls)
    state = _json_bytes(message.provider_state.to_dict()) if message.provider_state else 0
    return _MESSAGE_OVERHEAD + (text + calls + state) // _BYTES_PER_TOKEN + media * _MEDIA_TOKENS


def definition_tokens(definitions: Iterable[ToolDefinition]) -> int:
    """The same for what the model is told of its tools."""
    sizes = (
        len(definition.name) + len(definition.description.encode()) + _json_bytes(definition.parameters)
        for definition in definitions
    )
    return sum(size // _BYTES_PER_TOKEN + _MESSAGE_OVERHEAD for size in sizes)


def _json_bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())
