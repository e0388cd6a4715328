"""A turn of our own on its way back: its items as they came, but for what was changed since or never was valid."""

import json
from typing import Any

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.providers.call_ids import IdCodec
from llm_foundation.providers.openai_responses.items import CALLS, kind_of_item, passages, visible_text
from llm_foundation.providers.tool_names import wire_name

Items = list[dict[str, Any]]


def replayed(items: Items, message: ChatMessage, call_id: IdCodec) -> Items:
    """The items with the calls as they can be sent, and with the text that the message has now."""
    calls = iter(message.tool_calls)
    items = [_call(item, next(calls), call_id) if kind_of_item(item) in CALLS else item for item in items]
    if visible_text(items) != message.text:
        items = _retold(items, message.text)
    return _without_last_reasoning(items)


def _call(item: dict[str, Any], call: ToolCall, call_id: IdCodec) -> dict[str, Any]:
    """A call as it came. Our id stands for one that was missing or repeated, as on its result (Switchyard#502).

    Text that is no JSON object would fail with every replay (pydantic-ai#7042), so a valid object stands for it.
    """
    field = CALLS[kind_of_item(item)]
    sent = item | {"call_id": call_id(call.id), "name": wire_name(call.name)}
    if field == "input":
        sent["input"] = item.get("input") or ""
    elif not _is_json_object(item.get("arguments")):
        sent["arguments"] = json.dumps(call.wire_arguments(), ensure_ascii=False, separators=(",", ":"))
    return sent


def _is_json_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _retold(items: Items, text: str) -> Items:
    """The turn with a text that was rewritten since: it stands where the first one stood, and the others go.

    With a message that goes, the reasoning before it goes as well (vercel/ai#8379).
    """
    told: Items = []
    place = next((place for place, item in enumerate(items) if _speaks(item)), None)
    for position, item in enumerate(items):
        if not _speaks(item):
            told.append(item)
        elif position == place and text:
            told.append(item | {"content": [{"type": "output_text", "text": text, "annotations": []}]})
        else:
            told = _without_last_reasoning(told)
    if place is not None or not text:
        return told
    said = {"role": "assistant", "content": text}
    return [said, *told] if _without_last_reasoning(told) else [*told, said]


def _speaks(item: dict[str, Any]) -> bool:
    return kind_of_item(item) == "message" and any(True for _ in passages(item))


def _without_last_reasoning(items: Items) -> Items:
    """Reasoning that has lost what followed it, for example to the token limit, is refused (vercel/ai#7099)."""
    kept = len(items)
    while kept and kind_of_item(items[kept - 1]) == "reasoning":
        kept -= 1
    return items[:kept]
