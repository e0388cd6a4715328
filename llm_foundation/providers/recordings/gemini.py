"""Recorded generateContent requests, read into our own values."""

import json
from collections.abc import Iterator
from typing import Any, Final

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.options import ChatOptions, ChatRequest, NamedTool, ToolDefinition
from llm_foundation.chat.parts import FilePart, ImagePart, Part, TextPart
from llm_foundation.chat.provider_state import ProviderState, StateOwner
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.providers.recordings.open_calls import take_answered
from llm_foundation.providers.recordings.recording import Recording


def camel(value: Any) -> Any:
    """Some clients write the names of fields with underscores; Google takes either. Names of arguments stay."""
    if isinstance(value, list):
        return [camel(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {_camel(key): entry if _camel(key) in OPAQUE else camel(entry) for key, entry in value.items()}


OPAQUE: Final = {"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def read_request(recording: Recording, owner: StateOwner) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = camel(recording.request)
    config = dict(body.get("generationConfig") or {})
    extra = {
        key: value for key, value in body.items() if key in ("safetySettings", "cachedContent", "modelArmorConfig")
    }
    own_tools = [tool for tool in body.get("tools") or [] if "functionDeclarations" not in tool]
    extra |= {"tools": own_tools} if own_tools else {}
    options = _options(config)
    extra |= {"generationConfig": config} if config else {}
    return ChatRequest(
        messages=tuple(_messages(body, owner)),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body),
        options=ChatOptions(**options, extra=extra),
        stream=recording.is_stream,
    )


def _options(config: dict[str, Any]) -> dict[str, Any]:
    """The options that we have words for, taken out of the rest."""
    names = {
        "temperature": "temperature",
        "topP": "top_p",
        "maxOutputTokens": "max_tokens",
        "stopSequences": "stop",
        "seed": "seed",
        "frequencyPenalty": "frequency_penalty",
        "presencePenalty": "presence_penalty",
    }
    options = {ours: config.pop(name) for name, ours in names.items() if name in config}
    schema = config.pop("responseJsonSchema", None) or config.pop("responseSchema", None)
    if schema:
        options["response_schema"] = {"schema": schema}
        config.pop("responseMimeType", None)
    return options


def _tools(body: dict[str, Any]) -> Iterator[ToolDefinition]:
    for tool in body.get("tools") or []:
        for declared in tool.get("functionDeclarations", ()):
            schema = declared.get("parametersJsonSchema") or declared.get("parameters") or {}
            yield ToolDefinition(
                name=declared["name"],
                description=declared.get("description") or "",
                parameters={"type": "object", "properties": {}} | lower_types(schema),
            )


def lower_types(schema: Any) -> Any:
    """Gemini's older schemas write their types in capitals."""
    if isinstance(schema, list):
        return [lower_types(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    read = {key: lower_types(value) for key, value in schema.items()}
    return read | ({"type": read["type"].lower()} if isinstance(read.get("type"), str) else {})


def _choice(body: dict[str, Any]) -> Any:
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    names = calling.get("allowedFunctionNames") or []
    if len(names) == 1:
        return NamedTool(name=names[0])
    return {"ANY": "required", "NONE": "none"}.get(calling.get("mode", "").upper(), "auto")


def _messages(body: dict[str, Any], owner: StateOwner) -> Iterator[ChatMessage]:
    system = _parts(body.get("systemInstruction"))
    if text := "".join(part.get("text", "") for part in system):
        yield ChatMessage.system(text)
    open_calls: list[ToolCall] = []
    for place, content in enumerate(body["contents"]):
        parts = _parts(content)
        if content.get("role") == "model":
            message = model_message(parts, owner, turn=place)
            open_calls = list(message.tool_calls)
            yield message
            continue
        for part in parts:
            if "functionResponse" in part:
                yield _result(part["functionResponse"], open_calls)
        if spoken := [read for part in parts if (read := _spoken(part)) is not None]:
            yield ChatMessage.user(spoken)


def _result(answer: dict[str, Any], open_calls: list[ToolCall]) -> ChatMessage:
    """A text has to be wrapped to go out; any other object was a result of its own."""
    call = take_answered(open_calls, call_id=answer.get("id"), name=answer["name"])
    told = answer["response"]
    text = told.get("result") if isinstance(told, dict) and len(told) == 1 else None
    return ChatMessage.tool_result(call.id, text if isinstance(text, str) else json.dumps(told))


def _parts(content: Any) -> list[dict[str, Any]]:
    parts = (content or {}).get("parts") or []
    return parts if isinstance(parts, list) else [parts]


def model_message(parts: list[dict[str, Any]], owner: StateOwner, *, turn: int) -> ChatMessage:
    """A turn as it would stand in our transcript; an id is made up where the client sent none."""
    made = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = [
        ToolCall(id=call.get("id") or f"made-up-{turn}-{place}", name=call["name"], arguments=call.get("args") or {})
        for place, call in enumerate(made)
    ]
    bindings = {call.id: native["id"] for call, native in zip(calls, made, strict=True) if native.get("id")}
    said = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    kept = tuple(part for part in parts if part != {"text": ""})
    is_kept = bool(calls) or any(part.get("thoughtSignature") for part in parts)
    state = ProviderState(owner=owner, items=kept, tool_call_bindings=bindings) if is_kept else None
    return (
        ChatMessage.assistant_tool_calls(calls, said, state)
        if calls
        else ChatMessage.assistant(said, provider_state=state)
    )


def _spoken(part: dict[str, Any]) -> Part | None:
    if part.get("text"):
        return TextPart(text=part["text"])
    if "inlineData" in part:
        encoded = part["inlineData"]["data"].replace("-", "+").replace("_", "/")
        data = f"data:{part['inlineData']['mimeType']};base64,{encoded}"
        return ImagePart(url=data) if data.startswith("data:image/") else FilePart(data=data)
    return FilePart(file_id=part["fileData"]["fileUri"]) if "fileData" in part else None
