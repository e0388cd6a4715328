"""A conversation in Ollama's form."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from llm_foundation.chat.conversation import complete_turns
from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.ollama.content import content_of
from llm_foundation.providers.ollama.dialect import OllamaDialect
from llm_foundation.providers.ollama.state import own_fields, wire_ids
from llm_foundation.providers.openai.endpoint_quirks import files_after_results, merge_neighbours, system_messages_first
from llm_foundation.providers.tool_names import wire_name
from llm_foundation.providers.wire_json import to_json

_ENCODED: Final[Memo[ChatMessage, bytes]] = Memo()

CallKey = tuple[str, str]
"""How a result names its call: the id, and the tool, which is all that older servers look at."""


def encoded_messages(messages: Sequence[ChatMessage], dialect: OllamaDialect) -> list[bytes]:
    """Each message as JSON: turns complete, in the order that chat templates want.

    A message that an earlier request of this dialect held is not encoded again. Raises ``InvalidMessage`` where nothing
    is left to send, ``ProviderStateError`` for context of this owner that is damaged.
    """
    arranged = complete_turns(messages)
    if not arranged:
        raise InvalidMessage("hold only results without their calls; nothing can be sent", field="messages")
    for arrange in (files_after_results, system_messages_first, merge_neighbours):
        arranged = arrange(arranged)
    return list(_encoded(_with_somebody_asking(arranged), dialect))


def _with_somebody_asking(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """System messages alone only load the model, and nothing is written (oh-my-pi#7465); so the user says them."""
    if any(message.role is not Role.SYSTEM for message in messages):
        return messages
    return [message.model_copy(update={"role": Role.USER}) for message in messages]


def _encoded(messages: Sequence[ChatMessage], dialect: OllamaDialect) -> Iterator[bytes]:
    open_calls: Iterator[CallKey] = iter(())
    for message in messages:
        if message.role is Role.TOOL:
            yield _encoded_result(message, next(open_calls))
            continue
        if message.tool_calls:
            open_calls = iter(_call_keys(message, dialect))
        yield _ENCODED.get(message, dialect.key, lambda new: to_json(wire_message(new, dialect)))


def _encoded_result(message: ChatMessage, key: CallKey) -> bytes:
    return _ENCODED.get(message, f"ollama {key!r}", lambda new: to_json(wire_result(new, key)))


def _call_keys(message: ChatMessage, dialect: OllamaDialect) -> list[CallKey]:
    names = [wire_name(call.name) for call in message.tool_calls]
    return list(zip(wire_ids(message, dialect.owner), names, strict=True))


def wire_message(message: ChatMessage, dialect: OllamaDialect) -> dict[str, Any]:
    """One message that is no result. Raises ``ProviderStateError`` for context of this owner that is damaged."""
    wire = {"role": message.role.value, **content_of(message)}
    if message.role is not Role.ASSISTANT:
        return wire
    own = own_fields(message, dialect.owner)
    if own.get("thinking"):
        wire["thinking"] = own["thinking"]
    if message.tool_calls:
        extras = own.get("calls") or [{} for _ in message.tool_calls]
        keys = _call_keys(message, dialect)
        wire["tool_calls"] = [
            {"id": id, "function": {"name": name, "arguments": thaw(call.wire_arguments())}, **extra}
            for call, (id, name), extra in zip(message.tool_calls, keys, extras, strict=True)
        ]
    return wire


def wire_result(message: ChatMessage, key: CallKey) -> dict[str, Any]:
    """One result, with both names of its call: servers since 0.12.10 go by the id, older ones by order and tool."""
    id, name = key
    return {"role": "tool", **content_of(message), "tool_name": name, "tool_call_id": id}
