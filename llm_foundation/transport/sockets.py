"""Connections to checked addresses, whose deadlines no single wait can restart. The lowest of our layers.

Loaded on first use, like ``network``. It stands on httpcore2's public interfaces alone: were we to reach into a
private attribute and it were renamed, the address check would be gone without a sound.
"""

import ssl
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore2

from llm_foundation.transport.deadlines import Countdown
from llm_foundation.transport.resolution import aresolve, resolve

Failure = type[Exception]


def left(timeout: float | None, expired: Failure) -> float | None:
    """How long a wait may take now. Raises ``expired`` when the time is up: 0 would mean "do not block"."""
    if not isinstance(timeout, Countdown):
        return timeout
    seconds = timeout.left()
    if seconds <= 0:
        raise expired("The time is up.")
    return seconds


def shares(addresses: list[str], timeout: float | None) -> Iterator[tuple[str, float | None]]:
    """Each address with its share of the time left, so that one that swallows packets does not use up all."""
    for untried, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        seconds = left(timeout, httpcore2.ConnectTimeout)
        yield address, None if seconds is None else seconds / untried


class CheckedBackend(httpcore2.NetworkBackend):
    """Connects to an address that the URL policy has seen. TLS still asks for the certificate of the name."""

    def __init__(self) -> None:
        self.sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            addresses = resolve(host, port, left(timeout, httpcore2.ConnectTimeout))
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(error) from error
        except OSError as error:
            raise httpcore2.ConnectError(error) from error
        failure: Exception = httpcore2.ConnectError("The name has no address.")
        for address, seconds in shares(addresses, timeout):
            try:
                stream = self.sockets.connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return TimedStream(stream)
        raise failure


class TimedStream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self.stream = stream
        self.socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Not by the stream underneath: it would wait anew for each part that the peer takes."""
        view = memoryview(buffer)
        try:
            while view:
                self.socket.settimeout(left(timeout, httpcore2.WriteTimeout))
                view = view[self.socket.send(view) :]
        except TimeoutError as error:
            raise httpcore2.WriteTimeout(error) from error
        except OSError as error:
            raise httpcore2.WriteError(error) from error

    def close(self) -> None:
        self.stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = left(timeout, httpcore2.ConnectTimeout)
        return TimedStream(self.stream.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


class AsyncCheckedBackend(httpcore2.AsyncNetworkBackend):
    """As ``CheckedBackend``."""

    def __init__(self) -> None:
        self.sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await aresolve(host, port, left(timeout, httpcore2.ConnectTimeout))
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(error) from error
        except OSError as error:
            raise httpcore2.ConnectError(error) from error
        failure: Exception = httpcore2.ConnectError("The name has no address.")
        for address, seconds in shares(addresses, timeout):
            try:
                stream = await self.sockets.connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return AsyncTimedStream(stream)
        raise failure


class AsyncTimedStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self.stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.stream.read(max_bytes, left(timeout, httpcore2.ReadTimeout))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self.stream.write(buffer, left(timeout, httpcore2.WriteTimeout))

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        seconds = left(timeout, httpcore2.ConnectTimeout)
        return AsyncTimedStream(await self.stream.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)
