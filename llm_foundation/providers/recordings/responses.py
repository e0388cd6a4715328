"""Recorded Responses requests, read into our own values."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatOptions, ChatRequest, NamedTool, ToolDefinition
from llm_foundation.chat.parts import FilePart, ImagePart, TextPart
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.providers.openai_responses.items import visible_text
from llm_foundation.providers.recordings.recording import Recording

CALLS: Final = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
OURS: Final = ("temperature", "top_p", "parallel_tool_calls")
HANDLED: Final = {
    "input",
    "model",
    "stream",
    "tools",
    "tool_choice",
    "store",
    "include",
    "instructions",
    "max_output_tokens",
}
SERVERS_MEMORY: Final = ("previous_response_id", "conversation", "background")
"""With one of these the provider remembers what was said before; the request does not hold it."""


def items_of(recording: Recording) -> list[dict[str, Any]]:
    given = recording.request.get("input", [])
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def read_request(recording: Recording, owner: StateOwner) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = recording.request
    system = [ChatMessage.system(body["instructions"])] if body.get("instructions") else []
    return ChatRequest(
        messages=(*system, *_conversation(items_of(recording), owner)),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.get("tool_choice")),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream")),
    )


def _conversation(items: list[dict[str, Any]], owner: StateOwner) -> Iterator[ChatMessage]:
    for kind, group in groupby(items, key=_part_of):
        members = list(group)
        if kind == "turn":
            yield _turn(members, owner)
        elif kind == "result":
            for item in members:
                yield ChatMessage.tool_result(item["call_id"], _content(item["output"]))
        else:
            for item in members:
                role = Role.USER if item["role"] == "user" else Role.SYSTEM
                yield ChatMessage(role=role, content=_content(item["content"]))


def _part_of(item: dict[str, Any]) -> str:
    if item.get("type") in CALLS.values():
        return "result"
    is_message = item.get("type", "message") == "message" and item.get("role") != "assistant"
    return "said" if is_message else "turn"


def _typed(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", **item}


def _turn(items: list[dict[str, Any]], owner: StateOwner) -> ChatMessage:
    typed = [_typed(item) for item in items]
    calls = [
        ToolCall.from_model(id=item["call_id"], name=item["name"], arguments=_arguments(item))
        for item in items
        if item.get("type") in CALLS
    ]
    has_own = any("id" in item or "encrypted_content" in item for item in items)
    state = ProviderState(owner=owner, items=tuple(typed)) if has_own else None
    text = visible_text(typed)
    if calls:
        return ChatMessage.assistant_tool_calls(calls, text, state)
    return ChatMessage.assistant(text, provider_state=state)


def _arguments(item: dict[str, Any]) -> Any:
    """Free text for a custom tool is the one argument of our call."""
    return {"input": item["input"]} if item["type"] == "custom_tool_call" else item["arguments"]


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else tuple(map(_part, content))


def _part(part: dict[str, Any]) -> TextPart | ImagePart | FilePart:
    if part["type"] == "input_image":
        return ImagePart(url=part["image_url"], detail=part.get("detail"))
    if part["type"] == "input_file":
        return FilePart(data=part.get("file_data"), file_id=part.get("file_id"), filename=part.get("filename"))
    return TextPart(text=part["text"])


def _tools(body: dict[str, Any]) -> Iterator[ToolDefinition]:
    """Function tools; a provider's built-in tools are no tools of ours."""
    for tool in body.get("tools") or []:
        if tool["type"] == "function":
            yield ToolDefinition(
                name=tool["name"],
                description=tool.get("description") or "",
                parameters=tool["parameters"],
                strict=bool(tool.get("strict")),
            )


def _choice(choice: Any) -> Any:
    if isinstance(choice, dict):
        return NamedTool(name=choice["name"]) if choice.get("type") == "function" else "auto"
    return choice or "auto"


def _options(body: dict[str, Any]) -> dict[str, Any]:
    """The options that we have words for; everything else is what an operator adds for this provider."""
    options: dict[str, Any] = {"extra": {}, "max_tokens": body.get("max_output_tokens")}
    for key, value in body.items():
        if key in OURS:
            options[key] = value
        elif key == "text" and (value.get("format") or {}).get("type") == "json_schema":
            given = {name: value["format"][name] for name in ("name", "schema", "strict") if name in value["format"]}
            options["response_schema"] = given | {"strict": bool(given.get("strict"))}
        elif key not in (*HANDLED, *SERVERS_MEMORY) and value is not None:
            options["extra"][key] = value
    return options
