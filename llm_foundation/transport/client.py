"""Send one request and bring back its answer, whole or in chunks.

::

    answer = send(request, limits=Deadlines.from_settings())

    with open_stream(request, limits=limits) as answer:
        for chunk in answer.chunks:
            ...

All four functions raise ``UrlRefused`` (also for a redirect), ``ConfigurationError`` (a header that HTTP cannot
carry), ``ConnectionFailed`` or ``TimedOut`` with ``sent``, and ``InvalidResponse`` (too large, wrongly compressed),
in the chunks of a stream as well. The status is not judged here. Errors do not know the provider's name: whoever
does may set ``error.provider`` and ``error.model``.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING

from llm_foundation.providers.base import HTTPRequest
from llm_foundation.transport import pools
from llm_foundation.transport.answers import AsyncStreamedAnswer, HTTPAnswer, StreamedAnswer
from llm_foundation.transport.deadlines import Deadlines
from llm_foundation.transport.exchange import Exchange, lower_case_headers
from llm_foundation.transport.failures import http_errors, named
from llm_foundation.transport.pools import close, using

if TYPE_CHECKING:
    import httpx2

__all__ = ["aopen_stream", "asend", "close", "open_stream", "send", "using"]


def send(request: HTTPRequest, *, limits: Deadlines) -> HTTPAnswer:
    with open_stream(request, limits=limits) as answer:
        return HTTPAnswer(answer.status, answer.headers, answer.read())


async def asend(request: HTTPRequest, *, limits: Deadlines) -> HTTPAnswer:
    async with aopen_stream(request, limits=limits) as answer:
        return HTTPAnswer(answer.status, answer.headers, await answer.read())


@contextmanager
def open_stream(request: HTTPRequest, *, limits: Deadlines) -> Iterator[StreamedAnswer]:
    """An answer that is read as it arrives. The connection is given back at the end of the block, or closed."""
    exchange = Exchange(request, limits)
    with closing(begin(exchange)) as response:
        exchange.refuse_redirect(response)
        with closing(chunks_of(response, exchange)) as chunks:
            yield StreamedAnswer(response.status_code, lower_case_headers(response), chunks)


@asynccontextmanager
async def aopen_stream(request: HTTPRequest, *, limits: Deadlines) -> AsyncIterator[AsyncStreamedAnswer]:
    """As ``open_stream``."""
    exchange = Exchange(request, limits)
    async with aclosing(await abegin(exchange)) as response:
        exchange.refuse_redirect(response)
        async with aclosing(achunks_of(response, exchange)) as chunks:
            yield AsyncStreamedAnswer(response.status_code, lower_case_headers(response), chunks)


# In these four, our error is raised after the except block, not in it: it would otherwise hold on to the
# library's own as its context, and with it to the request and its headers.


def begin(exchange: Exchange) -> "httpx2.Response":
    client = pools.current().client()
    try:
        return client.send(exchange.outgoing(client), stream=True)
    except http_errors() as error:
        failure = named(error, exchange)
    raise failure


async def abegin(exchange: Exchange) -> "httpx2.Response":
    client = await pools.current().async_client()
    try:
        return await client.send(exchange.outgoing(client), stream=True)
    except http_errors() as error:
        failure = named(error, exchange)
    raise failure


def chunks_of(response: "httpx2.Response", exchange: Exchange) -> Generator[bytes, None, None]:
    try:
        for chunk in response.iter_bytes():
            exchange.received(chunk)
            yield chunk
        return
    except http_errors() as error:
        failure = named(error, exchange)
    raise failure


async def achunks_of(response: "httpx2.Response", exchange: Exchange) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                exchange.received(chunk)
                yield chunk
        return
    except http_errors() as error:
        failure = named(error, exchange)
    raise failure
