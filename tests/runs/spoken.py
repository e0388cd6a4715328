"""Answers that are spoken piece by piece, at the pace that a test sets.

::

    pause = Pause()
    here.model.says(spoken("It is ", pause, "on its way."))
    pause.wait_until_reached()
    ...  # the model has said the beginning, and says nothing more
    pause.end()
"""

import json
from threading import Event
from typing import Any

from tests.runs.meeting import PATIENCE
from tests.scripted_server import Behaviour, Wire


class Pause:
    """The model stops here until the test lets it go on; or for so many seconds."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._reached, self._over = Event(), Event()

    def end(self) -> None:
        self._over.set()

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE), "The model did not come so far."

    def hold(self, wire: Wire) -> None:
        self._reached.set()
        if self.seconds is not None:
            return wire.wait(self.seconds)
        while not self._over.wait(0.05):
            wire.wait(0)


class Humming(Pause):
    """The model goes on saying nothing much until the test lets it come to the point."""

    def hold(self, wire: Wire) -> None:
        self._reached.set()
        while not self._over.wait(0.02):
            wire.chunk(_event("m"))
            wire.wait(0)


class Listening:
    """Whether the client is still there is found out by talking on; ``gone`` is set when it is not."""

    def __init__(self) -> None:
        self.gone = Event()

    def wait_until_gone(self) -> None:
        assert self.gone.wait(PATIENCE), "The client never hung up."

    def hold(self, wire: Wire) -> None:
        try:
            while True:
                wire.chunk(b": still here\n\n")
                wire.wait(0.01)
        finally:
            self.gone.set()


def spoken(*steps: Any) -> Behaviour:
    """Texts are pieces of the answer, dicts are deltas as they stand, all else is held. Ends well."""
    return told(*steps, END, "[DONE]")


def told(*steps: Any) -> Behaviour:
    """The same, without an end."""

    def behave(wire: Wire) -> None:
        wire.head(content_type="text/event-stream", transfer_encoding="chunked")
        for step in steps:
            if isinstance(step, dict | str):
                wire.chunk(_event(step))
            else:
                step.hold(wire)
        wire.chunk(b"")

    return behave


def thought(text: str) -> dict[str, str]:
    return {"reasoning_content": text}


def called(name: str, *pieces: str) -> list[dict[str, Any]]:
    """The deltas of one call, its arguments in these pieces."""
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [one]} for one in [head, *rest]]


END: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLED: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def _event(step: dict[str, Any] | str) -> bytes:
    if step == "[DONE]":
        return b"data: [DONE]\n\n"
    delta = {"content": step} if isinstance(step, str) else step
    chunk = delta if "choices" in delta else {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return b"data: %b\n\n" % json.dumps({"id": "chatcmpl-1", "model": "practice", **chunk}).encode()
