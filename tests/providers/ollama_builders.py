"""Short ways to an Ollama adapter, and to answers of its chat, whole and streamed."""

import json
from typing import Any

from llm_foundation.chat import ChatMessage, CompletionResponse
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.ollama.adapter import OllamaAdapter
from llm_foundation.providers.registry import build
from tests.providers.builders import make_request, sent

QWEN = "qwen3:8b"
GPT_OSS = "gpt-oss:20b"
CLOUD = "glm-5.2:cloud"


def make_ollama(
    model: str = QWEN, *, key: str | None = None, base_url: str = "", options: Any = None, **spec: Any
) -> OllamaAdapter:
    provider = ProviderSpec(name="shop", adapter="ollama", base_url=base_url, options=options or {})
    capabilities = {"supports_json_schema": True, "supports_reasoning": True} | spec
    adapter = build(provider, ModelSpec(model_id=model, **capabilities), Secret(key) if key is not None else None)
    assert isinstance(adapter, OllamaAdapter)
    return adapter


def called(name: str = "find_order", *, id: Any = None, extra: Any = None, **arguments: Any) -> dict[str, Any]:
    """A call as it stands in an answer, and in a request."""
    named = {} if id is None else {"id": id}
    return named | {"function": {"name": name, "arguments": arguments}} | (extra or {})


def line(
    text: str = "", *, thinking: str = "", calls: Any = None, done: bool = False, reason: Any = "stop", **envelope: Any
) -> dict[str, Any]:
    """One line of a stream; a done one is also a whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    message |= ({"thinking": thinking} if thinking else {}) | ({"tool_calls": calls} if calls else {})
    ended = {"done": True} | ({"done_reason": reason} if reason is not None else {}) if done else {"done": False}
    return {"model": QWEN, "created_at": "2026-11-30T20:00:00Z", "message": message} | ended | envelope


def lines(*payloads: Any) -> bytes:
    return "".join(f"{json.dumps(payload, ensure_ascii=False)}\n" for payload in payloads).encode("utf-8", "replace")


def read(adapter: OllamaAdapter, text: str = "", **entry: Any) -> CompletionResponse:
    return adapter.response(200, {}, json.dumps(line(text, done=True, **entry)).encode())


def messages_sent(adapter: OllamaAdapter, *messages: ChatMessage) -> Any:
    return sent(adapter, make_request(*messages))["messages"]


def stored(message: ChatMessage) -> ChatMessage:
    """The message as it comes back from a database that keeps text."""
    return ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript())))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str = "", **entry: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **entry}


def result(text: str, *, id: str, name: str = "find_order") -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_name": name, "tool_call_id": id}
