"""The tools on offer and the choice among them, in the form of the Messages API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ChatRequest, NamedTool, ToolChoice, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.anthropic.dialect import Dialect
from llm_foundation.providers.anthropic.schema import Allowance, EnforcedSchema, enforced_schema
from llm_foundation.providers.anthropic.thinking import Thinking
from llm_foundation.providers.json_schema import object_schema
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.tool_names import wire_name

_PREPARED: Final[Memo[ToolDefinition, tuple[dict[str, Any], EnforcedSchema | None]]] = Memo()
_WORDS: Final = {"auto": "auto", "none": "none", "required": "any"}


@dataclass(frozen=True, slots=True)
class Offer:
    """``parameters`` go into the body; both keys together, or none where there are no tools (qwen-code#2054)."""

    parameters: dict[str, Any]
    dropped: tuple[str, ...] = ()


def offer(request: ChatRequest, dialect: Dialect, thinks: Thinking, allowance: Allowance) -> Offer:
    """What is offered: our tools, then those that the provider runs itself, which stand in ``extra``.

    Raises ``InvalidMessage`` where the choice names a tool that is not among ours.
    """
    added, dropped = _added(request.options.extra.get("tools"))
    if not dialect.model.supports_tools:
        return Offer({}, ("tools",) if request.tools or added else ())
    tools, choice = _chosen(request)
    if choice in ("any", "tool") and (thinks.has_budget or not dialect.traits.can_force):
        choice, dropped = "auto", (*dropped, "tool_choice")
        tools = _alone(request) or tools
    wire = [*(_wire_tool(tool, dialect, allowance) for tool in tools), *added]
    if not wire:
        wire, choice = _recalled(request.messages), "none"
    if not wire:
        return Offer({}, dropped)
    more, lost = _choice(choice, request, dialect)
    return Offer({"tools": wire} | more, (*dropped, *lost))


def _chosen(request: ChatRequest) -> tuple[tuple[ToolDefinition, ...], str]:
    choice: ToolChoice = request.tool_choice
    if not isinstance(choice, NamedTool):
        return request.tools, _WORDS[choice] if request.tools else "auto"
    if request.tools and not _alone(request):
        raise InvalidMessage(f"names {choice.name!r}, which is not on offer", field="tool_choice")
    return request.tools, "tool" if request.tools else "auto"


def _alone(request: ChatRequest) -> tuple[ToolDefinition, ...]:
    """The one tool that the choice names; where it cannot be forced, it is at least the only one."""
    choice = request.tool_choice
    return tuple(tool for tool in request.tools if isinstance(choice, NamedTool) and tool.name == choice.name)


def _choice(word: str, request: ChatRequest, dialect: Dialect) -> tuple[dict[str, Any], tuple[str, ...]]:
    choice: dict[str, Any] = {"type": word}
    if word == "tool" and isinstance(request.tool_choice, NamedTool):
        choice["name"] = wire_name(request.tool_choice.name)
    parallel = request.options.parallel_tool_calls
    if parallel is not None and not dialect.model.supports_parallel_tool_calls:
        return {"tool_choice": choice} if word != "auto" else {}, ("parallel_tool_calls",)
    if parallel is False and word != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice} if choice != {"type": "auto"} else {}, ()


def _wire_tool(tool: ToolDefinition, dialect: Dialect, allowance: Allowance) -> dict[str, Any]:
    """One tool. What has no enforced form, or would be too much of it, goes out as it is, and is not strict."""
    plain, enforced = _PREPARED.get(tool, "anthropic", _prepared)
    if not (tool.strict and dialect.json_schema and allowance.grants(enforced, tools=1)):
        return plain
    return plain | {"input_schema": enforced.schema if enforced else {}, "strict": True}


def _prepared(tool: ToolDefinition) -> tuple[dict[str, Any], EnforcedSchema | None]:
    described = {"description": tool.description} if tool.description.strip() else {}
    plain = {"name": wire_name(tool.name), **described, "input_schema": object_schema(tool.parameters)}
    return plain, enforced_schema(tool.parameters) if tool.strict else None


def _added(tools: Any) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Tools of the provider's own, as the operator wrote them into ``extra``."""
    if tools is None:
        return [], ()
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        return [], ("extra.tools",)
    return thaw(tools), ()


def _recalled(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Definitions for the tools that the history called, where none is on offer: without any, the history itself is
    refused (pi#149, opencode#8246, vercel/ai#12378).
    """
    names = dict.fromkeys(wire_name(call.name) for message in messages for call in message.tool_calls)
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return [{"name": name, "description": "Not available any more.", "input_schema": schema} for name in names]
