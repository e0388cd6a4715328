import socket
from threading import Thread

import httpx2
import pytest

from llm_foundation.exceptions import (
    ConfigurationError,
    ConnectionFailed,
    InvalidResponse,
    ProviderError,
    TimedOut,
    UrlRefused,
)
from llm_foundation.transport.client import using
from tests.loopback import (
    answer,
    close_at_once,
    close_early,
    closed_port,
    naming_origins,
    raw,
    serving,
)
from tests.transport.conftest import post


def test_a_server_that_is_not_there_has_got_nothing(fetch_any_way):
    url = f"http://127.0.0.1:{closed_port()}"
    with naming_origins(url), pytest.raises(ConnectionFailed) as failure:
        fetch_any_way(post(url))
    assert not failure.value.sent
    assert str(failure.value) == (
        f"The provider could not be reached: {url} refuses connections; check that the server runs, and the port of"
        " the base URL"
    )


def refuse_in_plain_text(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_https_to_a_server_that_speaks_http_has_sent_nothing(fetch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=refuse_in_plain_text, args=(listener,)).start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with naming_origins(url), pytest.raises(ConnectionFailed) as failure:
            fetch(post(url))
    assert not failure.value.sent
    assert "does not speak TLS" in str(failure.value)


@pytest.mark.parametrize(
    "script",
    [
        close_at_once(),
        close_early(b'{"half": '),
        raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000),
        raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot a number\r\n"),
        raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
    ],
    ids=["closes at once", "closes early", "no HTTP", "endless head", "broken chunk", "two lengths"],
)
def test_a_connection_that_breaks_may_have_delivered_the_request(fetch_any_way, script):
    with serving(script) as server, pytest.raises(ConnectionFailed) as failure:
        fetch_any_way(post(server.url))
    assert failure.value.sent
    assert str(failure.value) == (
        f"The provider could not be reached: {server.url} broke the connection off, or does not speak HTTP"
    )


def test_a_body_that_is_not_compressed_as_it_says_cannot_be_read(fetch_any_way):
    script = answer(b"plain", headers={"content-encoding": "gzip"})
    with serving(script) as server, pytest.raises(InvalidResponse, match="is not compressed as its headers say"):
        fetch_any_way(post(server.url))


@pytest.mark.parametrize(
    ("error", "ours", "sent"),
    [
        (httpx2.PoolTimeout, TimedOut, False),
        (httpx2.ConnectTimeout, TimedOut, False),
        (httpx2.WriteTimeout, TimedOut, True),
        (httpx2.ReadTimeout, TimedOut, True),
        (httpx2.ConnectError, ConnectionFailed, False),
        (httpx2.WriteError, ConnectionFailed, True),
        (httpx2.ReadError, ConnectionFailed, True),
        (httpx2.CloseError, ConnectionFailed, True),
        (httpx2.RemoteProtocolError, ConnectionFailed, True),
        (httpx2.ProxyError, ConnectionFailed, True),
        (httpx2.DecodingError, InvalidResponse, None),
        (httpx2.LocalProtocolError, ConfigurationError, None),
        (httpx2.UnsupportedProtocol, UrlRefused, None),
        (httpx2.InvalidURL, UrlRefused, None),
    ],
)
def test_each_error_of_httpx2_becomes_one_of_ours(fetch_any_way, error, ours, sent):
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise error("quoting hunter2")

    with using(httpx2.MockTransport(fail)), pytest.raises(ours) as failure:
        fetch_any_way(post("https://api.example.com/v1", authorization="Bearer hunter2"))
    assert type(failure.value) is ours
    assert getattr(failure.value, "sent", None) is sent
    assert "https://api.example.com" in str(failure.value) or error is httpx2.PoolTimeout


def everything_on(error: BaseException) -> str:
    """The error with all that a log or an error tracker could find on it."""
    parts = [str(error), repr(error), repr(error.args), repr(vars(error))]
    return " ".join(parts + [everything_on(other) for other in (error.__cause__, error.__context__) if other])


@pytest.mark.parametrize(
    "script",
    [
        close_at_once(),
        close_early(b"hunter2"),
        raw(b"hunter2\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nhunter2\r\n\r\n"),
        answer(b"hunter2", headers={"content-encoding": "gzip", "x-key": "hunter2"}),
        answer(b"hunter2", status=302, headers={"location": "/?key=hunter2"}),
    ],
)
def test_an_error_keeps_no_key_no_header_and_no_body(fetch_any_way, script):
    with serving(script) as server, pytest.raises((ProviderError, UrlRefused)) as failure:
        fetch_any_way(post(server.url, body=b"hunter2", authorization="Bearer hunter2"))
    assert "hunter2" not in everything_on(failure.value)
    assert failure.value.__context__ is None


def test_who_knows_the_providers_name_can_add_it_later(fetch):
    with serving(close_at_once()) as server, pytest.raises(ConnectionFailed) as failure:
        fetch(post(server.url))
    failure.value.provider, failure.value.model = "openai-prod", "gpt-5"
    assert str(failure.value).startswith(
        "Provider 'openai-prod' could not be reached (model 'gpt-5'): http://127.0.0.1"
    )
