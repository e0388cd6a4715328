"""The fields of a message out of untyped JSON: what is read, what is left out, and how a wrong shape is named."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from llm_foundation.chat.parts import PARTS, Part, TextPart, read_part
from llm_foundation.chat.provider_state import ProviderState
from llm_foundation.chat.reading import (
    build,
    kind_of,
    optional_text,
    read_each,
    refuse_unknown_keys,
    require_list,
    require_text,
    shown,
)
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.exceptions import InvalidMessage, InvalidProviderState, ProviderStateError


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


_COMMON_KEYS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "provider_state"})

_ADDED_BY_PROVIDERS: Final = frozenset(
    {"annotations", "executed_tools", "parsed", "reasoning", "reasoning_content", "reasoning_details"}
)
_KEYS: Final = {
    Role.SYSTEM: _COMMON_KEYS,
    Role.USER: _COMMON_KEYS,
    Role.ASSISTANT: _COMMON_KEYS | {"refusal"} | _ADDED_BY_PROVIDERS,
    Role.TOOL: _COMMON_KEYS | {"name", "tool_name"},
}
_ROLES: Final = {"developer": Role.SYSTEM, **{role.value: role for role in Role}}


def read_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What ``ChatMessage`` takes, from its wire form or its stored one."""
    role = _read_role(entry.get("role"))
    refuse_unknown_keys(entry, _KEYS[role])
    fields: dict[str, Any] = {"role": role, "content": _read_content(entry, role)}
    if entry.get("tool_calls") is not None:
        fields["tool_calls"] = _read_calls(entry["tool_calls"])
    if entry.get("tool_call_id") is not None:
        fields["tool_call_id"] = optional_text(entry["tool_call_id"], field="tool_call_id")
    if entry.get("provider_state") is not None:
        fields["provider_state"] = _read_state(entry["provider_state"])
    return fields


def _read_role(value: Any) -> Role:
    text = require_text(value, field="role")
    if text not in _ROLES:
        known = ", ".join(Role)
        raise InvalidMessage(f"is {shown(text)}; known roles are {known}", field="role")
    return _ROLES[text]


def _read_content(entry: Mapping[str, Any], role: Role) -> str | tuple[Part, ...]:
    content = entry.get("content")
    if role is Role.ASSISTANT:
        content = _read_spoken(entry, content)
    if isinstance(content, str):
        return content
    if content is None:
        raise InvalidMessage("is missing", field="content")
    if not isinstance(content, list | tuple):
        raise InvalidMessage(f"must be a string or a list of parts, not {kind_of(content)}", field="content")
    return tuple(read_each(content, PARTS, read_part, field="content"))


def _read_spoken(entry: Mapping[str, Any], content: Any) -> Any:
    """What an assistant said, refusals included; thinking between the parts is no speech (vercel/ai#8012)."""
    refusal = optional_text(entry.get("refusal"), field="refusal")
    if content in (None, "") and (refusal or entry.get("tool_calls")):
        return refusal or ""
    if not content or not isinstance(content, list | tuple):
        return content
    return tuple(filter(None, read_each(content, PARTS, _read_spoken_part, field="content"))) or ""


def _read_spoken_part(entry: Mapping[str, Any]) -> Part | None:
    if entry.get("type") in ("thinking", "redacted_thinking"):
        return None
    if entry.get("type") == "refusal":
        return build(TextPart, field="refusal", text=entry.get("refusal"))
    return read_part(entry)


def _read_calls(value: Any) -> tuple[ToolCall, ...]:
    entries = require_list(value, field="tool_calls")
    return tuple(read_each(entries, ToolCall, ToolCall.from_dict, field="tool_calls"))


def _read_state(value: Any) -> ProviderState:
    try:
        return ProviderState.from_dict(value)
    except ProviderStateError:
        raise InvalidProviderState(field="provider_state") from None
