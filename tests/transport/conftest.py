"""Each fixture here gives a function of the sync world and its async twin, so that every test is made for both."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from llm_foundation.providers.base import HTTPRequest
from llm_foundation.transport import client
from llm_foundation.transport.answers import HTTPAnswer
from llm_foundation.transport.deadlines import Deadlines

PATIENT = Deadlines(connect=30, first_byte=30, total=30)
Fetch = Callable[..., HTTPAnswer]


def post(url: str, *, body: bytes | None = b"{}", **headers: str) -> HTTPRequest:
    """Underscores in the names of headers stand for hyphens."""
    return HTTPRequest("POST", url, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def send(request: HTTPRequest, limits: Deadlines = PATIENT) -> HTTPAnswer:
    return client.send(request, limits=limits)


def send_async(request: HTTPRequest, limits: Deadlines = PATIENT) -> HTTPAnswer:
    return asyncio.run(client.asend(request, limits=limits))


def send_streamed(request: HTTPRequest, limits: Deadlines = PATIENT) -> HTTPAnswer:
    with client.open_stream(request, limits=limits) as answer:
        return HTTPAnswer(answer.status, answer.headers, b"".join(answer.chunks))


def send_streamed_async(request: HTTPRequest, limits: Deadlines = PATIENT) -> HTTPAnswer:
    async def run() -> HTTPAnswer:
        async with client.aopen_stream(request, limits=limits) as answer:
            return HTTPAnswer(answer.status, answer.headers, b"".join([chunk async for chunk in answer.chunks]))

    return asyncio.run(run())


@pytest.fixture(params=[send, send_async], ids=["sync", "async"])
def fetch(request: pytest.FixtureRequest) -> Fetch:
    """Send a request and bring back its answer."""
    return request.param


@pytest.fixture(params=[send, send_async, send_streamed, send_streamed_async])
def fetch_any_way(request: pytest.FixtureRequest) -> Fetch:
    """As ``fetch``, and by reading a stream to its end as well."""
    return request.param


@pytest.fixture(autouse=True)
def no_connections_left_over() -> Iterator[None]:
    yield
    client.close()
