"""The practice model on a port of this machine."""

import json
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from example_project.practice_model import answers
from example_project.practice_model.failures import FAILURES, HALF, NOTHING, Failure
from example_project.practice_model.scene import RequestRefused, read_scene
from example_project.practice_model.script import INTRODUCTION, Reply, reply

HOST = "127.0.0.1"
HEARS_A_STOP_WITHIN = 0.05  # seconds


class PracticeModel:
    """A practice model that serves while its ``with`` block runs. Port 0 takes a free one.

    ``base_url`` is what a provider record needs; ``asked`` holds the body of every question that has arrived.
    """

    def __init__(self, port: int = 0) -> None:
        self._server = Server(port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[HEARS_A_STOP_WITHIN], daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self._server.server_port}/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        return self._server.asked

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((HOST, port), Handler)
        self.asked: list[dict[str, Any]] = []
        self._connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def close_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is no error of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Hang up on clients that keep their connection open; their threads then end."""
        super().server_close()
        for connection in list(self._connections):
            self.shutdown_request(connection)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self.send_json(200, answers.models())
        else:
            self.send_json(404, answers.error(f"{INTRODUCTION} There is no {self.path} here.", kind="not_found"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/v1/chat/completions":
            self.send_json(404, answers.error(f"There is no {self.path} here.", kind="not_found"))
            return
        try:
            asked = read_json(body)
            self.server.asked.append(asked)
            said = reply(read_scene(asked))
        except RequestRefused as refusal:
            self.send_json(refusal.status, answers.error(str(refusal), kind="invalid_request_error", code=refusal.code))
            return
        if said.failure:
            self.fail(said.failure, asked)
        elif asked.get("stream"):
            self.send_stream(answers.chunks(said, asked=asked))
        else:
            self.send_json(200, answers.completion(said, asked=asked))

    def fail(self, kind: str, asked: Mapping[str, Any]) -> None:
        if kind == NOTHING:
            self.close_connection = True
        elif kind == HALF:
            self.send_half(asked)
        elif kind in FAILURES:
            self.send_failure(FAILURES[kind])
        else:
            known = ", ".join([*FAILURES, NOTHING, HALF])
            self.send_json(400, answers.error(f"I can fail with: {known}.", kind="invalid_request_error"))

    def send_failure(self, failure: Failure) -> None:
        if isinstance(failure.body, str):
            self.send_body(failure.status, failure.body.encode(), kind="text/html; charset=utf-8")
        else:
            self.send_json(failure.status, failure.body, headers=failure.headers)

    def send_half(self, asked: Mapping[str, Any]) -> None:
        said = Reply(text="This sentence breaks off in the middle of")
        if asked.get("stream"):
            self.start_stream()
            for chunk in list(answers.chunks(said, asked=asked))[:4]:
                self.send_event(json.dumps(chunk))
        else:
            body = json.dumps(answers.completion(said, asked=asked)).encode()
            self.send_body(200, body[: len(body) // 2], announced=len(body))
        self.close_connection = True

    def send_json(self, status: int, value: Any, *, headers: Mapping[str, str] | None = None) -> None:
        self.send_body(status, json.dumps(value).encode(), headers=headers)

    def send_body(
        self,
        status: int,
        body: bytes,
        *,
        kind: str = "application/json",
        announced: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_stream(self, chunks: Iterable[Mapping[str, Any]]) -> None:
        self.start_stream()
        for chunk in chunks:
            self.send_event(json.dumps(chunk))
        self.send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the demo tells the story, and the terminal is its page."""


def read_json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as error:
        raise RequestRefused("We could not parse the JSON body of your request.") from error
    if not isinstance(value, dict):
        raise RequestRefused("The JSON body of your request is not an object.")
    return value
