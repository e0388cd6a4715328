"""Recorded requests, read into our own values and built anew by the adapter."""

import json
from typing import Any

from llm_foundation.chat import ChatMessage, ChatOptions, ChatRequest, NamedTool, ProviderState, ToolDefinition
from tests.providers.corpus import Exchange, exchanges
from tests.providers.official_types import objections

OURS = {"temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "parallel_tool_calls"}
HANDLED = {"messages", "model", "stream", "stream_options", "tools", "tool_choice", "functions", "function_call"}
RENAMED = {"max_completion_tokens": "max_tokens", "max_tokens": "max_tokens", "random_seed": "seed"}
STATE_FIELDS = ("reasoning_content", "reasoning_details")


def request_of(exchange: Exchange) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = exchange.request
    owner = exchange.adapter().owner
    return ChatRequest(
        messages=tuple(message_of(entry, owner) for entry in body["messages"]),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.get("tool_choice")),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream")),
    )


def message_of(entry: dict[str, Any], owner: Any) -> ChatMessage:
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


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return json.loads(exchange.adapter().request(request_of(exchange)).body or b"")


def objections_to(exchange: Exchange, *, vendors_own: bool = True) -> list[str]:
    """What the official types have against the request that the adapter builds, the operator's additions aside.

    With ``vendors_own=False`` also what only its vendor takes is taken away before.
    """
    request = request_of(exchange)
    body = {key: value for key, value in rebuilt(exchange).items() if key not in request.options.extra}
    return objections(body if vendors_own else without_vendors_own(body))


def without_vendors_own(body: dict[str, Any]) -> dict[str, Any]:
    """The body in OpenAI's words: without context that goes back to its owner, and without a vendor's names."""
    kept = {key: value for key, value in body.items() if key not in ("reasoning", "thinking")}
    if "random_seed" in kept:
        kept["seed"] = kept.pop("random_seed")
    if kept.get("tool_choice") == "any":
        kept["tool_choice"] = "required"
    return kept | {"messages": [_without_context(message) for message in kept["messages"]]}


def _without_context(message: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key not in STATE_FIELDS}
    if message["role"] == "assistant" and isinstance(message["content"], list):
        kept["content"] = [chunk for chunk in message["content"] if chunk["type"] != "thinking"]
    return kept


def recorded() -> list[Exchange]:
    """The exchanges whose request was recorded, in this format."""
    return [exchange for exchange in exchanges() if exchange.request and "messages" in exchange.request]


def summary() -> str:
    found = recorded()
    as_they_are = sum(1 for exchange in found if not objections_to(exchange))
    in_openais_words = sum(1 for exchange in found if not objections_to(exchange, vendors_own=False))
    return (
        f"{as_they_are} of {len(found)} rebuilt requests accepted by the official types as they are;"
        f" {in_openais_words} without what only their vendor takes"
    )
