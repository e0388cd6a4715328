import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_foundation.exceptions import ConfigurationError, UrlRefused
from llm_foundation.transport.url_policy import Origin, check_address, check_url, origin_of
from tests.loopback import naming_origins


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.openai.com/v1/chat/completions", ("https", "api.openai.com", 443)),
        ("HTTPS://API.OpenAI.com:443/V1", ("https", "api.openai.com", 443)),
        ("https://shop.openai.azure.com/openai/deployments/a?api-version=1", ("https", "shop.openai.azure.com", 443)),
        ("https://api.example.com:8443", ("https", "api.example.com", 8443)),
        ("https://vertex.example.com/models/claude@20250514:predict", ("https", "vertex.example.com", 443)),
        ("https://xn--fiqs8s.example/", ("https", "xn--fiqs8s.example", 443)),
        ("https://8.8.8.8/v1", ("https", "8.8.8.8", 443)),
        ("https://[2606:4700:0:0::1111]:8443/", ("https", "2606:4700::1111", 8443)),
        ("http://localhost:11434/v1", ("http", "localhost", 11434)),
        ("http://LOCALHOST:11434/v1", ("http", "localhost", 11434)),
    ],
)
def test_public_https_and_named_origins_are_let_through(url, origin):
    assert check_url(url) == Origin(*origin)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://api.openai.com/v1", "http://api.openai.com is not https"),
        ("http://localhost:8000/", "http://localhost:8000 is not https"),
        ("https://localhost:11434/", "https://localhost:11434 is this machine itself"),
        ("https://llm.localhost/", "https://llm.localhost is this machine itself"),
        ("https://127.0.0.1/", "https://127.0.0.1 is a loopback address"),
        ("https://[::1]:8443/", "https://[::1]:8443 is a loopback address"),
        ("https://10.1.2.3/", "https://10.1.2.3 is a private address"),
        ("https://169.254.169.254/latest/meta-data", "the metadata service of a cloud"),
        ("https://[::ffff:127.0.0.1]/", "an IPv4 address in IPv6 notation"),
        ("https://[::ffff:8.8.8.8]/", "an IPv4 address in IPv6 notation"),
        ("https://[::ffff:7f00:1]/", "an IPv4 address in IPv6 notation"),
        ("https://[0:0:0:0:0:0:0:1]/", "a loopback address"),
        # One address, many notations.
        ("https://2130706433/", "unusual way to write an address"),
        ("https://0x7f000001/", "unusual way to write an address"),
        ("https://0X7F.1/", "unusual way to write an address"),
        ("https://0177.0.0.1/", "unusual way to write an address"),
        ("https://127.1/", "unusual way to write an address"),
        ("https://127.0.0.01/", "unusual way to write an address"),
        ("https://1.2.3.4.5/", "unusual way to write an address"),
        ("https://example.0x/", "unusual way to write an address"),
        ("https://１２７.0.0.1/", "a letter outside ASCII"),
        ("https://127。0。0。1/", "a letter outside ASCII"),
        ("https://①②⑦.0.0.1/", "a letter outside ASCII"),
        ("https://%31%32%37.0.0.1/", "is not a DNS name"),
        ("https://127.0.0.1./", "is not a DNS name"),
        ("https://localhost./", "is not a DNS name"),
        ("https://[fe80::1%25eth0]/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://[1::2::3]/", "is not an IPv6 address"),
        # Two hosts in one URL, depending on who reads it.
        ("https://api.example.com\\@evil.example/", "a backslash"),
        ("https://api.example.com /", "a space"),
        ("https://api.example.com\n/", "a space"),
        ("https://api.example.com\t.evil.example/", "a space"),
        ("https://api.example.com:443:80/", "cannot be read"),
        ("https://api.example.com:/", "cannot be read"),
        ("https://api.example.com:0/", "cannot be read"),
        ("https://api.example.com:65536/", "cannot be read"),
        ("https://api.example.com:４43/", "a letter outside ASCII"),
        ("https://api.example.com#@evil.example/", "has a fragment"),
        ("https://user:hunter2@api.example.com/", "holds a user name or password"),
        ("https://hunter2@api.example.com/", "holds a user name or password"),
        ("https://@api.example.com/", "holds a user name or password"),
        # No URL for us at all.
        ("", "is empty"),
        ("api.example.com/v1", "does not begin with https://"),
        ("//api.example.com/v1", "does not begin with https://"),
        ("https:/api.example.com/v1", "does not begin with https://"),
        ("https:///v1", "cannot be read"),
        ("ftp://api.example.com/", "does not begin with https://"),
        ("file:///etc/passwd", "does not begin with https://"),
        ("gopher://api.example.com/", "does not begin with https://"),
        ("https://api..example.com/", "is not a DNS name"),
        (f"https://{'a' * 64}.example/", "is not a DNS name"),
        (f"https://{'a.' * 130}example/", "is not a DNS name"),
    ],
)
def test_other_urls_are_refused_with_a_reason(url, why):
    with pytest.raises(UrlRefused) as refusal:
        check_url(url)
    assert why in str(refusal.value)


def test_a_refusal_names_the_remedy():
    with pytest.raises(UrlRefused) as refusal:
        check_url("http://ollama.internal:11434/v1")
    assert str(refusal.value) == (
        "http://ollama.internal:11434 is not https. Use https, or, if the server is yours,"
        ' add "http://ollama.internal:11434" to LLM_FOUNDATION["PRIVATE_ORIGINS"].'
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@api.example.com/",
        "https://user:hunter/2@api.example.com/",
        "https://hunter2:x@y/",
        "https://hunter2!/",
        "https://[hunter2]/",
        "hunter2",
    ],
)
def test_a_password_in_a_url_does_not_get_into_the_error(url):
    with pytest.raises(UrlRefused) as refusal:
        check_url(url)
    assert "hunter" not in str(refusal.value)


