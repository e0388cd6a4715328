"""The errors of httpx2 and httpcore2 in our words: their own texts can quote headers and bodies."""

import socket
import ssl
from collections.abc import Iterator

from llm_foundation.exceptions import (
    ConfigurationError,
    ConnectionFailed,
    InvalidResponse,
    LLMFoundationError,
    TimedOut,
    UrlRefused,
)
from llm_foundation.transport.exchange import Exchange


def http_errors() -> tuple[type[Exception], ...]:
    """All that the two libraries raise while a request is on its way, our own transports or others in place."""
    import httpcore2
    import httpx2

    return (
        httpx2.RequestError,
        httpx2.InvalidURL,
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
    )


def named(error: Exception, exchange: Exchange) -> LLMFoundationError:
    """What to raise instead. ``sent`` is false only where no byte of the request can have left."""
    import httpcore2
    import httpx2

    origin, clock = exchange.origin, exchange.clock
    match error:
        case httpx2.PoolTimeout() | httpcore2.PoolTimeout():
            return TimedOut(f"none of the connections in use came free {clock.connecting_limit}", sent=False)
        case httpx2.ConnectTimeout() | httpcore2.ConnectTimeout():
            return TimedOut(f"no connection to {origin} {clock.connecting_limit}", sent=False)
        case httpx2.TimeoutException() | httpcore2.TimeoutException():
            return TimedOut(f"the answer of {origin} {clock.answering_limit}", sent=True)
        case httpx2.ConnectError() | httpcore2.ConnectError():
            return ConnectionFailed(f"{origin} {why_no_connection(error)}", sent=False)
        case httpx2.DecodingError():
            return InvalidResponse(f"the body from {origin} is not compressed as its headers say")
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpcore2.UnsupportedProtocol():
            return UrlRefused(f"The URL of {origin} cannot be read. Write it plainly.")
        case httpx2.LocalProtocolError() | httpcore2.LocalProtocolError():
            return ConfigurationError(f"The request to {origin} breaks the rules of HTTP. Check its headers.")
    return ConnectionFailed(f"{origin} broke the connection off, or does not speak HTTP", sent=True)


def why_no_connection(error: Exception) -> str:
    for cause in causes(error):
        match cause:
            case socket.gaierror():
                return "has a name that does not resolve; check the host in the base URL"
            case ssl.SSLCertVerificationError():
                return f"has a certificate that is not accepted: {cause.verify_message}"
            case ssl.SSLError():
                return "does not speak TLS as https needs it; check scheme and port of the base URL"
            case ConnectionRefusedError():
                return "refuses connections; check that the server runs, and the port of the base URL"
    return "cannot be reached over the network"


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies beneath it; httpcore2 keeps the cause as its argument."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or next((part for part in found.args if isinstance(part, BaseException)), None)
