"""Five wire formats as a model behind each of them speaks: in words, in calls, and with context of its own.

A family knows how its answers look: ``turn`` is what a model says, ``own`` what of it has to come back unchanged.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llm_foundation.models import LanguageModel, Provider
from tests.loopback import answer
from tests.scripted_server import Behaviour, Server


@dataclass(frozen=True)
class Turn:
    """A text, one call, and context that holds the mark."""

    mark: str
    said: str
    tool: str
    arguments: dict[str, str]
    call_id: str

    @property
    def function(self) -> dict[str, Any]:
        return {"name": self.tool, "arguments": self.arguments}

    @property
    def written(self) -> dict[str, str]:
        return {"name": self.tool, "arguments": json.dumps(self.arguments)}


@dataclass(frozen=True)
class Family:
    name: str
    adapter: str
    turn: Callable[[Turn], Any]
    words: Callable[[str], Any]
    around: Callable[[Any], dict[str, Any]]
    own: Callable[[Turn], list[Any]]
    model_id: str = "practice"
    options: dict[str, Any] = field(default_factory=dict)
    path: str = ""

    def calls(self, turn: Turn) -> Behaviour:
        return answer(json=self.around(self.turn(turn)))

    def says(self, text: str) -> Behaviour:
        return answer(json=self.around(self.words(text)))

    def context(self, turn: Turn) -> list[str]:
        """The pieces in which it goes back; without their outermost brackets, for each stands in something larger."""
        return [json.dumps(piece, separators=(",", ":"))[1:-1] for piece in self.own(turn)]

    def serve(self, server: Server, name: str) -> LanguageModel:
        """A model of this family behind a server."""
        provider = Provider.objects.create(
            name=name,
            adapter=self.adapter,
            profile="custom" if self.adapter == "openai_compatible" else "",
            base_url=server.url + self.path,
            trust_zone="local",
            options=self.options,
        )
        provider.set_secret(f"key-of-{name}")
        provider.save()
        return LanguageModel.objects.create(provider=provider, model_id=self.model_id, supports_tools=True)


def _signature(turn: Turn) -> dict[str, Any]:
    """Where Gemini's face for OpenAI's clients has it."""
    return {"extra_content": {"google": {"thought_signature": turn.mark}}}


def _chat(turn: Turn) -> dict[str, Any]:
    call = {"id": turn.call_id, "type": "function", "function": turn.written, **_signature(turn)}
    return {
        "role": "assistant",
        "content": turn.said,
        "reasoning_content": f"thinking {turn.mark}",
        "tool_calls": [call],
    }


def _around_chat(message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "practice", "choices": [choice]}


def _responses(turn: Turn) -> list[dict[str, Any]]:
    part = {"type": "output_text", "annotations": [], "text": turn.said}
    return [
        {"id": f"rs_{turn.mark}", "type": "reasoning", "summary": [], "encrypted_content": turn.mark},
        {"id": f"msg_{turn.mark}", "type": "message", "status": "completed", "content": [part], "role": "assistant"},
        {
            "id": f"fc_{turn.mark}",
            "type": "function_call",
            "status": "completed",
            "call_id": turn.call_id,
            **turn.written,
        },
    ]


def _around_responses(items: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "model": "practice", "status": "completed", "output": items}


def _responses_words(text: str) -> list[dict[str, Any]]:
    part = {"type": "output_text", "annotations": [], "text": text}
    return [{"id": "msg_9", "type": "message", "status": "completed", "content": [part], "role": "assistant"}]


def _anthropic(turn: Turn) -> list[dict[str, Any]]:
    return [
        {"type": "thinking", "thinking": "A refund, then.", "signature": turn.mark},
        {"type": "redacted_thinking", "data": f"hidden {turn.mark}"},
        {"type": "text", "text": turn.said},
        {"type": "tool_use", "id": turn.call_id, "name": turn.tool, "input": turn.arguments},
    ]


def _around_anthropic(content: Any) -> dict[str, Any]:
    reason = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 100, "output_tokens": 20}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "practice"}
    return {**head, "content": content, "stop_reason": reason, "usage": usage}


def _gemini(turn: Turn) -> list[dict[str, Any]]:
    call = {"name": turn.tool, "args": turn.arguments, "id": turn.call_id}
    return [
        {"text": "A refund, then.", "thought": True, "thoughtSignature": f"thought {turn.mark}"},
        {"text": turn.said},
        {"functionCall": call, "thoughtSignature": turn.mark},
    ]


def _around_gemini(parts: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": "gemini-3-pro-preview", "responseId": "r1"}


def _ollama(turn: Turn) -> dict[str, Any]:
    call = {"id": turn.call_id, "function": turn.function, "signature": turn.mark}
    return {"role": "assistant", "content": turn.said, "thinking": f"thinking {turn.mark}", "tool_calls": [call]}


def _around_ollama(message: Any) -> dict[str, Any]:
    counts = {"prompt_eval_count": 100, "eval_count": 20}
    return {"model": "practice", "message": message, "done": True, "done_reason": "stop", **counts}


FAMILIES = [
    Family(
        name="chat",
        adapter="openai_compatible",
        turn=_chat,
        around=_around_chat,
        words=lambda text: {"role": "assistant", "content": text},
        own=lambda turn: [{"reasoning_content": f"thinking {turn.mark}"}, _signature(turn)],
        path="/v1",
    ),
    Family(
        name="responses",
        adapter="openai_compatible",
        turn=_responses,
        around=_around_responses,
        words=_responses_words,
        own=lambda turn: [_responses(turn)],
        options={"api": "responses"},
        path="/v1",
    ),
    Family(
        name="anthropic",
        adapter="anthropic",
        turn=_anthropic,
        around=_around_anthropic,
        words=lambda text: [{"type": "text", "text": text}],
        own=lambda turn: [_anthropic(turn)],
        model_id="claude-sonnet-4-5",
    ),
    Family(
        name="gemini",
        adapter="gemini",
        turn=_gemini,
        around=_around_gemini,
        words=lambda text: [{"text": text}],
        own=lambda turn: [_gemini(turn)],
        model_id="gemini-3-pro-preview",
        path="/v1beta",
    ),
    Family(
        name="ollama",
        adapter="ollama",
        turn=_ollama,
        around=_around_ollama,
        words=lambda text: {"role": "assistant", "content": text},
        own=lambda turn: [{"thinking": f"thinking {turn.mark}"}, {"signature": turn.mark}],
    ),
]
