"""The tools on offer and the choice among them, in Gemini's form."""

from typing import Any, Final

from llm_foundation.chat.options import ChatRequest, NamedTool, ToolDefinition
from llm_foundation.exceptions import InvalidMessage
from llm_foundation.providers.gemini.dialect import GeminiDialect
from llm_foundation.providers.gemini.parts import gemini_name
from llm_foundation.providers.gemini.schema import gemini_schema, openapi_schema
from llm_foundation.providers.json_schema import object_schema
from llm_foundation.providers.memo import Memo

_PREPARED: Final[Memo[ToolDefinition, dict[str, Any]]] = Memo()


def offer(request: ChatRequest, dialect: GeminiDialect) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What is offered, for the body, and the names of what cannot be asked for; nothing where there are no tools.

    Raises ``InvalidMessage`` where the choice names a tool that is not among them.
    """
    if not request.tools:
        return {}, ()
    if not dialect.model.supports_tools:
        return {}, ("tools",)
    declared = [_PREPARED.get(tool, dialect.key, lambda new: declaration(new, dialect)) for tool in request.tools]
    parameters: dict[str, Any] = {"tools": [{"functionDeclarations": declared}]}
    if calling := _calling(request, dialect):
        parameters["toolConfig"] = {"functionCallingConfig": calling}
    # Several calls at once are the model's own choice here; nothing forbids them.
    return parameters, ("parallel_tool_calls",) if request.options.parallel_tool_calls is False else ()


def _calling(request: ChatRequest, dialect: GeminiDialect) -> dict[str, Any]:
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        if choice.name not in [tool.name for tool in request.tools]:
            raise InvalidMessage(f"names {choice.name!r}, which is not on offer", field="tool_choice")
        return {"mode": "ANY", "allowedFunctionNames": [gemini_name(choice.name)]}
    if choice == "auto":
        is_strict = dialect.traits.validates_calls and all(tool.strict for tool in request.tools)
        return {"mode": "VALIDATED"} if is_strict else {}
    return {"mode": {"none": "NONE", "required": "ANY"}[choice]}


def declaration(tool: ToolDefinition, dialect: GeminiDialect) -> dict[str, Any]:
    """One tool. A tool without parameters has no schema: the older field refuses an object without properties."""
    declared: dict[str, Any] = {"name": gemini_name(tool.name)}
    declared |= {"description": tool.description} if tool.description.strip() else {}
    schema = object_schema(tool.parameters)
    if schema["properties"] or schema.get("additionalProperties"):
        if dialect.takes_json_schema:
            declared["parametersJsonSchema"] = gemini_schema(schema)
        else:
            declared["parameters"] = openapi_schema(schema)
    return declared
