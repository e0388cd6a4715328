"""One request on its way: where it goes, how long it may take, and how much it may bring back."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from llm_foundation.conf import settings
from llm_foundation.exceptions import ConfigurationError, InvalidResponse, UrlRefused
from llm_foundation.providers.base import HTTPRequest
from llm_foundation.transport.deadlines import Clock, Deadlines
from llm_foundation.transport.url_policy import check_url, origin_of

if TYPE_CHECKING:
    import httpx2

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


class Exchange:
    """Raises ``UrlRefused`` or ``ConfigurationError`` when made for a request that must not be sent."""

    __slots__ = ("clock", "origin", "request", "room", "size_limit")

    def __init__(self, request: HTTPRequest, limits: Deadlines) -> None:
        self.origin = check_url(request.url)
        check_headers(request.headers)
        self.request = request
        self.size_limit = self.room = settings.MAX_BODY_BYTES
        self.clock = Clock(limits)

    def outgoing(self, client: "httpx2.Client | httpx2.AsyncClient") -> "httpx2.Request":
        request = self.request
        return client.build_request(
            request.method,
            parsed(request.url),
            headers=dict(request.headers),
            content=request.body,
            extensions={"timeout": self.clock.timeouts},
        )

    def received(self, chunk: bytes) -> None:
        """Count decoded bytes, so that a small body cannot unpack to a large one. Raises ``InvalidResponse``."""
        self.clock.first_byte_arrived()
        self.room -= len(chunk)
        if self.room < 0:
            raise InvalidResponse(f"more than {self.size_limit} bytes from {self.origin} (MAX_BODY_BYTES)")

    def refuse_redirect(self, response: "httpx2.Response") -> None:
        if not response.has_redirect_location:
            return
        try:
            target = str(origin_of(urljoin(self.request.url, response.headers["location"])))
        except (UrlRefused, ValueError):
            target = "an address that cannot be read"
        raise UrlRefused(
            f"{self.origin} redirects to {target} (status {response.status_code}). Redirects are not followed, they"
            " could carry the key elsewhere: if the new address is right, set it as the provider's base URL."
        )


@lru_cache(maxsize=256)
def parsed(url: str) -> "httpx2.URL":
    """A run sends all its requests to one URL, and reading it is a third of the work of making one."""
    import httpx2

    return httpx2.URL(url)


def check_headers(headers: Mapping[str, str]) -> None:
    """What HTTP cannot carry is found here: the errors of the libraries quote the value, which may be a key."""
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise ConfigurationError("A header's name holds a character that HTTP does not allow. Correct the name.")
        if not HEADER_VALUE.fullmatch(value):
            raise ConfigurationError(
                f"Header {name!r} begins or ends with a space, or holds a line break or a letter outside ASCII."
                " Enter its value, or the key in it, again."
            )


def lower_case_headers(response: "httpx2.Response") -> dict[str, str]:
    """Repeated ones are joined by commas."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers.raw:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
