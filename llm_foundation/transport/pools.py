"""The httpx2 clients of this process: one for sync code, one for each event loop, one SSL context for all.

They are made on first use, keep connections alive between calls, and are made anew in a forked child.
"""

import asyncio
import atexit
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

from llm_foundation import __version__

if TYPE_CHECKING:
    import ssl

    import httpx2

    from llm_foundation.transport.network import NetworkTransport

    Transport = httpx2.BaseTransport | httpx2.AsyncBaseTransport

HEADERS: Final = {
    "User-Agent": f"django-llm-foundation/{__version__}",
    "Accept-Encoding": "gzip, deflate",  # the same everywhere, whatever else is installed
}


class Pools:
    """The clients of one process. ``instead`` is a transport that takes the place of the network."""

    def __init__(self, instead: "Transport | None" = None) -> None:
        self.instead = instead
        self.making = Lock()
        self.ssl_context: ssl.SSLContext | None = None
        self.sync_client: httpx2.Client | None = None
        self.network: NetworkTransport | None = None
        self.loops: dict[asyncio.AbstractEventLoop, tuple[httpx2.AsyncClient, AsyncGenerator[None, None]]] = {}

    def client(self) -> "httpx2.Client":
        if self.sync_client is None:
            with self.making:
                self.sync_client = self.sync_client or self.make_client()
        return self.sync_client

    def make_client(self) -> "httpx2.Client":
        import httpx2

        from llm_foundation.transport.network import NetworkTransport

        if isinstance(self.instead, httpx2.BaseTransport):
            return httpx2.Client(transport=self.instead, headers=HEADERS, trust_env=False)
        self.network = NetworkTransport(self.shared_ssl_context())
        return httpx2.Client(transport=self.network, headers=HEADERS, trust_env=False)

    async def async_client(self) -> "httpx2.AsyncClient":
        loop = asyncio.get_running_loop()
        if loop not in self.loops:
            with self.making:
                client = self.make_async_client()
                self.forget_closed_loops()
                keeper = self.keep_open(client, loop)
                self.loops[loop] = client, keeper
            await anext(keeper)
        return self.loops[loop][0]

    def make_async_client(self) -> "httpx2.AsyncClient":
        import httpx2

        from llm_foundation.transport.network import AsyncNetworkTransport

        if isinstance(self.instead, httpx2.AsyncBaseTransport):
            return httpx2.AsyncClient(transport=self.instead, headers=HEADERS, trust_env=False)
        network = AsyncNetworkTransport(self.shared_ssl_context())
        return httpx2.AsyncClient(transport=network, headers=HEADERS, trust_env=False)

    async def keep_open(
        self, client: "httpx2.AsyncClient", loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[None, None]:
        """Close the client when the loop goes: ``asyncio.run`` ends generators that still wait, before the loop."""
        try:
            yield
        finally:
            self.loops.pop(loop, None)
            await client.aclose()

    def forget_closed_loops(self) -> None:
        for loop in [loop for loop in self.loops if loop.is_closed()]:
            del self.loops[loop]

    def shared_ssl_context(self) -> "ssl.SSLContext":
        if self.ssl_context is None:
            import httpx2

            self.ssl_context = httpx2.create_ssl_context(trust_env=False)
        return self.ssl_context

    def close(self) -> None:
        client, self.sync_client, self.network = self.sync_client, None, None
        if client is not None:
            client.close()

    def close_inherited(self) -> None:
        if self.network is not None:
            self.network.close_inherited()


stack: Final = [Pools()]  # the last one counts; ``using`` lays others on top
inherited: Final[list[Pools]] = []  # from before a fork, kept so that nothing of it is finalised in this process


def current() -> Pools:
    return stack[-1]


def close() -> None:
    """Close the connections that sync code keeps open. The next call opens new ones."""
    current().close()


@contextmanager
def using(transport: "Transport") -> Iterator[None]:
    """Send everything in this process through an httpx2 transport of your own, such as ``httpx2.MockTransport``.

    For tests. The URL policy still judges each URL; names are not resolved, and deadlines are the transport's affair.
    ``MockTransport`` serves sync and async code; one that serves only one of them leaves the other to the network.
    """
    stack.append(Pools(transport))
    try:
        yield
    finally:
        stack.pop().close()


def leave_to_parent() -> None:
    """In a forked child: two processes must not talk on one socket, nor wait for locks of threads that are gone."""
    for pools in stack:
        pools.close_inherited()
    inherited.extend(stack)
    stack[:] = [Pools(pools.instead) for pools in stack]


atexit.register(close)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=leave_to_parent)
