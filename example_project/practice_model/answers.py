"""Replies in the Chat Completions format: whole, or as the chunks of a stream."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from example_project.practice_model.scene import MODEL_ID, Call
from example_project.practice_model.script import Reply

CHARACTERS_PER_TOKEN = 4  # a rule of thumb: the practice model has no tokens of its own


def models() -> dict[str, Any]:
    return {"object": "list", "data": [{"id": MODEL_ID, "object": "model", "created": 0, "owned_by": "example"}]}


def completion(reply: Reply, *, asked: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [wire_call(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(reply), "logprobs": None}
    return {**envelope("chat.completion"), "choices": [choice], "usage": usage(reply, asked=asked)}


def chunks(reply: Reply, *, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same answer in pieces: the role, the text or the calls, the end, and the usage where it is asked for."""
    frame = envelope("chat.completion.chunk")
    wants_usage = (asked.get("stream_options") or {}).get("include_usage") is True
    if wants_usage:
        frame["usage"] = None
    for delta in deltas(reply):
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason(reply)}]}
    if wants_usage:
        yield {**frame, "choices": [], "usage": usage(reply, asked=asked)}


def deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if reply.text else None}
    for word in re.findall(r"\S+\s*", reply.text):
        yield {"content": word}
    for index, call in enumerate(reply.calls):
        whole = wire_call(call)
        arguments = whole["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **whole, "function": {"name": call.name, "arguments": ""}}]}
        for start in range(0, len(arguments), 7):
            yield {"tool_calls": [{"index": index, "function": {"arguments": arguments[start : start + 7]}}]}


def error(message: str, *, kind: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def envelope(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": int(time.time()), "model": MODEL_ID}


def wire_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{uuid4().hex[:24]}", "type": "function", "function": function}


def finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def usage(reply: Reply, *, asked: Mapping[str, Any]) -> dict[str, int]:
    read = tokens(json.dumps([asked["messages"], asked.get("tools")]))
    written = tokens(reply.text) + sum(tokens(json.dumps(call.arguments)) for call in reply.calls)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
