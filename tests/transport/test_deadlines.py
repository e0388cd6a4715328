"""Each server here goes on for ever: without a deadline that holds, its test would not end."""

import socket
from threading import Event

import pytest

from llm_foundation.exceptions import TimedOut
from llm_foundation.transport import pools
from llm_foundation.transport.deadlines import Deadlines
from tests.loopback import Wire, answer, drip, hang, hang_in_body, naming_origins, serving
from tests.transport.conftest import post

FOREVER = 1000


@pytest.fixture(autouse=True)
def httpx2_is_loaded() -> None:
    """Loading it takes longer than these deadlines."""
    pools.current().client()


def within(*, connect: float = FOREVER, first_byte: float = FOREVER, total: float = FOREVER) -> Deadlines:
    return Deadlines(connect=connect, first_byte=first_byte, total=total)


def drip_head(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while True:
        wire.send(b"a")
        wire.wait(0.02)


def drip_inside_a_chunk(wire: Wire) -> None:
    wire.head(transfer_encoding="chunked")
    wire.send(b"ffff\r\n")
    while True:
        wire.send(b"a")
        wire.wait(0.02)


def drip_early_hints(wire: Wire) -> None:
    while True:
        wire.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        wire.wait(0.02)


@pytest.mark.parametrize(
    "script",
    [hang(), hang_in_body(), hang_in_body(b"data: 1\n\n"), drip(b"data: 1\n\n", every=0.02, forever=True),
     drip_head, drip_inside_a_chunk, drip_early_hints],
    ids=["silent", "silent after head", "silent in body", "drips", "drips head", "drips in chunk", "drips hints"],
)  # fmt: skip
def test_no_answer_outlives_the_total_deadline(fetch_any_way, script):
    with serving(script) as server, pytest.raises(TimedOut) as failure:
        fetch_any_way(post(server.url), within(total=0.3))
    assert failure.value.sent


@pytest.mark.parametrize("script", [hang(), hang_in_body(), drip_head, drip_early_hints])
def test_an_answer_has_to_begin_within_the_first_byte_deadline(fetch_any_way, script):
    with serving(script) as server, pytest.raises(TimedOut) as failure:
        fetch_any_way(post(server.url), within(first_byte=0.2))
    assert failure.value.sent
    assert str(failure.value) == (
        "The provider did not answer in time:"
        f" the answer of {server.url} did not begin within 0.2 seconds (first-byte limit)"
    )


def test_an_answer_that_has_begun_is_held_to_the_total_deadline_only(fetch):
    with serving(drip(b"01234", every=0.3)) as server:
        assert fetch(post(server.url), within(first_byte=1)).body == b"01234"


def test_an_answer_that_begins_and_does_not_end_is_late(fetch_any_way):
    with serving(drip(b"data: 1\n\n", every=0.02, forever=True)) as server, pytest.raises(TimedOut) as failure:
        fetch_any_way(post(server.url), within(total=0.3))
    assert str(failure.value) == (
        "The provider did not answer in time:"
        f" the answer of {server.url} was not complete within 0.3 seconds (total limit)"
    )


def test_a_server_that_takes_the_request_too_slowly_is_late(fetch):
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener, naming_origins(url), pytest.raises(TimedOut) as failure:
        fetch(post(url, body=bytes(32 * 1024 * 1024)), within(total=0.3))
    assert failure.value.sent


def test_a_server_that_never_agrees_on_tls_is_not_connected(fetch_any_way):
    with serving(hang()) as server:
        url = server.url.replace("http://", "https://")
        with naming_origins(url), pytest.raises(TimedOut) as failure:
            fetch_any_way(post(url), within(connect=0.2))
    assert not failure.value.sent
    assert str(failure.value) == (
        f"The provider did not answer in time: no connection to {url} within 0.2 seconds (connect limit)"
    )


def test_a_name_that_never_resolves_is_not_connected(fetch_any_way, monkeypatch):
    end_of_test = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: end_of_test.wait() and [])
    try:
        with pytest.raises(TimedOut) as failure:
            fetch_any_way(post("https://api.example.com/"), within(connect=0.2))
    finally:
        end_of_test.set()
    assert not failure.value.sent


def test_the_deadlines_of_settings_are_the_default(settings):
    assert Deadlines.from_settings() == Deadlines(connect=10, first_byte=120, total=600)
    settings.LLM_FOUNDATION = {"CONNECT_TIMEOUT": 1, "FIRST_BYTE_TIMEOUT": 2.5, "TOTAL_TIMEOUT": 3}
    assert Deadlines.from_settings() == Deadlines(connect=1, first_byte=2.5, total=3)


def test_the_next_call_has_time_of_its_own(fetch):
    with serving([hang(), answer(b"ok")]) as server:
        with pytest.raises(TimedOut):
            fetch(post(server.url), within(total=0.1))
        assert fetch(post(server.url), within(total=30)).body == b"ok"
