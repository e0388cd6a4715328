"""Recorded Chat Completions requests, read into our own values."""

from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ChatOptions, ChatRequest, NamedTool, ToolDefinition
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.providers.recordings.recording import Recording

OURS: Final = {"temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "parallel_tool_calls"}
HANDLED: Final = {"messages", "model", "stream", "stream_options", "tools", "tool_choice", "functions", "function_call"}
RENAMED: Final = {"max_completion_tokens": "max_tokens", "max_tokens": "max_tokens", "random_seed": "seed"}
STATE_FIELDS: Final = ("reasoning_content", "reasoning_details")


def read_request(recording: Recording, owner: StateOwner) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = recording.request
    return ChatRequest(
        messages=tuple(message_of(entry, owner) for entry in body["messages"]),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.get("tool_choice")),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream")),
    )


def message_of(entry: dict[str, Any], owner: StateOwner) -> ChatMessage:
    """A message with its context as the state of its owner. Names of people and prefix marks are not ours to send."""
    fields = {key: entry[key] for key in STATE_FIELDS if entry.get(key)}
    content = entry.get("content")
    if isinstance(content, list) and any(chunk.get("type") == "thinking" for chunk in content):
        fields["content"] = content
        content = [chunk for chunk in content if chunk.get("type") == "text"]
    kept = {"role": entry["role"], "content": content or ("" if entry["role"] != "assistant" else None)}
    kept |= {key: entry[key] for key in ("tool_calls", "tool_call_id") if entry.get(key)}
    if kept["content"] is None and "tool_calls" not in kept:
        kept["content"] = ""
    message = ChatMessage.from_dict(kept)
    return message.model_copy(
        update={"provider_state": ProviderState(owner=owner, items=(fields,)) if fields else None}
    )


def _tools(body: dict[str, Any]) -> list[ToolDefinition]:
    """Function tools; a vendor's built-in tools are no tools of ours."""
    functions = [tool["function"] for tool in body.get("tools") or [] if tool.get("type", "function") == "function"]
    return [
        ToolDefinition(
            name=function["name"],
            description=function.get("description") or "",
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
            strict=bool(function.get("strict")),
        )
        for function in functions + (body.get("functions") or [])
    ]


def _choice(choice: Any) -> Any:
    if isinstance(choice, dict):
        return NamedTool(name=choice["function"]["name"])
    return {"any": "required", None: "auto"}.get(choice, choice)


def _options(body: dict[str, Any]) -> dict[str, Any]:
    """The options that we have words for; everything else is what an operator adds for this provider."""
    options: dict[str, Any] = {"extra": {}}
    for key, value in body.items():
        if key in HANDLED or value is None:
            continue
        if key in OURS or (key == "reasoning_effort" and value != "default"):
            options[key] = value
        elif key in RENAMED:
            options[RENAMED[key]] = value
        elif key == "stop":
            options["stop"] = [value] if isinstance(value, str) else value
        elif key == "response_format" and value.get("type") == "json_schema":
            options["response_schema"] = {**value["json_schema"], "strict": bool(value["json_schema"].get("strict"))}
            options["response_schema"].pop("description", None)
        else:
            options["extra"][key] = value
    return options
