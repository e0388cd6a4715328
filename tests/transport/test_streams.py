import asyncio
from threading import Event

import pytest

from llm_foundation.exceptions import ConnectionFailed
from llm_foundation.transport.client import aopen_stream, open_stream
from tests.loopback import Wire, answer, chunks, close_early, events, serving
from tests.transport.conftest import PATIENT, post


def waits_for(permission: Event):
    """Sends a first chunk, and the second one only when the test has seen the first."""

    def behave(wire: Wire) -> None:
        wire.head(content_type="text/event-stream", transfer_encoding="chunked")
        wire.chunk(b"first")
        permission.wait()
        wire.chunk(b"second")
        wire.chunk(b"")

    return behave


def notices_the_end(noticed: Event):
    """Sends a chunk and waits for the client to go away."""

    def behave(wire: Wire) -> None:
        wire.head(content_type="text/event-stream", transfer_encoding="chunked")
        wire.chunk(b"first")
        if wire.connection.recv(1) == b"":
            noticed.set()

    return behave


def test_a_chunk_can_be_read_before_the_next_one_is_sent():
    permission = Event()
    with serving(waits_for(permission)) as server, open_stream(post(server.url), limits=PATIENT) as answer:
        assert next(answer.chunks) == b"first"
        permission.set()
        assert list(answer.chunks) == [b"second"]


async def test_a_chunk_can_be_read_before_the_next_one_is_sent_async():
    permission = Event()
    with serving(waits_for(permission)) as server:
        async with aopen_stream(post(server.url), limits=PATIENT) as answer:
            assert await anext(answer.chunks) == b"first"
            permission.set()
            assert [chunk async for chunk in answer.chunks] == [b"second"]


def test_status_and_headers_are_there_before_the_body():
    permission = Event()
    with serving(waits_for(permission)) as server, open_stream(post(server.url), limits=PATIENT) as answer:
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        permission.set()


def test_the_rest_of_a_stream_can_be_read_at_once():
    with serving(events({"n": 1}, {"n": 2})) as server, open_stream(post(server.url), limits=PATIENT) as stream:
        assert next(stream.chunks) == b'data: {"n": 1}\n\n'
        assert stream.read() == b'data: {"n": 2}\n\ndata: [DONE]\n\n'


async def test_the_rest_of_a_stream_can_be_read_at_once_async():
    with serving(answer(status=429, json={"error": "slow down"})) as server:
        async with aopen_stream(post(server.url), limits=PATIENT) as stream:
            assert (stream.status, await stream.read()) == (429, b'{"error": "slow down"}')


def test_leaving_a_stream_closes_its_connection():
    noticed = Event()
    with serving(notices_the_end(noticed)) as server:
        with open_stream(post(server.url), limits=PATIENT) as stream:
            next(stream.chunks)
        assert noticed.wait(30)


async def test_leaving_a_stream_closes_its_connection_async():
    noticed = Event()
    with serving(notices_the_end(noticed)) as server:
        async with aopen_stream(post(server.url), limits=PATIENT) as stream:
            await anext(stream.chunks)
        assert await asyncio.to_thread(noticed.wait, 30)


def read_and_fail(url: str) -> None:
    with open_stream(post(url), limits=PATIENT) as stream:
        next(stream.chunks)
        raise ZeroDivisionError


def test_an_error_of_the_reader_closes_the_connection_and_comes_out():
    noticed = Event()
    with serving(notices_the_end(noticed)) as server:
        with pytest.raises(ZeroDivisionError):
            read_and_fail(server.url)
        assert noticed.wait(30)


async def test_cancelling_the_reader_closes_the_connection():
    noticed, reading = Event(), asyncio.Event()

    async def read(url: str) -> None:
        async with aopen_stream(post(url), limits=PATIENT) as stream:
            async for _ in stream.chunks:
                reading.set()

    with serving(notices_the_end(noticed)) as server:
        task = asyncio.create_task(read(server.url))
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(noticed.wait, 30)


def test_a_stream_read_to_its_end_leaves_the_connection_for_the_next_request():
    with serving(chunks(b"a", b"b")) as server:
        for _ in range(3):
            with open_stream(post(server.url), limits=PATIENT) as stream:
                assert stream.read() == b"ab"
    assert server.connections == 1


def test_what_arrived_before_a_break_has_been_handed_over():
    got = []
    with (
        serving(close_early(b"half an answer")) as server,
        open_stream(post(server.url), limits=PATIENT) as stream,
        pytest.raises(ConnectionFailed) as failure,
    ):
        got.extend(stream.chunks)
    assert b"".join(got) == b"half an answer"
    assert failure.value.sent
