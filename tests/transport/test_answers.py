import gzip

import httpx2
import pytest

from llm_foundation.exceptions import ConfigurationError, UrlRefused
from llm_foundation.providers.base import HTTPRequest
from llm_foundation.transport import client
from tests.loopback import answer, events, redirect, serving
from tests.transport.conftest import PATIENT, post


def test_an_answer_has_status_lower_case_headers_and_body(fetch):
    with serving(answer('{"ok": true}', headers={"X-Request-Id": "r1"})) as server:
        got = fetch(post(f"{server.url}/v1"))
    assert (got.status, got.body) == (200, b'{"ok": true}')
    assert got.headers == {"content-type": "application/json", "content-length": "12", "x-request-id": "r1"}


def test_a_request_arrives_as_the_adapter_made_it(fetch):
    with serving(answer()) as server:
        fetch(post(f"{server.url}/v1/chat?a=b", body=b'{"model": "m"}', authorization="Bearer k", x_more="1"))
    [seen] = server.requests
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/chat?a=b", b'{"model": "m"}')
    assert seen.headers == {
        "host": server.url.removeprefix("http://"),
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "connection": "keep-alive",
        "user-agent": "django-llm-foundation/0.1.0",
        "authorization": "Bearer k",
        "x-more": "1",
        "content-length": "14",
    }


def test_a_request_without_a_body_has_none(fetch):
    with serving(answer()) as server:
        fetch(HTTPRequest("GET", f"{server.url}/v1/models", {}))
    assert (server.requests[0].method, server.requests[0].body) == ("GET", b"")
    assert "content-length" not in server.requests[0].headers


@pytest.mark.parametrize("status", [204, 301, 400, 401, 404, 429, 500, 529])
def test_the_status_is_not_judged_here(fetch_any_way, status):
    with serving(answer(status=status)) as server:
        assert fetch_any_way(post(server.url)).status == status


def test_the_content_type_is_not_judged_here(fetch):
    with serving(answer("<html>Sign in</html>", content_type="text/html")) as server:
        got = fetch(post(server.url))
    assert (got.headers["content-type"], got.body) == ("text/html", b"<html>Sign in</html>")


def test_a_header_that_comes_twice_is_joined(fetch):
    with serving(answer(headers={"x-limit": "1", "X-Limit": "2"})) as server:
        assert fetch(post(server.url)).headers["x-limit"] == "1, 2"


def test_a_compressed_body_arrives_unpacked(fetch_any_way):
    with serving(answer(gzip.compress(b'{"ok": true}'), headers={"content-encoding": "gzip"})) as server:
        assert fetch_any_way(post(server.url)).body == b'{"ok": true}'


def test_events_arrive_in_order(fetch_any_way):
    with serving(events({"n": 1}, {"n": 2})) as server:
        body = fetch_any_way(post(server.url)).body
    assert body == b'data: {"n": 1}\n\ndata: {"n": 2}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://evil.example/v1?key=hunter2", "https://evil.example"),
        ("//evil.example/v1", "http://evil.example"),
        ("https://hunter2@evil.example/", "an address that cannot be read"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_with_its_target_and_not_followed(fetch_any_way, status, location, shown):
    with serving(redirect(location, status=status)) as server, pytest.raises(UrlRefused) as refusal:
        fetch_any_way(post(server.url, authorization="Bearer hunter2"))
    assert f"{server.url} redirects to {shown} (status {status})" in str(refusal.value)
    assert "set it as the provider's base URL" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
    assert len(server.requests) == 1


def test_a_redirect_to_the_same_server_is_not_followed_either(fetch):
    with serving([redirect("/v1/"), answer()]) as server, pytest.raises(UrlRefused):
        fetch(post(server.url))
    assert len(server.requests) == 1


def test_a_cookie_does_not_come_back_with_the_next_key(fetch):
    with serving(answer(headers={"Set-Cookie": "session=of-first-key; Path=/"})) as server:
        first = fetch(post(server.url, authorization="Bearer first"))
        fetch(post(server.url, authorization="Bearer second"))
    assert "cookie" not in server.requests[1].headers
    assert "set-cookie" not in first.headers


@pytest.mark.parametrize("value", ["Bearer k\r\nx-evil: 1", "Bearer k\n", " Bearer k", "Bearer clé", "Bearer k\0"])
def test_a_header_that_http_cannot_carry_is_named_and_nothing_is_sent(fetch_any_way, value):
    with serving(answer()) as server, pytest.raises(ConfigurationError) as error:
        fetch_any_way(post(server.url, authorization=value))
    assert str(error.value) == (
        "Header 'authorization' begins or ends with a space, or holds a line break or a letter outside ASCII."
        " Enter its value, or the key in it, again."
    )
    assert server.connections == 0


def test_a_header_name_that_http_cannot_carry_is_refused(fetch):
    with serving(answer()) as server, pytest.raises(ConfigurationError, match="A header's name"):
        fetch(HTTPRequest("POST", server.url, {"x evil": "1"}, b""))
    assert server.connections == 0


def test_a_refused_url_is_not_contacted(fetch_any_way):
    with serving(answer(), named=False) as server, pytest.raises(UrlRefused, match="is not https"):
        fetch_any_way(post(server.url))
    assert server.connections == 0


def test_proxies_and_keys_of_the_environment_are_not_used(fetch, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(answer()) as proxy, serving(answer()) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        fetch(post(server.url))
    assert proxy.requests == []
    assert "authorization" not in server.requests[0].headers


def test_a_test_can_put_its_own_transport_in_place_of_the_network(fetch_any_way):
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=b"from " + request.url.raw_host))
    with client.using(transport):
        assert fetch_any_way(post("https://api.example.com/v1")).body == b"from api.example.com"


def test_the_network_is_back_after_a_test_used_its_own_transport(fetch):
    with serving(answer(b"from the network")) as server:
        with client.using(httpx2.MockTransport(lambda request: httpx2.Response(200, content=b"from the test"))):
            assert fetch(post(server.url)).body == b"from the test"
        assert fetch(post(server.url)).body == b"from the network"


def test_an_answer_shows_neither_headers_nor_body():
    with serving(answer(b"hunter2", headers={"x-key": "hunter2"})) as server:
        got = client.send(post(server.url, authorization="Bearer hunter2"), limits=PATIENT)
    assert repr(got) == "HTTPAnswer(status=200)"
