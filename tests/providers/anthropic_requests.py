"""Recorded Messages requests, read into our own values and built anew by the adapter; and recorded sequences."""

import json
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter

from llm_foundation.chat import (
    ChatMessage,
    ChatOptions,
    ChatRequest,
    NamedTool,
    ProviderState,
    TextPart,
    ToolDefinition,
)
from llm_foundation.chat.parts import FilePart, ImagePart, data_url
from llm_foundation.chat.tool_calls import ToolCall
from tests.providers.agreement import read
from tests.providers.corpus import Exchange, exchanges, sequences
from tests.providers.official_types import objections_of

ANTHROPIC = "https://api.anthropic.com"
HANDLED = {"messages", "model", "stream", "system", "tools", "tool_choice", "container"}
CHOICES = {"any": "required", "auto": "auto", "none": "none"}


def adapter_of(exchange: Exchange) -> Any:
    return exchange.adapter(base_url=ANTHROPIC)


def request_of(exchange: Exchange) -> ChatRequest:
    """What one of our users would have asked for to get this recorded request."""
    body = exchange.request
    return ChatRequest(
        messages=(*_system(body), *_messages(body, adapter_of(exchange).owner)),
        tools=tuple(_own_tools(body)),
        tool_choice=_choice(body.get("tool_choice") or {}),
        options=ChatOptions(**_options(body)),
        stream=bool(body.get("stream")),
    )


def _system(body: dict[str, Any]) -> list[ChatMessage]:
    system = body.get("system") or []
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    return [ChatMessage.system(text) for text in texts]


def _messages(body: dict[str, Any], owner: Any) -> list[ChatMessage]:
    return [message for entry in body["messages"] for message in messages_of(entry, owner)]


def messages_of(entry: dict[str, Any], owner: Any) -> list[ChatMessage]:
    """The messages that one message of the wire stands for: results, and what is said beside them."""
    content = entry["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if entry["role"] == "assistant":
        return [_turn(blocks, owner)]
    if entry["role"] == "system":
        return [ChatMessage.system([TextPart(text=block["text"]) for block in blocks if block["type"] == "text"])]
    results = [_result(block) for block in blocks if block["type"] == "tool_result"]
    said = [part for block in blocks if (part := _part(block))]
    return [*results, *([ChatMessage.user(said)] if said else [])]


def _turn(blocks: list[dict[str, Any]], owner: Any) -> ChatMessage:
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


def rebuilt(exchange: Exchange) -> dict[str, Any]:
    return json.loads(adapter_of(exchange).request(request_of(exchange)).body or b"")


def can_say(exchange: Exchange) -> bool:
    """Whether its request was recorded, and says nothing that we have no words for: tools that come and go between
    messages (a feature in beta).
    """
    return bool(exchange.request) and '"tool_addition"' not in json.dumps(exchange.request["messages"])


def recorded() -> list[Exchange]:
    return [exchange for exchange in exchanges("anthropic") if can_say(exchange)]


@cache
def _types(*, beta: bool, streams: bool) -> TypeAdapter[Any]:
    from anthropic.types import message_create_params as stable
    from anthropic.types.beta import message_create_params as betas

    params: Any = betas if beta else stable
    return TypeAdapter(params.MessageCreateParamsStreaming if streams else params.MessageCreateParamsNonStreaming)


def objections(body: dict[str, Any], *, beta: bool = False) -> list[str]:
    """What the official types have against a body. They know sampling parameters no more; the older API does.

    Those of features in beta know fewer keywords of a schema than the others, which take any.
    """
    known = {key: value for key, value in body.items() if key not in ("temperature", "top_p")}
    found = objections_of(_types(beta=beta, streams=bool(body.get("stream"))), known)
    return [words for words in found if not (beta and ".input_schema." in words)]


def objections_to(exchange: Exchange) -> list[str]:
    """What both the stable types and those of features in beta have against the request that the adapter builds.

    Keys that an operator added are the operator's.
    """
    extra = request_of(exchange).options.extra
    body = {key: value for key, value in rebuilt(exchange).items() if key not in extra or key == "tools"}
    return objections(body) and objections(body, beta=True)


def turns_of(body: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The assistant's turns in a request, block by block."""
    entries = [entry["content"] for entry in body["messages"] if entry["role"] == "assistant"]
    return [[{"type": "text", "text": entry}] if isinstance(entry, str) else entry for entry in entries]


def replay(steps: tuple[Exchange, ...]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """For each step after the first: the recorded request, and ours from the earlier answers and recorded results."""
    pairs = []
    answers: list[ChatMessage] = []
    for step, following in pairwise(steps):
        response, _ = read(step, adapter=adapter_of(step))
        assert response is not None
        answers.append(response.to_message())
        if can_say(following):
            request = request_of(following)
            messages = _with_answers(request.messages, answers)
            ours = adapter_of(following).request(request.model_copy(update={"messages": messages})).body or b""
            pairs.append((following.request, json.loads(ours)))
    return pairs


def _with_answers(messages: tuple[ChatMessage, ...], answers: list[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The recorded conversation with the turns that we read ourselves, as stored and read again, for those recorded."""
    known = {_said(answer): ChatMessage.from_dict(answer.to_transcript()) for answer in answers}
    return tuple(known.get(_said(message), message) if message.role == "assistant" else message for message in messages)


def _said(message: ChatMessage) -> tuple[Any, ...]:
    return message.text.strip(), tuple(call.id for call in message.tool_calls)


def all_sequences() -> dict[str, tuple[Exchange, ...]]:
    return sequences("anthropic")
