"""Recorded Messages requests, read into our own values."""

from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ChatOptions, ChatRequest, NamedTool, ToolDefinition
from llm_foundation.chat.parts import FilePart, ImagePart, TextPart, data_url
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.providers.recordings.recording import Recording

HANDLED: Final = {"messages", "model", "stream", "system", "tools", "tool_choice", "container"}
CHOICES: Final = {"any": "required", "auto": "auto", "none": "none"}


def read_request(recording: Recording, owner: StateOwner) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = recording.request
    return ChatRequest(
        messages=(*_system(body), *_messages(body, owner)),
        tools=tuple(_own_tools(body)),
        tool_choice=_choice(body.get("tool_choice") or {}),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream")),
    )


def _system(body: dict[str, Any]) -> list[ChatMessage]:
    system = body.get("system") or []
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    return [ChatMessage.system(text) for text in texts]


def _messages(body: dict[str, Any], owner: StateOwner) -> list[ChatMessage]:
    return [message for entry in body["messages"] for message in messages_of(entry, owner)]


def messages_of(entry: dict[str, Any], owner: StateOwner) -> list[ChatMessage]:
    """The messages that one message of the wire stands for: results, and what is said beside them."""
    content = entry["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if entry["role"] == "assistant":
        return [_turn(blocks, owner)]
    if entry["role"] == "system":
        texts = [TextPart(text=block["text"]) for block in blocks if block["type"] == "text"]
        return [ChatMessage.system(texts)] if texts else []
    results = [_result(block) for block in blocks if block["type"] == "tool_result"]
    said = [part for block in blocks if (part := _part(block))]
    return [*results, *([ChatMessage.user(said)] if said else [])]


def _turn(blocks: list[dict[str, Any]], owner: StateOwner) -> ChatMessage:
    """A turn with its context as the state of its owner, unless text and calls say it all."""
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [
        ToolCall(id=block["id"], name=block["name"], arguments=block["input"])
        for block in blocks
        if block["type"] == "tool_use"
    ]
    plain = all(block["type"] in ("text", "tool_use") for block in blocks)
    state = None if plain else ProviderState(owner=owner, items=({"content": blocks},))
    if calls:
        return ChatMessage.assistant_tool_calls(calls, text, state)
    return ChatMessage.assistant(text, provider_state=state)


def _result(block: dict[str, Any]) -> ChatMessage:
    content = block.get("content") or ""
    if isinstance(content, list):
        content = [part for entry in content if (part := _part(entry))] or ""
    return ChatMessage.tool_result(block["tool_use_id"], content)


def _part(block: dict[str, Any]) -> Any:
    source = block.get("source") or {}
    if block["type"] == "text":
        return TextPart(text=block["text"])
    if block["type"] == "image":
        data = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
        return ImagePart(url=data)
    if block["type"] == "document" and source["type"] == "base64":
        return FilePart(data=f"data:{source['media_type']};base64,{source['data']}", filename=block.get("title"))
    if block["type"] == "document" and source["type"] == "text":
        return FilePart(data=data_url(source["data"].encode(), media_type="text/plain"), filename=block.get("title"))
    return None


def _own_tools(body: dict[str, Any]) -> list[ToolDefinition]:
    return [
        ToolDefinition(
            name=tool["name"],
            description=tool.get("description") or "",
            parameters=tool["input_schema"],
            strict=bool(tool.get("strict")),
        )
        for tool in body.get("tools") or []
        if is_own(tool)
    ]


def is_own(tool: dict[str, Any]) -> bool:
    return "input_schema" in tool and tool.get("type") in (None, "custom") and not tool.get("defer_loading")


def _choice(choice: dict[str, Any]) -> Any:
    return NamedTool(name=choice["name"]) if choice.get("type") == "tool" else CHOICES[choice.get("type", "auto")]


def _options(body: dict[str, Any]) -> dict[str, Any]:
    """The options that we have words for; everything else is what an operator adds for this provider."""
    extra = {key: value for key, value in body.items() if key not in HANDLED}
    options: dict[str, Any] = {
        name: extra.pop(name) for name in ("max_tokens", "temperature", "top_p") if extra.get(name) is not None
    }
    options["stop"] = extra.pop("stop_sequences", None) or ()
    output = extra.get("output_config") or {}
    if (output.get("format") or {}).get("type") == "json_schema":
        extra["output_config"] = {key: value for key, value in output.items() if key != "format"}
        options["response_schema"] = {"schema": output["format"]["schema"]}
    added = [tool for tool in body.get("tools") or [] if not is_own(tool)]
    if (body.get("tool_choice") or {}).get("disable_parallel_tool_use"):
        options["parallel_tool_calls"] = False
    return options | {"extra": {"cache_control": None} | extra | ({"tools": added} if added else {})}
