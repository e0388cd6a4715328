"""Short ways to an adapter, a request as it goes out, and an answer as it comes in."""

import json
from typing import Any

from llm_foundation.chat import ChatMessage, ChatOptions, ChatRequest, CompletionResponse, ToolCall, ToolDefinition
from llm_foundation.chat.stream import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta, ToolCallStarted
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.openai.adapter import OpenAICompatibleAdapter
from llm_foundation.providers.registry import build

FIND = ToolDefinition(
    name="find_order",
    description="Find one order.",
    parameters={"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
)
REFUND = ToolDefinition(name="refund_order")
HELLO = ChatMessage.user("Hello")


def make_adapter(
    profile: str = "openai", *, model: str = "gpt-4o", key: str | None = "a-key", options: Any = None, **spec: Any
) -> OpenAICompatibleAdapter:
    provider = ProviderSpec(
        name="shop",
        adapter="openai_compatible",
        base_url=spec.pop("base_url", "https://llm.example/v1"),
        profile=profile,
        options=options or {},
    )
    capabilities = {"supports_json_schema": True} | spec
    adapter = build(provider, ModelSpec(model_id=model, **capabilities), Secret(key) if key is not None else None)
    assert isinstance(adapter, OpenAICompatibleAdapter)
    return adapter


def make_request(*messages: ChatMessage, options: dict[str, Any] | None = None, **fields: Any) -> ChatRequest:
    return ChatRequest(messages=messages or (HELLO,), options=ChatOptions(**(options or {})), **fields)


def sent(adapter: OpenAICompatibleAdapter, request: ChatRequest) -> Any:
    """The body of the request as the provider reads it."""
    return json.loads(adapter.request(request).body or b"")


def messages_sent(adapter: OpenAICompatibleAdapter, *messages: ChatMessage) -> Any:
    return sent(adapter, make_request(*messages))["messages"]


def call(name: str = "find_order", *, id: str = "call_1", **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def answered(adapter: OpenAICompatibleAdapter, body: Any, *, request: ChatRequest | None = None) -> CompletionResponse:
    """The answer to a body; anything but bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return adapter.response(200, {}, raw, chat_request=request)


def completion(message: dict[str, Any], *, finish: Any = "stop", **envelope: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c-1", "model": "gpt-4o", "choices": [choice], **envelope}


def function(name: str, arguments: Any, **entry: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **entry}


def chunks(*deltas: dict[str, Any], finish: Any = "stop", done: bool = True) -> bytes:
    """A stream of these deltas."""
    written = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    written += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish is not None else []
    return sse(*written, done=done)


def sse(*payloads: Any, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(payload)}\n\n" for payload in payloads]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def streamed(
    adapter: OpenAICompatibleAdapter, stream: bytes, *, request: ChatRequest | None = None, size: int | None = None
) -> tuple[list[StreamEvent], CompletionResponse]:
    """All events and the response of a stream that arrives in pieces of this size."""
    decoder = adapter.stream(request)
    size = size or len(stream) or 1
    events = [event for start in range(0, len(stream), size) for event in decoder.feed(stream[start : start + size])]
    return events, decoder.finish()


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def reasoning_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def calls_of(events: list[StreamEvent]) -> list[tuple[str, str, str]]:
    """The id, the name and the joined argument text of each call that the events tell of."""
    started = [event for event in events if isinstance(event, ToolCallStarted)]
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    return [
        (start.call_id, start.name, "".join(delta.arguments for delta in deltas if delta.index == start.index))
        for start in started
    ]
