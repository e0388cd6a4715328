"""Names are resolved once, every address is judged, and the connection goes to one of those that were judged."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from llm_foundation.exceptions import ConnectionFailed, UrlRefused
from tests.loopback import Server, answer, naming_origins, serving
from tests.transport.certificates import Authority
from tests.transport.conftest import post


@pytest.fixture
def resolve_to(monkeypatch):
    """Make every name lead to these addresses, one list per look-up; tells which names were looked up."""

    def set_up(*answers: list[str]) -> list[str]:
        asked: list[str] = []
        real = socket.getaddrinfo

        def getaddrinfo(host, port, *args, **options):
            if host[0].isdigit():
                return real(host, port, *args, **options)
            asked.append(host)
            found = answers[min(len(asked), len(answers)) - 1]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    return set_up


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["1.1.1.1", "127.0.0.1"], ["127.0.0.1", "1.1.1.1"]],
)
def test_a_name_that_leads_to_a_private_address_is_refused(fetch_any_way, resolve_to, addresses):
    resolve_to(addresses)
    with serving(answer()) as server, pytest.raises(UrlRefused) as refusal:
        fetch_any_way(post(f"https://rebind.example:{server.port}/"))
    private = next(address for address in addresses if address != "1.1.1.1")
    assert f"Host 'rebind.example' leads to {private}, " in str(refusal.value)
    assert f'add "https://rebind.example:{server.port}" to LLM_FOUNDATION["PRIVATE_ORIGINS"]' in str(refusal.value)
    assert server.connections == 0


def test_a_name_is_resolved_once_and_its_connection_kept(fetch, resolve_to):
    asked = resolve_to(["127.0.0.1"], ["10.0.0.1"])
    with serving(answer(b"ok")) as server, naming_origins(url := f"http://llm.internal:{server.port}"):
        assert fetch(post(url)).body == b"ok"
    assert asked == ["llm.internal"]
    assert server.requests[0].headers["host"] == f"llm.internal:{server.port}"


def test_the_next_address_is_tried_when_the_first_does_not_answer(fetch, resolve_to):
    resolve_to(["127.0.0.2", "127.0.0.1"])
    with serving(answer(b"ok")) as server, naming_origins(url := f"http://llm.internal:{server.port}"):
        assert fetch(post(url)).body == b"ok"


def test_a_name_that_does_not_resolve_says_so(fetch_any_way, monkeypatch):
    def getaddrinfo(*args, **options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(ConnectionFailed) as failure:
        fetch_any_way(post("https://api.exmaple.com/v1"))
    assert not failure.value.sent
    assert str(failure.value) == (
        "The provider could not be reached: https://api.exmaple.com has a name that does not resolve;"
        " check the host in the base URL"
    )


def test_localhost_reaches_a_server_that_settings_name(fetch):
    with serving(answer(b"ok")) as server, naming_origins(url := f"http://localhost:{server.port}"):
        assert fetch(post(url)).body == b"ok"


@contextmanager
def serving_as(name: str, authority: Authority) -> Iterator[tuple[Server, str]]:
    """A server with a certificate of this name, and the address under which it says it is ``llm.internal``."""
    with (
        serving(answer(b"ok"), ssl_context=authority.server(name)) as server,
        naming_origins(url := f"https://llm.internal:{server.port}"),
    ):
        yield server, url


def test_tls_asks_for_the_name_although_the_connection_goes_to_the_address(fetch_any_way, resolve_to):
    resolve_to(["127.0.0.1"])
    authority = Authority()
    with authority.trusted(), serving_as("llm.internal", authority) as (_, url):
        assert fetch_any_way(post(url)).body == b"ok"
    assert authority.names_asked_for == ["llm.internal"]


def test_a_certificate_of_another_name_is_not_accepted(fetch_any_way, resolve_to):
    resolve_to(["127.0.0.1"])
    authority = Authority()
    with (
        authority.trusted(),
        serving_as("other.example", authority) as (server, url),
        pytest.raises(ConnectionFailed) as failure,
    ):
        fetch_any_way(post(url, authorization="Bearer hunter2"))
    assert not failure.value.sent
    assert "has a certificate that is not accepted: Hostname mismatch" in str(failure.value)
    assert server.requests == []


def test_a_certificate_of_an_unknown_authority_is_not_accepted(fetch_any_way, resolve_to):
    resolve_to(["127.0.0.1"])
    with serving_as("llm.internal", Authority()) as (_, url), pytest.raises(ConnectionFailed) as failure:
        fetch_any_way(post(url))
    assert not failure.value.sent
    assert "has a certificate that is not accepted: unable to get local issuer certificate" in str(failure.value)
