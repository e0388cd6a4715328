"""A model on loopback that calls the tool it is offered, and answers that tool's result with words; also as a stream.

Run by itself, so that what is measured does not share its interpreter: ``python -m benchmarks.durable_model`` prints
its port and serves until its input closes.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from benchmarks.model_server import CALL, WORDS, Model, Server, completion

OFFERED = re.compile(rb'"name":"(\w+)"')


class Desk(Model):
    def handle(self) -> None:
        while length := self.body_length():
            body = self.rfile.read(length).replace(b": ", b":")
            message = answer(body)
            reason = "tool_calls" if message["content"] is None else "stop"
            self.wfile.write((streamed if b'"stream":true' in body else completion)(message, reason))


def answer(body: bytes) -> Any:
    """The last message counts, of a transcript of any length."""
    if body.rfind(b'"role":"tool"') > body.rfind(b'"role":"user"'):
        return WORDS
    offered = OFFERED.search(body, body.rindex(b'"tools":'))
    assert offered is not None
    [made] = CALL["tool_calls"]
    return {**CALL, "tool_calls": [{**made, "function": {**made["function"], "name": offered[1].decode()}}]}


def streamed(message: Any, finish_reason: str) -> bytes:
    delta = {**message, "tool_calls": [{"index": 0, **made} for made in message.get("tool_calls", ())]}
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]},
        {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}},
    ]
    head: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "benchmark"}
    body = b"".join(b"data: %s\n\n" % json.dumps({**head, **chunk}).encode() for chunk in chunks) + b"data: [DONE]\n\n"
    start = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
    return start % len(body) + body


@contextmanager
def serving() -> Iterator[str]:
    """The origin of such a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.durable_model"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


def main() -> None:
    with Server(("127.0.0.1", 0), Desk) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
