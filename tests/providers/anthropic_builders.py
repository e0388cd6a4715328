"""Short ways to a Claude adapter, and to answers of the Messages API, whole and streamed."""

import json
from typing import Any

from llm_foundation.chat import ChatMessage
from llm_foundation.providers.anthropic.adapter import AnthropicAdapter
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build
from tests.providers.builders import HELLO, answered, messages_sent

SONNET_4_5 = "claude-sonnet-4-5"
SONNET_4_6 = "claude-sonnet-4-6"
SONNET_5_5 = "claude-sonnet-5-5"
OPUS_4_8 = "claude-opus-4-8"
OPUS_5_5 = "claude-opus-5-5"

THOUGHT = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZW5j"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tea"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "url": "https://tea.example", "title": "Tea", "encrypted_content": "ZW5j"}
    ],
}


def make_claude(
    model: str = SONNET_4_5, *, key: str | None = "a-key", base_url: str = "", options: Any = None, **spec: Any
) -> AnthropicAdapter:
    """An adapter. Without a mark for the cache, unless ``options`` ask for one: those have tests of their own."""
    provider = ProviderSpec(
        name="shop", adapter="anthropic", base_url=base_url, options={"prompt_cache": "off"} | (options or {})
    )
    adapter = build(provider, ModelSpec(model_id=model, **spec), Secret(key) if key is not None else None)
    assert isinstance(adapter, AnthropicAdapter)
    return adapter


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def used(name: str = "find_order", *, id: str = "toolu_1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id} | ({"content": list(content)} if content else {})


def user(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "content": [said(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return user(*blocks) | {"role": "assistant"}


def message(*content: dict[str, Any] | str, stop: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    """A whole answer."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": user(*content)["content"],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 7},
        **fields,
    }


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def start(**fields: Any) -> dict[str, Any]:
    """The head of a streamed answer."""
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
    }
    return event("message_start", message=head | {"usage": {"input_tokens": 5, "output_tokens": 1}} | fields)


def block(index: int, opened: dict[str, Any], *deltas: dict[str, Any], stop: bool = True) -> list[dict[str, Any]]:
    """The events of one block."""
    events = [event("content_block_start", index=index, content_block=opened)]
    events += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return events + ([event("content_block_stop", index=index)] if stop else [])


def text_block(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, said(""), *({"type": "text_delta", "text": piece} for piece in pieces))


def call_block(index: int, *pieces: str, name: str = "find_order", id: str = "toolu_1", stop: bool = True) -> Any:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, used(name, id=id), *deltas, stop=stop)


def end(stop: str | None = "end_turn", *, usage: Any = None, **delta: Any) -> list[dict[str, Any]]:
    usage = {"output_tokens": 7} if usage is None else usage
    return [event("message_delta", delta={"stop_reason": stop, **delta}, usage=usage), event("message_stop")]


def stream(*events: Any) -> bytes:
    """Events, or lists of events, as the bytes of a stream."""
    flat = [one for entry in events for one in (entry if isinstance(entry, list) else [entry])]
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in flat).encode()


def as_stream(whole: dict[str, Any], *, size: int = 3) -> bytes:
    """A whole answer as the stream that says the same, its texts and inputs in pieces of this size."""
    events: list[Any] = [start(**{key: whole[key] for key in ("id", "model")}, usage=whole["usage"])]
    for index, content in enumerate(whole["content"]):
        events.append(block(index, *_pieces(content, size)))
    delta = {
        key: value
        for key, value in whole.items()
        if key in ("stop_reason", "stop_sequence", "stop_details", "container")
    }
    events += [event("message_delta", delta=delta, usage=whole["usage"]), event("message_stop")]
    return stream(*events)


def _pieces(content: dict[str, Any], size: int) -> list[dict[str, Any]]:
    def cut(text: str) -> list[str]:
        return [text[place : place + size] for place in range(0, len(text), size)]

    if content["type"] == "text":
        cited = [{"type": "citations_delta", "citation": entry} for entry in content.get("citations") or []]
        opened = {key: value for key, value in content.items() if key != "citations"} | {"text": ""}
        return [opened, *cited, *({"type": "text_delta", "text": piece} for piece in cut(content["text"]))]
    if content["type"] == "thinking":
        thought = ({"type": "thinking_delta", "thinking": piece} for piece in cut(content["thinking"]))
        signed = {"type": "signature_delta", "signature": content.get("signature", "")}
        return [content | {"thinking": "", "signature": ""}, *thought, signed]
    if "input" in content:
        text = json.dumps(content["input"])
        return [content | {"input": {}}, *({"type": "input_json_delta", "partial_json": piece} for piece in cut(text))]
    return [content]


def turn(adapter, *content: dict[str, Any], stop: str = "end_turn", **fields: Any) -> ChatMessage:
    return answered(adapter, message(*content, stop=stop, **fields)).to_message()


def replayed(adapter, spoken: ChatMessage, *, stored: bool = False) -> list[dict[str, Any]]:
    """What the turn is on the wire of a next request, straight away or after it was stored as text."""
    kept = ChatMessage.from_dict(json.loads(json.dumps(spoken.to_transcript()))) if stored else spoken
    return messages_sent(adapter, HELLO, kept, HELLO)[1]["content"]
