"""Recorded Gemini traffic: answers in the words of the second reader, and conversations read back into our values."""

import json
from collections.abc import Iterator
from typing import Any

from llm_foundation.chat import (
    ChatMessage,
    ChatOptions,
    ChatRequest,
    CompletionResponse,
    FilePart,
    ImagePart,
    NamedTool,
    ProviderState,
    StateOwner,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from llm_foundation.chat.parts import Part
from llm_foundation.exceptions import ProviderError
from tests.providers.agreement import Cut, compared, expected_facts, facts, read, whole
from tests.providers.corpus import Exchange, exchanges


def gemini_facts(response: CompletionResponse | None, error: ProviderError | None) -> dict[str, Any]:
    told = facts(response, error)
    if response is not None:
        state = response.provider_state
        is_signed = any(part.get("thoughtSignature") for part in state.items or ()) if state else False
        told["provider_state"] = ["thoughtSignature"] if is_signed else []
    return told


def gemini_expected(exchange: Exchange) -> dict[str, Any]:
    """What the second reader saw, with its counts in our meaning: it tells them as they stand on the wire."""
    told = expected_facts(exchange)
    if told["kind"] != "error":
        told["finish_reason"] = None if told["finish_reason"] is None else str(told["finish_reason"])
        usage = exchange.expected["usage_raw"] or {}
        told["output_tokens"] = _sum(usage, "candidatesTokenCount", "thoughtsTokenCount")
        told["input_tokens"] = _sum(usage, "promptTokenCount", "toolUsePromptTokenCount")
    return told


def _sum(usage: dict[str, Any], *names: str) -> int | None:
    counts = [usage[name] for name in names if usage.get(name) is not None]
    return sum(counts) if counts else None


def gemini_differences(exchange: Exchange, cut: Cut = whole) -> dict[str, tuple[Any, Any]]:
    """Where the two readers differ: ours and theirs, by fact."""
    return compared(gemini_facts(*read(exchange, cut)), gemini_expected(exchange))


def camel(value: Any) -> Any:
    """Some clients write the names of fields with underscores; Google takes either. Names of arguments stay."""
    if isinstance(value, list):
        return [camel(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {_camel(key): entry if _camel(key) in OPAQUE else camel(entry) for key, entry in value.items()}


OPAQUE = {"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def request_of(exchange: Exchange) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = camel(exchange.request)
    config = dict(body.get("generationConfig") or {})
    extra = {
        key: value for key, value in body.items() if key in ("safetySettings", "cachedContent", "modelArmorConfig")
    }
    own_tools = [tool for tool in body.get("tools") or [] if "functionDeclarations" not in tool]
    extra |= {"tools": own_tools} if own_tools else {}
    options = _options(config)
    extra |= {"generationConfig": config} if config else {}
    return ChatRequest(
        messages=tuple(_messages(body, exchange)),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body),
        options=ChatOptions(**options, extra=extra),
        stream=exchange.is_stream,
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


def _messages(body: dict[str, Any], exchange: Exchange) -> Iterator[ChatMessage]:
    owner = exchange.adapter().owner
    system = _parts(body.get("systemInstruction"))
    if text := "".join(part.get("text", "") for part in system):
        yield ChatMessage.system(text)
    open_ids: list[str] = []
    for place, content in enumerate(body["contents"]):
        parts = _parts(content)
        if content.get("role") == "model":
            message = model_message(parts, owner, turn=place)
            open_ids = [call.id for call in message.tool_calls]
            yield message
            continue
        for part in parts:
            if "functionResponse" in part:
                yield ChatMessage.tool_result(open_ids.pop(0), json.dumps(part["functionResponse"]["response"]))
        if spoken := [read for part in parts if (read := _spoken(part)) is not None]:
            yield ChatMessage.user(spoken)


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


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return json.loads(exchange.adapter().request(request_of(exchange)).body or b"")


def replayed(steps: tuple[Exchange, ...]) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """Each step that goes on with an earlier one, with the body that we would send: our own reading of the answers
    before it, and the results and questions that the recorded client added."""
    histories: dict[str, list[ChatMessage]] = {}
    for place, step in enumerate(steps):
        before = next((earlier for earlier in reversed(steps[:place]) if _goes_on(earlier, step)), None)
        if before is None:
            histories[step.id] = list(request_of(step).messages)
            continue
        answer = steps[0].adapter().response(before.status, before.headers, before.raw)
        added = _contents(step)[len(_contents(before)) + 1 :]
        histories[step.id] = [*histories[before.id], answer.to_message(), *added_messages(added, answer)]
        request = request_of(step).model_copy(update={"messages": tuple(histories[step.id])})
        yield step, json.loads(steps[0].adapter().request(request).body or b"")


def _goes_on(before: Exchange, step: Exchange) -> bool:
    """Whether a recorded request holds the whole of an earlier one, and the model's answer to that."""
    earlier, later = _contents(before), _contents(step)
    said = [content for content in earlier if content.get("role") != "model"]
    kept = [content for content in later[: len(earlier)] if content.get("role") != "model"]
    if len(later) <= len(earlier) or kept != said:
        return False
    called = [part["functionCall"]["name"] for part in _parts(later[len(earlier)]) if "functionCall" in part]
    return called == [call["name"] for call in before.expected["tool_calls"]]


def _contents(exchange: Exchange) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = camel(exchange.request)["contents"]
    return contents


def added_messages(contents: list[dict[str, Any]], answer: CompletionResponse) -> Iterator[ChatMessage]:
    ids = [call.id for call in answer.tool_calls]
    for content in contents:
        for part in _parts(content):
            if "functionResponse" in part:
                yield ChatMessage.tool_result(ids.pop(0), json.dumps(part["functionResponse"]["response"]))
        if spoken := [read for part in _parts(content) if (read := _spoken(part)) is not None]:
            yield ChatMessage.user(spoken)


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded."""
    return [exchange for exchange in exchanges("gemini") if exchange.request and exchange.request.get("contents")]
