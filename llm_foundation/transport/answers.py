"""What came back. Header names are in lower case, bodies are decoded from gzip and deflate."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HTTPAnswer:
    """A whole answer, whatever its status."""

    status: int
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """An answer whose body is still arriving. Take it in ``chunks``, or ``read()`` what is left of it."""

    status: int
    headers: dict[str, str] = field(repr=False)
    chunks: Iterator[bytes] = field(repr=False)

    def read(self) -> bytes:
        return b"".join(self.chunks)


@dataclass(frozen=True, slots=True)
class AsyncStreamedAnswer:
    """As ``StreamedAnswer``."""

    status: int
    headers: dict[str, str] = field(repr=False)
    chunks: AsyncIterator[bytes] = field(repr=False)

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks])
