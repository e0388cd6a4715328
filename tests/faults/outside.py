"""The world outside the database: a model, and a service whose effects cannot be undone. Both take their time.

The service counts what arrives. Now and then it is busy, or hangs up, before or after the effect, as real ones do; the
model has its bad moments as well.
"""

from collections import Counter, defaultdict
from random import Random
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.faults.plans import next_message, unanswered
from tests.faults.times import TOOL_TIMEOUT
from tests.loopback import answer, close_at_once, events
from tests.scripted_server import Behaviour, SeenRequest, Server, Wire

Call = tuple[str, str]
"""The run's id and the call's id."""

_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


class Outside(Server):
    """``sent`` counts arrivals by call, ``charged`` those of each key by call; ``broken`` names wrong requests."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(f"{seed}:outside")
        self.counting = Lock()
        self.sent: Counter[Call] = Counter()
        self.charged: defaultdict[Call, Counter[str]] = defaultdict(Counter)
        self.denied: dict[Call, float] = {}
        self.late = 0
        self.broken: list[str] = []
        self.asked = 0
        super().__init__(self.serve_one)

    def next_behaviour(self, request: SeenRequest) -> Behaviour:
        return self.serve_one  # and keep none of the requests: there are many

    def serve_one(self, wire: Wire) -> Behaviour:
        if len(wire.request.body) < int(wire.request.headers.get("content-length", 0)):
            return close_at_once()  # whoever was sending it is dead
        url = urlsplit(wire.request.path)
        if url.path == "/v1/chat/completions":
            return self.say(wire)
        if wire.request.method == "GET":
            facts = {name: values[0] for name, values in parse_qs(url.query).items()}
            return answer(json={"happened": self.happened(facts["run"], facts["call"])})
        return self.take_effect(wire, url.path.removeprefix("/"))

    def say(self, wire: Wire) -> Behaviour:
        wire.wait(self.latency())
        body = wire.request.json()
        with self.counting:
            self.asked += 1
            self.broken += [f"request without one result for {call}" for call in unanswered(body["messages"])]
        if self.dice.random() < 0.02:
            return self.dice.choice((answer(json={"error": {"message": "busy"}}, status=503), close_at_once()))
        message = next_message(body["messages"])
        return _streamed(message) if body.get("stream") else _whole(message)

    def take_effect(self, wire: Wire, kind: str) -> Behaviour:
        facts = wire.request.json()
        wire.wait(self.latency())
        mood = self.dice.random()
        if mood < 0.03:
            return close_at_once()
        if mood < 0.06:
            return answer(json={"done": False})
        if not self.count(kind, (facts["run"], facts["call"]), facts):
            return answer(json={"done": False})
        if mood > 0.97:
            return close_at_once()
        wire.wait(self.latency())
        return answer(json={"done": True})

    def count(self, kind: str, call: Call, facts: dict[str, Any]) -> bool:
        """What takes longer than a tool may, and comes after a person was told that nothing has come, is not taken."""
        with self.counting:
            if kind == "charge":
                self.charged[call][facts["key"]] += 1
            elif facts["begun"] < self.denied.get(call, 0) and monotonic() > facts["begun"] + TOOL_TIMEOUT:
                self.late += 1
                return False
            else:
                self.sent[call] += 1
            return True

    def happened(self, run: str, call: str) -> bool:
        with self.counting:
            if self.sent[run, call] or self.charged.get((run, call)):
                return True
            self.denied[run, call] = monotonic()
            return False

    def latency(self) -> float:
        return self.dice.choice((0.001, 0.005, 0.01, 0.02, 0.05, 0.1))


def _whole(message: dict[str, Any]) -> Behaviour:
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(message)}
    return answer(json={**_head("chat.completion"), "choices": [choice], "usage": _USAGE})


def _streamed(message: dict[str, Any]) -> Behaviour:
    """The words in pieces, then each call in two, then the end."""
    words = [{"content": word + " "} for word in message["content"].split()]
    words[-1]["content"] = words[-1]["content"].rstrip()
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *words]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]})
    head = _head("chat.completion.chunk")
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": _finish_reason(message)}
    return events(*chunks, {**head, "choices": [end]}, {**head, "choices": [], "usage": _USAGE})


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": "practice"}


def _finish_reason(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"
