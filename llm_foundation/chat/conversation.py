"""Rules about messages in a row: which results belong to which calls, and that every id is one of a kind."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.reading import kind_of, read_each
from llm_foundation.chat.tool_calls import new_call_id, rename_repeated
from llm_foundation.exceptions import InvalidMessage

NO_RESULT: Final = "Error: this call has no result; it was not completed."
"""What a model is told of a call whose result never came: providers refuse a turn that lacks one."""

Place = tuple[int, int]
"""Where a call stands: the index of its message, and its own within that turn."""


def read_conversation(messages: Any) -> tuple[ChatMessage, ...]:
    """Turn messages or OpenAI-style dicts into a conversation with unique call ids.

    A plain string is one user message. Raises ``InvalidMessage`` with the place, for example
    ``messages[2].tool_call_id``.
    """
    if isinstance(messages, str):
        return (ChatMessage.user(messages),)
    entries = _entries(messages)
    shared = new_call_id()
    read = tuple(
        read_each(entries, ChatMessage, lambda entry: ChatMessage.from_dict(_with_id(entry, shared)), field="messages")
    )
    return with_unique_ids(read, names={index: _tool_name(entry) for index, entry in enumerate(entries)})


def _entries(messages: Any) -> list[Any]:
    if isinstance(messages, ChatMessage):
        return [messages]
    if isinstance(messages, Mapping | bytes) or not isinstance(messages, Iterable):
        raise InvalidMessage(f"must be a list of messages, or a text, not {kind_of(messages)}", field="messages")
    entries = list(messages)
    if not entries:
        raise InvalidMessage("must hold at least one message", field="messages")
    return entries


def _with_id(entry: Mapping[str, Any], shared: str) -> Mapping[str, Any]:
    """Calls and results without an id are calls and results that share one: what tells those apart tells these."""
    calls = entry.get("tool_calls")
    if entry.get("role") == Role.TOOL and _is_blank(entry.get("tool_call_id")):
        return {**entry, "tool_call_id": shared}
    if isinstance(calls, list | tuple):
        return {**entry, "tool_calls": [_call_with_id(call, shared) for call in calls]}
    return entry


def _call_with_id(call: Any, shared: str) -> Any:
    return {**call, "id": shared} if isinstance(call, Mapping) and _is_blank(call.get("id")) else call


def _is_blank(call_id: Any) -> bool:
    return call_id is None or (isinstance(call_id, str) and not call_id.strip())


def _tool_name(entry: Any) -> Any:
    """The tool that a written result says it comes from; some clients repeat it there."""
    return (entry.get("name") or entry.get("tool_name")) if isinstance(entry, Mapping) else None


def with_unique_ids(
    messages: Sequence[ChatMessage], *, names: Mapping[int, str | None] | None = None
) -> tuple[ChatMessage, ...]:
    """Replace repeated call ids, on call and result alike. A result without an open call before it is refused.

    ``names`` are the tools that results say they come from, by the results' index.
    """
    answers = match_results(messages, names or {})
    taken: set[str] = set()
    kept: list[ChatMessage] = []
    for index, message in enumerate(messages):
        if message.role is not Role.TOOL:
            kept.append(_with_own_ids(message, taken))
        elif index in answers:
            turn, position = answers[index]
            kept.append(_answering(message, kept[turn].tool_calls[position].id))
        else:
            raise InvalidMessage("answers no open call of a turn before it", field=f"messages[{index}].tool_call_id")
    return tuple(kept)


def _with_own_ids(message: ChatMessage, taken: set[str]) -> ChatMessage:
    calls, renamed = rename_repeated(message.tool_calls, taken)
    if calls == message.tool_calls:
        return message
    state = message.provider_state and message.provider_state.rebound(renamed)
    return message.model_copy(update={"tool_calls": calls, "provider_state": state})


def _answering(message: ChatMessage, call_id: str) -> ChatMessage:
    return message if message.tool_call_id == call_id else message.model_copy(update={"tool_call_id": call_id})


def match_results(messages: Sequence[ChatMessage], names: Mapping[int, str | None]) -> dict[int, Place]:
    """Which call each result answers; results that answer none are left out.

    An id means the newest turn that has it. Where that turn has it more than once, a result takes the call of the
    tool that it names, else the first that is still open.
    """
    open_calls: dict[str, dict[Place, str]] = {}
    answers: dict[int, Place] = {}
    for index, message in enumerate(messages):
        if message.tool_calls:
            open_calls |= _calls_by_id(index, message)
        elif waiting := open_calls.get(message.tool_call_id or ""):
            named = (place for place, tool in waiting.items() if tool == names.get(index))
            answers[index] = next(named, next(iter(waiting)))
            del waiting[answers[index]]
    return answers


def _calls_by_id(index: int, message: ChatMessage) -> dict[str, dict[Place, str]]:
    found: dict[str, dict[Place, str]] = {}
    for position, call in enumerate(message.tool_calls):
        found.setdefault(call.id, {})[index, position] = call.name
    return found


def complete_turns(messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The conversation as providers want it: each turn's results right after it, all of them, in the calls' order.

    A call without a result gets ``NO_RESULT``; a result without a call is left out.
    """
    listed = list(messages)
    results = {place: listed[index] for index, place in match_results(listed, {}).items()}
    completed: list[ChatMessage] = []
    for index, message in enumerate(listed):
        if message.role is Role.TOOL:
            continue
        completed.append(message)
        for position, call in enumerate(message.tool_calls):
            completed.append(results.get((index, position)) or ChatMessage.tool_result(call.id, NO_RESULT))
    return tuple(completed)


def last_answer(messages: Sequence[ChatMessage]) -> str:
    """The text of the model's newest answer, all pieces of one that paused; empty where there is none."""
    pieces: list[str] = []
    for message in reversed(messages):
        if message.role is Role.ASSISTANT and not (pieces and message.tool_calls):
            pieces.append(message.text)
        elif pieces:
            break
    return "".join(reversed(pieces))


def call_ids(messages: Iterable[ChatMessage]) -> set[str]:
    """All call ids that a conversation uses."""
    return {call.id for message in messages for call in message.tool_calls}
