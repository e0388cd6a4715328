"""Recorded ``/api/chat`` requests of Ollama, read into our own values."""

from collections.abc import Iterator
from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatOptions, ChatRequest, ToolDefinition
from llm_foundation.chat.parts import ImagePart, TextPart
from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.providers.recordings.open_calls import take_answered
from llm_foundation.providers.recordings.recording import Recording

_OPTIONS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "num_predict": "max_tokens",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
_HANDLED: Final = {"messages", "model", "stream", "tools", "options", "format"}
_IMAGES: Final = {"/9j/": "jpeg", "iVBO": "png", "R0lG": "gif", "UklG": "webp"}
"""How base64 of each kind begins: the format does not say what an image is."""


def read_request(recording: Recording, _owner: StateOwner) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = recording.request
    return ChatRequest(
        messages=tuple(_messages(body["messages"])),
        tools=tuple(_tools(body)),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream", True)),
    )


def _messages(entries: list[dict[str, Any]]) -> Iterator[ChatMessage]:
    """A result says the id of its call, or else only its tool: of that tool, the first call that is open."""
    open_calls: list[ToolCall] = []
    for place, entry in enumerate(entries):
        if entry["role"] == "assistant":
            made = [_call(call, f"made-up-{place}-{count}") for count, call in enumerate(entry.get("tool_calls") or [])]
            open_calls = list(made)
            text = entry.get("content") or ""
            yield ChatMessage.assistant_tool_calls(made, text) if made else ChatMessage.assistant(text)
        elif entry["role"] == "tool":
            named = entry.get("tool_name") or entry.get("name")
            answered = take_answered(open_calls, call_id=entry.get("tool_call_id"), name=named)
            yield ChatMessage.tool_result(answered.id, entry.get("content") or "")
        else:
            yield ChatMessage(role=Role(entry["role"]), content=_content(entry))


def _call(entry: dict[str, Any], made_up: str) -> ToolCall:
    function = entry["function"]
    return ToolCall.from_model(
        id=entry.get("id") or made_up, name=function["name"], arguments=function.get("arguments")
    )


def _content(entry: dict[str, Any]) -> Any:
    text, images = entry.get("content") or "", entry.get("images") or []
    parts = [TextPart(text=text)] if text else []
    return (*parts, *map(_image, images)) if images else text


def _image(data: str) -> ImagePart:
    return ImagePart(url=f"data:image/{_IMAGES.get(data[:4], 'png')};base64,{data}")


def _tools(body: dict[str, Any]) -> Iterator[ToolDefinition]:
    for tool in body.get("tools") or []:
        function = tool["function"]
        yield ToolDefinition(
            name=function["name"],
            description=function.get("description") or "",
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
        )


def _options(body: dict[str, Any]) -> dict[str, Any]:
    """The options that we have words for; everything else is what an operator adds for this provider."""
    given = dict(body.get("options") or {})
    options: dict[str, Any] = {ours: given.pop(name) for name, ours in _OPTIONS.items() if given.get(name) is not None}
    stop = given.pop("stop", None) or ()
    options["stop"] = (stop,) if isinstance(stop, str) else tuple(stop)
    if isinstance(body.get("format"), dict):
        options["response_schema"] = {"schema": body["format"]}
    extra = {key: value for key, value in body.items() if key not in _HANDLED and value is not None}
    if body.get("format") and "response_schema" not in options:
        extra["format"] = body["format"]
    return options | {"extra": extra | ({"options": given} if given else {})}
