"""From a host to the addresses that may be contacted. They are checked here and not resolved again afterwards."""

import asyncio
import socket
from concurrent.futures import Future
from ipaddress import ip_address
from threading import Thread
from typing import Any

from llm_foundation.transport.url_policy import check_address

Found = Future[list[Any]]


def resolve(host: str, port: int, seconds: float | None) -> list[str]:
    """Every address of the host, in the resolver's order. Raises ``UrlRefused``, ``TimeoutError`` or ``OSError``."""
    if literal := literal_address(host):
        return checked([literal], host=literal, port=port)
    return checked(addresses_in(looked_up(host, port).result(seconds)), host=host, port=port)


async def aresolve(host: str, port: int, seconds: float | None) -> list[str]:
    """As ``resolve``."""
    if literal := literal_address(host):
        return checked([literal], host=literal, port=port)
    async with asyncio.timeout(seconds):
        found = await asyncio.wrap_future(looked_up(host, port))
    return checked(addresses_in(found), host=host, port=port)


def literal_address(host: str) -> str:
    """The host itself where it is an address, in its usual notation; else nothing."""
    try:
        return str(ip_address(host))
    except ValueError:
        return ""


def looked_up(host: str, port: int) -> Found:
    """The system's resolver knows no deadline. It runs in a daemon: the end of a loop or a process waits for others."""
    found = Found()
    Thread(target=look_up, args=(host, port, found), name="llm-foundation-dns", daemon=True).start()
    return found


def look_up(host: str, port: int, found: Found) -> None:
    if not found.set_running_or_notify_cancel():
        return
    try:
        found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except OSError as error:
        found.set_exception(error)


def addresses_in(found: list[Any]) -> list[str]:
    return list(dict.fromkeys(socket_address[0] for *_, socket_address in found))


def checked(addresses: list[str], *, host: str, port: int) -> list[str]:
    """One that is refused refuses all: a name that leads to both sides of the fence is a trick."""
    for address in addresses:
        check_address(address, host=host, port=port)
    return addresses
