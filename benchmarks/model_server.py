"""A model on loopback that answers at once: first a call of ``find_order``, then, to its result, with words.

Run by itself, so that what is measured does not share its interpreter: ``python -m benchmarks.model_server`` prints
its port and serves until its input closes.
"""

import json
import sys
from itertools import takewhile
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

CALL: Any = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "find_order", "arguments": '{"number":"1138"}'}}
    ],
}
WORDS: Any = {"role": "assistant", "content": "Order 1138 was sent yesterday."}


def completion(message: Any, finish_reason: str) -> bytes:
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "benchmark",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    ).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


FIRST, SECOND = completion(CALL, "tool_calls"), completion(WORDS, "stop")


class Model(StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        while length := self.body_length():
            body = self.rfile.read(length).replace(b": ", b":")
            self.wfile.write(SECOND if b'"role":"tool"' in body else FIRST)

    def body_length(self) -> int:
        """Read the head of a request; 0 where the client has gone."""
        head = takewhile(bytes.strip, iter(self.rfile.readline, None))
        lengths = [int(line.partition(b":")[2]) for line in head if line.lower().startswith(b"content-length:")]
        return lengths[0] if lengths else 0


class Server(ThreadingTCPServer):
    daemon_threads = True


def main() -> None:
    with Server(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
