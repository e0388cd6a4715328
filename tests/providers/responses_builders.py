"""Short ways to a Responses adapter, and to answers and streams in that format."""

import json
from typing import Any

from llm_foundation.chat import ChatMessage, ChatRequest
from llm_foundation.providers.openai.adapter import OpenAICompatibleAdapter
from tests.providers.builders import answered, make_adapter, make_request, sent

OPENAI = "https://api.openai.com/v1"
Item = dict[str, Any]


def responses_adapter(profile: str = "openai", *, model: str = "gpt-5", **spec: Any) -> OpenAICompatibleAdapter:
    """An adapter that always uses Responses."""
    options = {"api": "responses"} | spec.pop("options", {})
    return make_adapter(profile, model=model, options=options, **spec)


def input_sent(adapter: OpenAICompatibleAdapter, *messages: ChatMessage, **fields: Any) -> list[Item]:
    return sent(adapter, make_request(*messages, **fields))["input"]


def options_sent(adapter: OpenAICompatibleAdapter, **options: Any) -> dict[str, Any]:
    """What of a body comes from the options."""
    body = sent(adapter, make_request(options=options))
    return {key: value for key, value in body.items() if key not in ("input", "model", "store", "include")}


def dropped(adapter: OpenAICompatibleAdapter, *, request: ChatRequest | None = None, **options: Any) -> list[str]:
    asked = request or make_request(options=options)
    answer = adapter.response(200, {}, json.dumps(output(said("x"))).encode(), chat_request=asked)
    return list(answer.metadata.get("dropped_options", []))


def thought(encrypted: str = "gAAA", *, id: str = "rs_1", summary: tuple[str, ...] = (), **more: Any) -> Item:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": id, "type": "reasoning", "summary": parts, "encrypted_content": encrypted, **more}


def said(text: str, *, id: str = "msg_1", **more: Any) -> Item:
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return {"id": id, "type": "message", "status": "completed", "content": [part], "role": "assistant", **more}


def called(name: str = "find_order", arguments: Any = "{}", *, call_id: str = "call_1", **more: Any) -> Item:
    item = {"id": f"fc_{call_id}", "type": "function_call", "status": "completed", "arguments": arguments}
    return item | {"call_id": call_id, "name": name, **more}


def written(name: str, text: str, *, call_id: str = "call_1") -> Item:
    """A call of a tool that takes free text."""
    item = {"id": f"ctc_{call_id}", "type": "custom_tool_call", "status": "completed"}
    return item | {"call_id": call_id, "name": name, "input": text}


def output(*items: Item, status: str = "completed", **envelope: Any) -> dict[str, Any]:
    """A whole answer."""
    head = {"id": "resp_1", "object": "response", "model": "gpt-5-2025-08-07", "error": None}
    return head | {"status": status, "output": list(items), **envelope}


def events(*told: tuple[str, dict[str, Any]]) -> bytes:
    """A stream of these events."""
    numbered = (
        {"type": f"response.{kind}" if kind != "error" else kind, "sequence_number": place, **fields}
        for place, (kind, fields) in enumerate(told)
    )
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in numbered).encode()


def end(*items: Item, status: str = "completed", **envelope: Any) -> tuple[str, dict[str, Any]]:
    return status, {"response": output(*items, status=status, **envelope)}


def delta(text: str, *, index: int = 0, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "output_text.delta", {"output_index": index, "content_index": 0, "item_id": "msg_1", "delta": text, **fields}


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def streaming(*items: Item, size: int = 3) -> list[tuple[str, dict[str, Any]]]:
    """The events by which OpenAI tells of these items, without an end."""
    told: list[tuple[str, dict[str, Any]]] = [("created", {"response": output(status="in_progress")})]
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        empty = {"arguments": "", "content": [], "summary": [], "input": "", "status": "in_progress"}
        head = item | {key: value for key, value in empty.items() if key in item}
        told.append(("output_item.added", {"output_index": index, "item": head}))
        told += [(kind, place | fields) for kind, fields in _deltas(item, size)]
        told.append(("output_item.done", {"output_index": index, "item": item}))
    return told


def _deltas(item: Item, size: int) -> list[tuple[str, dict[str, Any]]]:
    if item["type"] == "function_call":
        return [("function_call_arguments.delta", {"delta": piece}) for piece in pieces(item["arguments"], size)]
    if item["type"] == "custom_tool_call":
        return [("custom_tool_call_input.delta", {"delta": piece}) for piece in pieces(item["input"], size)]
    told: list[tuple[str, dict[str, Any]]] = []
    for place, part in enumerate(item.get("summary", ())):
        told += _told("reasoning_summary_text", {"summary_index": place}, part["text"], size)
    for place, part in enumerate(item.get("content") or ()):
        kind, text = (part["type"], part.get("text") or part.get("refusal", ""))
        told += _told(kind, {"content_index": place}, text, size)
    return told


def _told(kind: str, place: dict[str, int], text: str, size: int) -> list[tuple[str, dict[str, Any]]]:
    whole = {"refusal": text} if kind == "refusal" else {"text": text}
    return [
        *((f"{kind}.delta", place | {"delta": piece}) for piece in pieces(text, size)),
        (f"{kind}.done", place | whole),
    ]


# --- Turns of our own -------------------------------------------------------------------------------------------------
ADAPTER = responses_adapter()


def turn(*items: Item, adapter: OpenAICompatibleAdapter = ADAPTER, **envelope: Any) -> ChatMessage:
    """The message that an answer with these items becomes."""
    return answered(adapter, output(*items, **envelope)).to_message()


def results(message: ChatMessage) -> list[ChatMessage]:
    return [ChatMessage.tool_result(made.id, f"result {place}") for place, made in enumerate(message.tool_calls)]


def replayed(message: ChatMessage, adapter: OpenAICompatibleAdapter = ADAPTER) -> list[Item]:
    """What the turn and its results are in the next request."""
    hello = ChatMessage.user("Hello")
    return input_sent(adapter, hello, message, *results(message), hello)[1:-1]
