"""A scripted HTTP server on 127.0.0.1, for tests of what a real network does to us.

::

    with serving(answer(json={"ok": True})) as server:
        ...  # talk to server.url
    assert server.requests[0].json() == {"model": "m"}

    with serving([answer(status=500), events({"n": 1}), hang()]) as server:
        ...
    with serving(lambda wire: answer(wire.request.body)) as server:
        ...

A script is one behaviour for all requests, or a list that is gone through request by request; its last element
serves all that follow. A behaviour is a function of a ``Wire``; it may also return the behaviour to use. Those
below are ready-made. Connections are kept alive. Whatever hangs ends with the block, and so do all threads.
"""

import json as jsonlib
import socket
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from django.conf import settings as django_settings
from django.test import override_settings

from llm_foundation.conf import settings
from tests.scripted_server import Behaviour, Script, SeenRequest, Server, Wire, head

__all__ = [
    "Behaviour",
    "Script",
    "SeenRequest",
    "Server",
    "Wire",
    "answer",
    "chunks",
    "close_at_once",
    "close_early",
    "closed_port",
    "drip",
    "events",
    "gzip_bomb",
    "hang",
    "hang_in_body",
    "huge",
    "naming_origins",
    "raw",
    "redirect",
    "serving",
]


@contextmanager
def serving(script: Script, *, ssl_context: ssl.SSLContext | None = None, named: bool = True) -> Iterator[Server]:
    """Run a server. ``named``: settings name its origin as one that may be contacted, as long as it runs."""
    server = Server(script, ssl_context)
    try:
        with naming_origins(server.url) if named else nullcontext():
            yield server
    finally:
        server.stop()


@contextmanager
def naming_origins(*origins: str) -> Iterator[None]:
    """Add to ``PRIVATE_ORIGINS``."""
    named = [*settings.PRIVATE_ORIGINS, *origins]
    with override_settings(LLM_FOUNDATION={**django_settings.LLM_FOUNDATION, "PRIVATE_ORIGINS": named}):
        yield


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def answer(
    body: bytes | str = b"",
    *,
    json: Any = None,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """A whole answer, sent at once."""
    content = jsonlib.dumps(json) if json is not None else body
    data = content.encode() if isinstance(content, str) else content
    fields = {"content-type": content_type, "content-length": str(len(data)), **(headers or {})}
    return lambda wire: wire.send(head(status, fields) + data)


def chunks(*pieces: bytes, content_type: str = "text/event-stream") -> Behaviour:
    """A body sent piece by piece."""

    def behave(wire: Wire) -> None:
        wire.head(content_type=content_type, transfer_encoding="chunked")
        for piece in pieces:
            wire.chunk(piece)
        wire.chunk(b"")

    return behave


def events(*payloads: Any, end: str = "[DONE]") -> Behaviour:
    """Server-sent events, one chunk each: strings as they are, the rest as JSON. ``end=""`` leaves the end out."""
    texts = [payload if isinstance(payload, str) else jsonlib.dumps(payload) for payload in payloads]
    return chunks(*(f"data: {text}\n\n".encode() for text in [*texts, end] if text))


def drip(body: bytes, *, every: float, forever: bool = False) -> Behaviour:
    """One byte each ``every`` seconds."""

    def behave(wire: Wire) -> None:
        wire.head(content_type="text/event-stream", transfer_encoding="chunked")
        while True:
            for byte in body:
                wire.chunk(bytes([byte]))
                wire.wait(every)
            if not forever:
                return wire.chunk(b"")

    return behave


def hang() -> Behaviour:
    """No answer at all."""
    return lambda wire: wire.wait()


def hang_in_body(first: bytes = b"") -> Behaviour:
    """A head, perhaps the first bytes, and then nothing more."""

    def behave(wire: Wire) -> None:
        wire.head(content_type="text/event-stream", transfer_encoding="chunked")
        if first:
            wire.chunk(first)
        wire.wait()

    return behave


def close_at_once() -> Behaviour:
    """The request is taken, the connection closed."""
    return lambda wire: wire.hang_up()


def close_early(body: bytes, *, content_type: str = "application/json") -> Behaviour:
    """One byte less than promised."""

    def behave(wire: Wire) -> None:
        wire.head(content_type=content_type, content_length=str(len(body) + 1))
        wire.send(body)
        wire.hang_up()

    return behave


def huge(size: int) -> Behaviour:
    """``size`` zero bytes."""

    def behave(wire: Wire) -> None:
        wire.head(content_type="application/json", content_length=str(size))
        for start in range(0, size, 65536):
            wire.send(bytes(min(65536, size - start)))

    return behave


def gzip_bomb(size: int) -> Behaviour:
    """``size`` zero bytes, packed to about a thousandth of that."""
    packer = zlib.compressobj(wbits=31)
    packed = b"".join(packer.compress(bytes(min(2**20, size - start))) for start in range(0, size, 2**20))
    return answer(packed + packer.flush(), headers={"content-encoding": "gzip"})


def redirect(to: str, *, status: int = 307) -> Behaviour:
    return answer(status=status, headers={"location": to})


def raw(data: bytes) -> Behaviour:
    """These bytes, HTTP or not, and then the end."""

    def behave(wire: Wire) -> None:
        wire.send(data)
        wire.hang_up()

    return behave
