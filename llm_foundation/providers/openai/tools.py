"""The tools on offer and the choice among them, in either of OpenAI's forms."""

from dataclasses import dataclass
from typing import Any, Final

from llm_foundation.chat.options import ChatRequest, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.json_schema import object_schema, strict_schema
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.tool_names import wire_name

_PREPARED: Final[Memo[ToolDefinition, dict[str, Any]]] = Memo()


@dataclass(frozen=True, slots=True)
class Offer:
    """``parameters`` go into the body; all three keys together, or none where there are no tools (qwen-code#2054)."""

    parameters: dict[str, Any]
    dropped: tuple[str, ...] = ()


def offer(request: ChatRequest, dialect: Dialect) -> Offer:
    """What is offered. Raises ``InvalidMessage`` where the choice names a tool that is not among them."""
    tools = request.tools
    if not tools:
        return Offer({})
    if not dialect.model.supports_tools:
        return Offer({}, ("tools",))
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        return _named(choice.name, request, dialect)
    choices = dialect.profile.tool_choices
    if choice == "none" and not choices.none:
        return Offer({})
    if choice == "required" and not _can_require(request, dialect):
        return _offered(request, tools, dialect, dropped=("tool_choice",))
    word = {"auto": None, "none": "none", "required": choices.required}[choice]
    return _offered(request, tools, dialect, choice=word)


def _named(name: str, request: ChatRequest, dialect: Dialect) -> Offer:
    """One tool by name; else that tool alone, required; else that tool alone (lmstudio-bug-tracker#670, pi#4266)."""
    alone = tuple(tool for tool in request.tools if tool.name == name)
    if not alone:
        raise InvalidMessage(f"names {name!r}, which is not on offer", field="tool_choice")
    if not dialect.profile.can_force(dialect.model, request.options):
        return _offered(request, alone, dialect, dropped=("tool_choice",))
    if dialect.profile.tool_choices.named:
        return _offered(request, request.tools, dialect, choice=_function({"name": wire_name(name)}, dialect))
    word = dialect.profile.tool_choices.required
    return _offered(request, alone, dialect, choice=word, dropped=() if word else ("tool_choice",))


def _can_require(request: ChatRequest, dialect: Dialect) -> bool:
    return bool(dialect.profile.tool_choices.required) and dialect.profile.can_force(dialect.model, request.options)


def _offered(
    request: ChatRequest,
    tools: tuple[ToolDefinition, ...],
    dialect: Dialect,
    *,
    choice: Any = None,
    dropped: tuple[str, ...] = (),
) -> Offer:
    wire = [_PREPARED.get(tool, dialect.key, lambda new: wire_tool(new, dialect)) for tool in tools]
    parameters: dict[str, Any] = {"tools": wire} | ({"tool_choice": choice} if choice is not None else {})
    parallel = request.options.parallel_tool_calls
    if parallel is not None and dialect.model.supports_parallel_tool_calls:
        parameters["parallel_tool_calls"] = parallel
    elif parallel is not None:
        dropped = (*dropped, "parallel_tool_calls")
    return Offer(parameters, dropped)


def wire_tool(tool: ToolDefinition, dialect: Dialect) -> dict[str, Any]:
    """One tool. A schema that has no strict form goes out as it is, and the tool is not strict."""
    function: dict[str, Any] = {"name": wire_name(tool.name)}
    if tool.description:
        function["description"] = _shortened(tool.description, dialect.profile.description_limit)
    strict = strict_schema(tool.parameters) if tool.strict and dialect.profile.strict_tools else None
    function["parameters"] = object_schema(tool.parameters) if strict is None else strict
    if strict is not None:
        function["strict"] = True
    elif dialect.is_responses:
        function["strict"] = False  # left out, it would count as true there
    return _function(function, dialect)


def _function(function: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Chat Completions puts what describes a function into an object of its own; Responses does not."""
    return {"type": "function", **function} if dialect.is_responses else {"type": "function", "function": function}


def _shortened(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else f"{text[: limit - 1]}…"
