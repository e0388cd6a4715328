"""Which addresses we contact: https to public ones; others only where ``PRIVATE_ORIGINS`` names their origin.

::

    check_url(url)              when a URL is saved, and before each request: pure
    check_address(address, …)   when a name was resolved, before the connection to exactly that address

A URL is taken in one strict form only. What is written in an unusual way (an address as one number, a name in
another alphabet, a backslash) is refused, because two programs may read it as two different hosts.
"""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

from llm_foundation.conf import settings
from llm_foundation.exceptions import ConfigurationError, UrlRefused
from llm_foundation.transport.address_ranges import kind_of

DEFAULT_PORTS: Final = {"https": 443, "http": 80}
ALLOWED_CHARACTERS: Final = re.compile(r"[!-\[\]-~]+")  # visible ASCII without the backslash
URL_PARTS: Final = re.compile(r"(?P<scheme>[^:/?#]+)://(?P<authority>[^/?#]*)(?P<rest>.*)")
AUTHORITY: Final = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
HOST_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
NUMERIC_END: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


class Origin(NamedTuple):
    """Scheme, host and port; ``host`` is lower case, an IPv6 address without its brackets."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}")


def check_url(url: str) -> Origin:
    """The origin of a URL that we may contact, as far as its text can tell. Raises ``UrlRefused`` with the remedy."""
    origin = origin_of(url)
    if origin in private_origins():
        return origin
    if origin.scheme != "https":
        raise UrlRefused(f"{origin} is not https. Use https, or, if the server is yours, {naming(origin)}.")
    if kind := kind_of_host(origin.host):
        raise UrlRefused(f"{origin} is {kind}. Use a public host, or, if the server is yours, {naming(origin)}.")
    return origin


def check_address(address: str, *, host: str, port: int) -> None:
    """Say yes to one address that ``host`` was resolved to. Raises ``UrlRefused`` with the remedy."""
    kind = kind_of(ip_address(address))
    if kind and not is_named(host, port):
        remedy = naming(Origin("https", host, port))
        raise UrlRefused(f"Host {host!r} leads to {address}, {kind}. If that server is yours, {remedy}.")


def is_named(host: str, port: int) -> bool:
    """Whether settings name an origin at this host and port."""
    return any(origin.host == host and origin.port == port for origin in private_origins())


def naming(origin: Origin) -> str:
    return f'add "{origin}" to LLM_FOUNDATION["PRIVATE_ORIGINS"]'


def private_origins() -> frozenset[Origin]:
    return named_origins(settings.PRIVATE_ORIGINS)


@lru_cache(maxsize=16)
def named_origins(entries: tuple[str, ...]) -> frozenset[Origin]:
    try:
        return frozenset(map(origin_of, entries))
    except UrlRefused as refusal:
        raise ConfigurationError(f'LLM_FOUNDATION["PRIVATE_ORIGINS"]: {refusal}') from None


@lru_cache(maxsize=256)
def origin_of(url: str) -> Origin:
    """Read a URL in its one accepted form. Raises ``UrlRefused``; what cannot be read is not shown, it may be a key."""
    if not ALLOWED_CHARACTERS.fullmatch(url):
        raise UrlRefused("The URL is empty, or has a space, a backslash or a letter outside ASCII. Write it plainly.")
    parts = URL_PARTS.fullmatch(url)
    if not parts or (scheme := parts["scheme"].lower()) not in DEFAULT_PORTS:
        raise UrlRefused("The URL does not begin with https://. Write it in full, as in https://api.example.com/v1.")
    if "@" in parts["authority"]:
        raise UrlRefused("The URL holds a user name or password. Remove it; the key has a field of its own.")
    if "#" in parts["rest"]:
        raise UrlRefused("The URL has a fragment. Remove what stands from the # on.")
    return Origin(scheme, *host_and_port(parts["authority"], DEFAULT_PORTS[scheme]))


def host_and_port(authority: str, default_port: int) -> tuple[str, int]:
    parts = AUTHORITY.fullmatch(authority)
    port = int(parts["port"] or default_port) if parts else 0
    if not parts or not 0 < port < 65536:
        raise UrlRefused("The URL's host and port cannot be read. Write them as in https://api.example.com:8443/v1.")
    return (ip_v6(parts["v6"]) if parts["v6"] else name_or_ip_v4(parts["name"].lower())), port


def ip_v6(text: str) -> str:
    try:
        return IPv6Address(text).compressed
    except AddressValueError:
        raise UrlRefused("What stands in brackets is not an IPv6 address. Correct it, or use a host name.") from None


def name_or_ip_v4(host: str) -> str:
    """Whatever ends in a number would be read as an IPv4 address by some: 0x7f.1, 2130706433, 0177.0.0.1."""
    if not HOST_NAME.fullmatch(host):
        raise UrlRefused("The URL's host is not a DNS name. Write it as in api.example.com, other alphabets as xn--….")
    if NUMERIC_END.fullmatch(host):
        try:
            IPv4Address(host)
        except AddressValueError:
            raise UrlRefused(f"{host} is an unusual way to write an address. Use four decimal numbers.") from None
    return host


@lru_cache(maxsize=256)
def kind_of_host(host: str) -> str:
    """What keeps a host from being public, as far as its text can tell; empty if nothing does."""
    if host == "localhost" or host.endswith(".localhost"):
        return "this machine itself"
    if ":" in host or NUMERIC_END.fullmatch(host):
        return kind_of(ip_address(host))
    return ""
