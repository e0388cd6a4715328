"""A conversation in the Responses form: a flat list of items."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from llm_foundation.chat.conversation import complete_turns
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.parts import FilePart, ImagePart, Part
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai_responses.items import CALLS, kind_of_item
from llm_foundation.providers.openai_responses.replay import replayed
from llm_foundation.providers.openai_responses.state import own_items
from llm_foundation.providers.tool_names import wire_name
from llm_foundation.providers.wire_json import to_json


class _Turn(NamedTuple):
    """What one message is on the wire, and which of its calls wait for the result of a custom tool."""

    encoded: bytes
    custom: frozenset[str] = frozenset()


_TURNS: Final[Memo[ChatMessage, _Turn]] = Memo()
_RESULT: Final = {False: "function_call_output", True: "custom_tool_call_output"}


def encoded_input(messages: Sequence[ChatMessage], dialect: Dialect) -> list[bytes]:
    """The items of each message as JSON, joined by commas: turns complete, in the order that the endpoint wants.

    A message that an earlier request of this dialect held is not encoded again. Raises ``InvalidMessage`` where nothing
    is left to send.
    """
    arranged = complete_turns(messages)
    for arrange in dialect.profile.arrangements:
        arranged = arrange(arranged)
    encoded: list[bytes] = []
    custom: frozenset[str] = frozenset()
    for message in arranged:
        if message.role is Role.TOOL:
            encoded.append(_encoded_result(message, dialect, is_custom=message.tool_call_id in custom))
        else:
            turn = _TURNS.get(message, dialect.key, lambda new: _turn(new, dialect))
            custom = turn.custom
            encoded += [turn.encoded] if turn.encoded else []
    if not encoded:
        raise InvalidMessage("hold nothing that can be sent", field="messages")
    return encoded


def _encoded_result(message: ChatMessage, dialect: Dialect, *, is_custom: bool) -> bytes:
    kind = _RESULT[is_custom]
    return _TURNS.get(message, f"{kind} {dialect.key}", lambda new: _Turn(to_json(_result(new, dialect, kind)))).encoded


def _result(message: ChatMessage, dialect: Dialect, kind: str) -> dict[str, Any]:
    called = dialect.profile.call_id(message.tool_call_id or "")
    return {"type": kind, "call_id": called, "output": _content(message)}


def _turn(message: ChatMessage, dialect: Dialect) -> _Turn:
    if message.role is not Role.ASSISTANT:
        role = dialect.profile.system_role(dialect.model) if message.role is Role.SYSTEM else "user"
        return _Turn(to_json({"role": role, "content": _content(message)}))
    own = own_items(message, dialect.owner)
    if own is None:
        return _Turn(_joined(list(_rebuilt(message, dialect))))
    calls = [item for item in own if kind_of_item(item) in CALLS]
    custom = {
        call.id
        for item, call in zip(calls, message.tool_calls, strict=True)
        if kind_of_item(item) == "custom_tool_call"
    }
    return _Turn(_joined(replayed(own, message, dialect.profile.call_id)), frozenset(custom))


def _joined(items: list[dict[str, Any]]) -> bytes:
    return b",".join(map(to_json, items))


def _rebuilt(message: ChatMessage, dialect: Dialect) -> Iterator[dict[str, Any]]:
    """A turn by its visible text and its calls: without the ids that items have with the one who made them."""
    state = message.provider_state
    is_own_empty = state is not None and state.owner == dialect.owner and state.items is not None
    if message.text or not (message.tool_calls or is_own_empty):
        yield {"role": "assistant", "content": message.text}
    for call in message.tool_calls:
        yield _call(call, dialect)


def _call(call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    """Responses wants a call's ``call_id`` only; an ``id`` would have to be one of its own (pydantic-ai#3136)."""
    arguments = json.dumps(call.wire_arguments(), ensure_ascii=False, separators=(",", ":"))
    return {
        "type": "function_call",
        "call_id": dialect.profile.call_id(call.id),
        "name": wire_name(call.name),
        "arguments": arguments,
    }


def _content(message: ChatMessage) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str):
        return message.content
    return [_part(part) for part in message.content]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "input_image", "image_url": part.url, "detail": part.detail or "auto"}
    if isinstance(part, FilePart):
        return {"type": "input_file", **part.to_wire()["file"]}
    return {"type": "input_text", "text": part.text}
