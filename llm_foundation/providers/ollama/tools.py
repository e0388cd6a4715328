"""The tools on offer, in Ollama's form. It has no words for a choice among them."""

from typing import Any, Final

from llm_foundation.chat.options import ChatRequest, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.base import ModelSpec
from llm_foundation.providers.memo import Memo
from llm_foundation.providers.ollama.schema import tool_schema
from llm_foundation.providers.tool_names import wire_name

_PREPARED: Final[Memo[ToolDefinition, dict[str, Any]]] = Memo()


def offer(request: ChatRequest, model: ModelSpec) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The tools for the body, and the names of what cannot be asked for.

    Raises ``InvalidMessage`` where the choice names a tool that is not among them.
    """
    if not request.tools:
        return [], ()
    if not model.supports_tools:
        return [], ("tools",)
    tools, is_honoured = _chosen(request)
    dropped = () if is_honoured else ("tool_choice",)
    if tools and request.options.parallel_tool_calls is False:
        dropped = (*dropped, "parallel_tool_calls")
    return [_PREPARED.get(tool, "ollama", wire_tool) for tool in tools], dropped


def _chosen(request: ChatRequest) -> tuple[tuple[ToolDefinition, ...], bool]:
    """The nearest to the choice that can be offered, and whether that is as good as the choice.

    ``none`` is kept by offering none, unless the history holds calls: without their definitions a model writes further
    calls as text.
    """
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        alone = tuple(tool for tool in request.tools if tool.name == choice.name)
        if not alone:
            raise InvalidMessage(f"names {choice.name!r}, which is not on offer", field="tool_choice")
        return alone, False
    if choice == "none" and not any(message.tool_calls for message in request.messages):
        return (), True
    return request.tools, choice == "auto"


def wire_tool(tool: ToolDefinition) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    function = {"name": wire_name(tool.name), **described, "parameters": tool_schema(tool.parameters)}
    return {"type": "function", "function": function}
