"""Short ways to a Gemini adapter, and to answers of generateContent, whole and streamed."""

import json
from typing import Any

from llm_foundation.chat import ChatMessage, CompletionResponse
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.gemini.adapter import GeminiAdapter
from llm_foundation.providers.registry import build
from tests.providers.builders import make_request, sent

FLASH_2 = "gemini-2.0-flash"
FLASH_2_5 = "gemini-2.5-flash"
PRO_2_5 = "gemini-2.5-pro"
FLASH_3 = "gemini-3-flash-preview"
PRO_3_1 = "gemini-3.1-pro-preview"

VERTEX = "https://aiplatform.googleapis.com/v1"


def make_gemini(
    model: str = FLASH_3, *, key: str | None = "a-key", base_url: str = "", options: Any = None, **spec: Any
) -> GeminiAdapter:
    provider = ProviderSpec(
        name="shop", adapter="gemini", base_url=base_url, profile=spec.pop("profile", ""), options=options or {}
    )
    capabilities = {"supports_json_schema": True} | spec
    adapter = build(provider, ModelSpec(model_id=model, **capabilities), Secret(key) if key is not None else None)
    assert isinstance(adapter, GeminiAdapter)
    return adapter


def called(name: str = "find_order", *, signature: str = "", id: str | None = None, **args: Any) -> dict[str, Any]:
    """A part with a call in it."""
    call = {"name": name, "args": args} | ({} if id is None else {"id": id})
    return {"functionCall": call} | ({"thoughtSignature": signature} if signature else {})


def said(text: str, *, signature: str = "", thought: bool = False) -> dict[str, Any]:
    return (
        {"text": text} | ({"thought": True} if thought else {}) | ({"thoughtSignature": signature} if signature else {})
    )


def answer(*parts: dict[str, Any], finish: Any = "STOP", **envelope: Any) -> dict[str, Any]:
    """A whole answer, or a chunk of one; ``finish=None`` for one that is not the last."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    candidate |= {} if finish is None else {"finishReason": finish}
    return {"candidates": [candidate], "modelVersion": "gemini-3", "responseId": "r-1", **envelope}


def stream_of(*chunks: Any) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks).encode()


def in_chunks(*parts: dict[str, Any], **envelope: Any) -> bytes:
    """An answer as a stream with one part a chunk."""
    return stream_of(*(answer(part, finish=None) for part in parts), answer(**envelope))


def read(adapter: GeminiAdapter, *parts: dict[str, Any], **envelope: Any) -> CompletionResponse:
    return adapter.response(200, {}, json.dumps(answer(*parts, **envelope)).encode())


def contents_sent(adapter: GeminiAdapter, *messages: ChatMessage) -> Any:
    return sent(adapter, make_request(*messages))["contents"]


def stored(message: ChatMessage) -> ChatMessage:
    """The message as it comes back from a database that keeps text."""
    return ChatMessage.from_dict(json.loads(json.dumps(message.to_transcript())))


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return user(*parts) | {"role": "model"}


def result(name: str, text: str, *, id: str | None = None) -> dict[str, Any]:
    named = {"name": name, "response": {"result": text}}
    return {"functionResponse": named if id is None else {"id": id, **named}}
