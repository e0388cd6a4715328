"""Recorded Chat Completions conversations: later requests, rebuilt from our own reading of the earlier answers."""

import json
from collections.abc import Iterator
from typing import Any

from llm_foundation.providers.recordings.chat import STATE_FIELDS
from llm_foundation.providers.recordings.replay import replayed
from tests.providers.corpus import needs_corpus, sequences

pytestmark = needs_corpus

WRITTEN_OUT = "the recorded client writes thinking into the text, where it leaks into answers; we do not"
MARKS_LOST = "the recorded client drops marks of the provider's context; it goes back whole"
OWN_FIELD = "the recorded client gives thinking back in a field that this face of Ollama does not read"

NAMED = {
    "pai:a311c2a5": WRITTEN_OUT,
    "rubyllm:1685dc52": MARKS_LOST,
    "rubyllm:d4c4d581": MARKS_LOST,
    "rubyllm:b36991b5": MARKS_LOST,
    "rubyllm:64e9fa49": OWN_FIELD,
    "rubyllm:387cdaa5": OWN_FIELD,
    "rubyllm:aaae5e03": OWN_FIELD,
    "rubyllm:7e47621a": OWN_FIELD,
    "rubyllm:e02b2bcf": OWN_FIELD,
    "rubyllm:f1e7ce8b": OWN_FIELD,
    "rubyllm:af275e2f": OWN_FIELD,
    "rubyllm:b190e747": OWN_FIELD,
    "rubyllm:753954c4": OWN_FIELD,
}

Word = tuple[Any, ...]


def told(body: dict[str, Any]) -> Iterator[Word]:
    """What the messages of a request say, in order: who speaks, calls and results by id, and the provider's context."""
    for message in body["messages"]:
        if message["role"] == "assistant":
            yield "text", _text(message.get("content")).strip()
            yield from [("call", call["id"], call["function"]["name"]) for call in message.get("tool_calls") or ()]
            yield from _context(message)
        elif message["role"] == "tool":
            yield "result", message["tool_call_id"]
        else:
            yield ("system" if message["role"] == "developer" else message["role"],)


def _text(content: Any) -> str:
    chunks = [{"type": "text", "text": content or ""}] if not isinstance(content, list) else content
    return "".join(chunk["text"] for chunk in chunks if chunk["type"] == "text")


def _context(message: dict[str, Any]) -> Iterator[Word]:
    yield from [(name, message[name]) for name in STATE_FIELDS if message.get(name)]
    content = message.get("content")
    if isinstance(content, list) and any(chunk["type"] != "text" for chunk in content):
        yield "content", content


def laid_beside() -> dict[str, list[tuple[list[Word], list[Word]]]]:
    """What each later request of a recording tells: the recorded one, and ours."""
    return {
        name: [
            (list(told(step.request)), list(told(body))) for step, body in zip(steps[1:], replayed(steps), strict=True)
        ]
        for name, steps in sequences("chat").items()
    }


def test_later_requests_are_rebuilt_with_the_same_context_ids_and_order():
    pairs = laid_beside()
    assert len(pairs) == 65
    assert {name for name, steps in pairs.items() if any(theirs != ours for theirs, ours in steps)} == NAMED.keys()


def test_where_the_client_does_otherwise_all_but_that_is_the_same():
    pairs = laid_beside()
    for name, reason in NAMED.items():
        for theirs, ours in pairs[name]:
            assert _without(theirs, reason) == _without(ours, reason), name


def _without(words: list[Word], reason: str) -> list[Word]:
    """The words without what a reason is about."""
    if reason is OWN_FIELD:
        return [word for word in words if word[0] != "reasoning_content"]
    if reason is WRITTEN_OUT:
        return [("text", "") if word[0] == "text" and word[1].startswith("<think>") else word for word in words]
    return json.loads(json.dumps(words), object_hook=_without_marks)


def _without_marks(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("closed", "format", "index")}
