"""The machinery under ``tests.loopback``: raw sockets and a thread per connection, so that anything can be sent."""

import json as jsonlib
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any, Union


@dataclass(frozen=True)
class SeenRequest:
    """One request as it arrived. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return jsonlib.loads(self.body)


class HungUp(Exception):
    """The client has gone, or the server is to stop."""


@dataclass
class Wire:
    """What a behaviour has in hand: the request, and the connection to answer on."""

    request: SeenRequest
    connection: socket.socket
    stopping: Event

    def send(self, data: bytes) -> None:
        try:
            self.connection.sendall(data)
        except OSError:
            raise HungUp from None

    def head(self, status: int = 200, **headers: str) -> None:
        """Underscores in the names stand for hyphens."""
        self.send(head(status, {name.replace("_", "-"): value for name, value in headers.items()}))

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def wait(self, seconds: float | None = None) -> None:
        """Let time pass, or wait until the server stops."""
        if self.stopping.wait(seconds):
            raise HungUp

    def hang_up(self) -> None:
        raise HungUp


Behaviour = Callable[[Wire], Union["Behaviour", None]]
Script = Behaviour | Sequence[Behaviour]


class Server:
    """``url`` is its origin, ``requests`` what it has seen, ``connections`` how many were opened to it."""

    def __init__(self, script: Script, ssl_context: ssl.SSLContext | None = None) -> None:
        self.script: Sequence[Behaviour] = [script] if callable(script) else script
        self.ssl_context = ssl_context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.url = f"{'https' if ssl_context else 'http'}://127.0.0.1:{self.port}"
        self.requests: list[SeenRequest] = []
        self.connections = 0
        self.stopping = Event()
        self.lock = Lock()
        self.open: set[socket.socket] = set()
        self.threads = [Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            if self.stopping.is_set():
                return connection.close()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.ssl_context:
                connection = self.ssl_context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            self.connections += 1
            self.open.add(connection)
            self.threads.append(Thread(target=self.serve, args=(connection,)))
            self.threads[-1].start()

    def serve(self, connection: socket.socket) -> None:
        # A client may leave at any moment: that is what it is here to do.
        with connection, suppress(HungUp, OSError):
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
            while request := read_request(connection):
                behaviour: Behaviour | None = self.next_behaviour(request)
                while behaviour:
                    behaviour = behaviour(Wire(request, connection, self.stopping))

    def next_behaviour(self, request: SeenRequest) -> Behaviour:
        with self.lock:
            self.requests.append(request)
            return self.script[min(len(self.requests), len(self.script)) - 1]

    def stop(self) -> None:
        self.stopping.set()
        socket.create_connection(("127.0.0.1", self.port)).close()  # wakes ``accept``
        self.threads[0].join()
        self.listener.close()
        for connection in self.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads[1:]:
            thread.join()


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def read_request(connection: socket.socket) -> SeenRequest | None:
    """The next request on a connection, or nothing when the client has closed it."""
    received = b""
    while b"\r\n\r\n" not in received:
        data = connection.recv(65536)
        if not data:
            return None
        received += data
    raw_head, _, body = received.partition(b"\r\n\r\n")
    request_line, *lines = raw_head.decode("latin-1").split("\r\n")
    fields = (line.split(":", 1) for line in lines)
    headers = {name.lower(): value.strip() for name, value in fields}
    method, path, _ = request_line.split(" ")
    pieces, missing = [body], int(headers.get("content-length", 0)) - len(body)
    while missing > 0 and (data := connection.recv(65536)):
        pieces.append(data)
        missing -= len(data)
    return SeenRequest(method, path, headers, b"".join(pieces))
