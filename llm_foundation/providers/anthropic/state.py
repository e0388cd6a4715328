"""Opaque context in Messages answers: how it is kept, and how it goes back to its owner.

The state of a turn has one item, an object with the fields that the answer carried, unchanged:

- ``content``: all its blocks, wherever text and calls alone would not say the same: thinking with signatures,
  redacted thinking, server tools and their results, text in several blocks or with citations (llama_index#18834);
- ``container``: the sandbox that its code ran in, with the time at which it is given up.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.exceptions import ProviderStateError
from llm_foundation.providers.anthropic.dialect import Dialect
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.own_state import own_state
from llm_foundation.providers.tool_names import wire_name
from llm_foundation.providers.wire_json import as_text

Blocks = list[dict[str, Any]]

_CHECKED: Final[Memo[ChatMessage, Mapping[str, Any]]] = Memo()

THINKING: Final = ("thinking", "redacted_thinking")
_OF_USERS: Final = frozenset({"tool_result", "image", "document", "search_result"})
_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "text": ("text",),
    "thinking": ("thinking",),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name"),
}
"""Fields that a block of this type must have as text."""
_SAYS_NOTHING: Final = (None, {"type": "direct"})
"""What stands in fields that could as well be left out."""


def kept_state(owner: StateOwner, content: Blocks, container: Mapping[str, Any]) -> ProviderState | None:
    """The state of a turn, or ``None`` where text and calls say it all. Calls stand in it under our own ids."""
    content = [block for block in content if _has_shape(block)]
    fields: dict[str, Any] = {"content": content} if not _is_plain(content) and _is_unambiguous(content) else {}
    fields |= {"container": dict(container)} if as_text(container.get("id")) else {}
    return ProviderState(owner=owner, items=(fields,)) if fields else None


def _is_plain(content: Blocks) -> bool:
    """Whether the turn is one text before calls, and nothing else."""
    said = [block for block in content if not (block["type"] == "text" and not block["text"].strip())]
    calls = said[1:] if said and said[0]["type"] == "text" else said
    return all(block["type"] == "tool_use" for block in calls) and not any(map(_has_more, said))


def _has_more(block: dict[str, Any]) -> bool:
    known = ("type", "text") if block["type"] == "text" else ("type", "id", "name", "input")
    return any(key not in known and value not in _SAYS_NOTHING for key, value in block.items())


def own_context(message: ChatMessage, dialect: Dialect) -> Mapping[str, Any]:
    """What this owner's turn carried; empty for a turn without state, and for anybody else's.

    Raises ``ProviderStateError`` where our own state is not what we once kept.
    """
    if message.provider_state is None:
        return {}
    return _CHECKED.get(message, dialect.key, lambda new: _checked(new, dialect.owner))


def _checked(message: ChatMessage, owner: StateOwner) -> Mapping[str, Any]:
    state = own_state(message, owner)
    if state is None:
        return {}
    items = state.items or ()
    if len(items) > 1:
        raise ProviderStateError
    context = items[0] if items else {}
    if not isinstance(context, dict) or not context.keys() <= {"content", "container"}:
        raise ProviderStateError
    _check_container(context.get("container"))
    if "content" in context:
        _check_content(context["content"], message, state.tool_call_bindings)
    return context


def _check_container(container: Any) -> None:
    if container is not None and not (isinstance(container, dict) and as_text(container.get("id"))):
        raise ProviderStateError


def _check_content(content: Any, message: ChatMessage, bindings: Mapping[str, str]) -> None:
    if not isinstance(content, list) or not all(map(_has_shape, content)):
        raise ProviderStateError
    if not _is_unambiguous(content) or len(set(bindings.values())) != len(bindings):
        raise ProviderStateError
    calls = [block for block in content if block["type"] == "tool_use"]
    if [_call_facts(block) for block in calls] != [
        (bindings.get(call.id, call.id), wire_name(call.name), call.wire_arguments()) for call in message.tool_calls
    ]:
        raise ProviderStateError


def _has_shape(block: Any) -> bool:
    if not isinstance(block, dict) or not as_text(block.get("type")) or block["type"] in _OF_USERS:
        return False
    if not all(isinstance(block.get(field), str) for field in _TEXTS.get(block["type"], ())):
        return False
    if not all(isinstance(block.get(field, ""), str) for field in ("id", "signature")):
        return False
    return isinstance(block.get("input", {}), dict)


def _is_unambiguous(content: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no id, and no signed thought, stands in the turn twice."""
    ids = [block["id"] for block in content if block.get("id")]
    thoughts = [(block["thinking"], block["signature"]) for block in content if _is_signed(block)]
    return len(set(ids)) == len(ids) and len(set(thoughts)) == len(thoughts)


def _call_facts(block: Mapping[str, Any]) -> tuple[str, str, Any]:
    return block["id"], block["name"], block.get("input", {})


def replayed(
    context: Mapping[str, Any], message: ChatMessage, call_ids: Sequence[str], *, unsigned_thinking: bool
) -> Blocks:
    """The blocks of an own turn, as they go back: with the ids that its results name.

    What the API itself refuses stays away: blank text, and thinking whose signature never came
    (``unsigned_thinking`` says that the endpoint takes it).
    """
    content: Blocks = thaw(context["content"])
    ids = iter(call_ids)
    for block in content:
        if block["type"] == "tool_use":
            block["id"] = next(ids)
    content = _with_text_of(message, content)
    return [block for block in content if _goes_back(block, unsigned_thinking=unsigned_thinking)]


def _is_signed(block: Mapping[str, Any]) -> bool:
    return block["type"] == "thinking" and bool(block.get("signature"))


def _goes_back(block: dict[str, Any], *, unsigned_thinking: bool) -> bool:
    if block["type"] == "text":
        return bool(block["text"].strip())
    return block["type"] != "thinking" or unsigned_thinking or _is_signed(block)


def _with_text_of(message: ChatMessage, content: Blocks) -> Blocks:
    """The blocks as they came; where the text was rewritten since, the new one stands where the first one stood."""
    said = [place for place, block in enumerate(content) if block["type"] == "text"]
    if "".join(content[place]["text"] for place in said) == message.text:
        return content
    calls = [place for place, block in enumerate(content) if block["type"] == "tool_use"]
    first = next(iter(said or calls), len(content))
    before, after = content[:first], content[first:]
    return [*before, {"type": "text", "text": message.text}, *(block for block in after if block["type"] != "text")]


def container_of(messages: Iterable[ChatMessage], dialect: Dialect) -> str | None:
    """The sandbox of the newest turn that had one, unless its time is over: what the code left there is still there."""
    found = [container for message in messages if (container := own_context(message, dialect).get("container"))]
    if not found or _has_expired(found[-1].get("expires_at")):
        return None
    return str(found[-1]["id"])


def _has_expired(when: Any) -> bool:
    try:
        return datetime.fromisoformat(when) <= datetime.now(UTC)
    except (TypeError, ValueError):
        return False
