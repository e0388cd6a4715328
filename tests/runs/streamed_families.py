"""The answers of ``wire_families`` as each wire format streams them, in small pieces."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.loopback import chunks
from tests.providers import responses_builders
from tests.providers.anthropic_builders import as_stream
from tests.runs.wire_families import Family
from tests.scripted_server import Behaviour

_SIZE: Final = 4


def as_streamed(family: Family, said: Any) -> Behaviour:
    """``said`` is what the family's ``turn`` or ``words`` gives."""
    return _STREAMS[family.name](family.around(said))


def _pieces(text: str) -> list[str]:
    return [text[place : place + _SIZE] for place in range(0, len(text), _SIZE)]


def _events(*told: Any) -> Behaviour:
    return chunks(*(b"data: %b\n\n" % (one if isinstance(one, bytes) else json.dumps(one).encode()) for one in told))


def _chat(whole: dict[str, Any]) -> Behaviour:
    [choice] = whole["choices"]
    head = {key: whole[key] for key in ("id", "model")}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    deltas = [chunk(delta) for delta in _chat_deltas(choice["message"])]
    return _events(*deltas, chunk({}, choice["finish_reason"]), b"[DONE]")


def _chat_deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant"}
    for key in ("reasoning_content", "content"):
        for piece in _pieces(message.get(key) or ""):
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        yield {"tool_calls": [call | {"index": index, "function": call["function"] | {"arguments": ""}}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _responses(whole: dict[str, Any]) -> Behaviour:
    told = responses_builders.streaming(*whole["output"], size=_SIZE)
    return chunks(responses_builders.events(*told, ("completed", {"response": whole})))


def _anthropic(whole: dict[str, Any]) -> Behaviour:
    return chunks(as_stream(whole, size=_SIZE))


def _gemini(whole: dict[str, Any]) -> Behaviour:
    [candidate] = whole["candidates"]
    head = {key: whole[key] for key in ("modelVersion", "responseId")}
    parts = [
        head | {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
        for part in candidate["content"]["parts"]
    ]
    return _events(*parts, head | {"candidates": [{"finishReason": candidate["finishReason"], "index": 0}]})


def _ollama(whole: dict[str, Any]) -> Behaviour:
    message = whole["message"]
    told: list[dict[str, Any]] = [
        {key: piece} for key in ("thinking", "content") for piece in _pieces(message.get(key) or "")
    ]
    told += [{"content": "", "tool_calls": [call]} for call in message.get("tool_calls", ())]
    lines: list[dict[str, Any]] = [
        {"model": whole["model"], "message": {"role": "assistant", **one}, "done": False} for one in told
    ]
    last = whole | {"message": {"role": "assistant", "content": ""}}
    written = [json.dumps(line).encode() + b"\n" for line in [*lines, last]]
    return chunks(*written, content_type="application/x-ndjson")


_STREAMS: Final[dict[str, Callable[[dict[str, Any]], Behaviour]]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