def test_a_named_origin_is_let_through_on_its_scheme_and_port_only():
    with naming_origins("http://10.1.2.3:8000/", "https://vllm.internal"):
        assert check_url("http://10.1.2.3:8000/v1") == Origin("http", "10.1.2.3", 8000)
        assert check_url("https://vllm.internal:443/v1") == Origin("https", "vllm.internal", 443)
        for other in ["https://10.1.2.3:8000/", "http://10.1.2.3:8001/", "http://10.1.2.3/", "http://vllm.internal/"]:
            with pytest.raises(UrlRefused):
                check_url(other)


def test_settings_that_name_no_readable_origin_are_a_configuration_error():
    with naming_origins("http://127.1:8000"), pytest.raises(ConfigurationError) as error:
        check_url("https://api.example.com/")
    assert str(error.value) == (
        'LLM_FOUNDATION["PRIVATE_ORIGINS"]: 127.1 is an unusual way to write an address. Use four decimal numbers.'
    )


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("0.0.0.0", "this machine itself"),
        ("0.1.2.3", "this machine itself"),
        ("10.0.0.1", "a private address"),
        ("10.255.255.255", "a private address"),
        ("100.64.0.1", "a carrier's NAT"),
        ("100.100.100.200", "metadata service"),
        ("100.127.255.255", "a carrier's NAT"),
        ("127.0.0.1", "a loopback address"),
        ("127.255.255.254", "a loopback address"),
        ("168.63.129.16", "metadata service"),
        ("169.254.0.1", "a link-local address"),
        ("169.254.169.254", "metadata service"),
        ("169.254.170.2", "metadata service"),
        ("172.16.0.1", "a private address"),
        ("172.31.255.255", "a private address"),
        ("192.0.0.192", "reserved for protocols"),
        ("192.0.2.1", "for documentation"),
        ("192.88.99.1", "a 6to4 relay"),
        ("192.168.1.1", "a private address"),
        ("198.18.0.1", "for benchmarks"),
        ("198.51.100.1", "for documentation"),
        ("203.0.113.1", "for documentation"),
        ("224.0.0.1", "a multicast address"),
        ("239.255.255.255", "a multicast address"),
        ("240.0.0.1", "a reserved address"),
        ("255.255.255.255", "a reserved address"),
        ("::", "this machine itself"),
        ("::1", "a loopback address"),
        ("::7f00:1", "IPv4 address in IPv6 notation"),
        ("::ffff:127.0.0.1", "IPv4 address in IPv6 notation"),
        ("::ffff:169.254.169.254", "IPv4 address in IPv6 notation"),
        ("::ffff:8.8.8.8", "IPv4 address in IPv6 notation"),
        ("::ffff:0:127.0.0.1", "IPv4 address in IPv6 notation"),
        ("64:ff9b::7f00:1", "behind NAT64"),
        ("64:ff9b::808:808", "behind NAT64"),
        ("64:ff9b:1::a00:1", "behind NAT64"),
        ("100::1", "a reserved address"),
        ("2001:0:7f00:1::", "a Teredo tunnel"),
        ("2001:2::1", "reserved for protocols"),
        ("2001:20::1", "reserved for protocols"),
        ("2001:db8::1", "for documentation"),
        ("2002:7f00:1::", "a 6to4 tunnel"),
        ("2002:808:808::1", "a 6to4 tunnel"),
        ("3fff::1", "for documentation"),
        ("4000::1", "a reserved address"),
        ("5f00::1", "a reserved address"),
        ("fc00::1", "a private address"),
        ("fd00:ec2::254", "metadata service"),
        ("fd12:3456::1", "a private address"),
        ("fe80::1", "a link-local address"),
        ("fe80::1%eth0", "a link-local address"),
        ("fec0::1", "a private address"),
        ("ff02::1", "a multicast address"),
    ],
)
def test_no_name_may_lead_to_an_address_that_is_not_public(address, kind):
    with pytest.raises(UrlRefused) as refusal:
        check_address(address, host="api.example.com", port=443)
    assert kind in str(refusal.value)
    assert f"'api.example.com' leads to {address}" in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
     "168.63.129.17", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
     "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "3ffe::1"],
)  # fmt: skip
def test_a_public_address_is_let_through(address):
    assert check_address(address, host="api.example.com", port=443) is None


def test_a_named_host_may_lead_anywhere_on_its_port():
    with naming_origins("http://vllm.internal:8000"):
        assert check_address("10.1.2.3", host="vllm.internal", port=8000) is None
        with pytest.raises(UrlRefused):
            check_address("10.1.2.3", host="vllm.internal", port=443)


authorities = st.text(st.sampled_from("aZ0129.-_:@[]%\\/?# ١xn"), max_size=12)


@given(authorities, st.sampled_from(["https://", "http://", "https:", "HTTPS://"]))
def test_httpx2_finds_the_same_host_in_every_url_that_is_read_here(authority, scheme):
    import httpx2

    url = f"{scheme}{authority}/v1"
    try:
        origin = origin_of(url)
    except UrlRefused:
        return
    theirs = httpx2.URL(url)
    assert theirs.scheme == origin.scheme
    assert origin_of(f"https://{theirs.netloc.decode()}").host == origin.host
    assert (theirs.port or {"https": 443, "http": 80}[theirs.scheme]) == origin.port
