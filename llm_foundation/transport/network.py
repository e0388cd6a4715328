"""httpx2 transports on our own connections. Loaded on first use, since httpx2 takes its time to load."""

import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import httpcore2
import httpx2

from llm_foundation.transport.sockets import AsyncCheckedBackend, CheckedBackend

POOL: Final[dict[str, Any]] = {
    "max_connections": 1000,  # a stream holds one for minutes, and one slow provider must not starve the others
    "max_keepalive_connections": 100,
    "keepalive_expiry": 30.0,  # seconds; a tool may run for a while between two calls of a model
}


class Body(httpx2.SyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self.answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self.answer.iter_stream()

    def close(self) -> None:
        self.answer.close()


class AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self.answer = answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.answer.aiter_stream()

    async def aclose(self) -> None:
        await self.answer.aclose()


class NetworkTransport(httpx2.BaseTransport):
    def __init__(self, ssl_context: ssl.SSLContext) -> None:
        self.pool = httpcore2.ConnectionPool(ssl_context, network_backend=CheckedBackend(), **POOL)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self.pool.handle_request(to_httpcore(request))
        return httpx2.Response(
            answer.status, headers=without_cookies(answer), stream=Body(answer), extensions=answer.extensions
        )

    def close(self) -> None:
        self.pool.close()

    def close_inherited(self) -> None:
        """Close this process's copies of a parent's sockets, without the locks that its threads may have held."""
        for connection in self.pool.connections:
            connection.close()


class AsyncNetworkTransport(httpx2.AsyncBaseTransport):
    """As ``NetworkTransport``, for one event loop."""

    def __init__(self, ssl_context: ssl.SSLContext) -> None:
        self.pool = httpcore2.AsyncConnectionPool(ssl_context, network_backend=AsyncCheckedBackend(), **POOL)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self.pool.handle_async_request(to_httpcore(request))
        return httpx2.Response(
            answer.status, headers=without_cookies(answer), stream=AsyncBody(answer), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        await self.pool.aclose()


def to_httpcore(request: httpx2.Request) -> httpcore2.Request:
    url = request.url
    return httpcore2.Request(
        method=request.method,
        url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def without_cookies(answer: httpcore2.Response) -> list[tuple[bytes, bytes]]:
    """One client serves every key: what a server sets in answer to one must not come back with another."""
    return [header for header in answer.headers if header[0].lower() != b"set-cookie"]
