"""How long a call may take, held to while it runs: a server that sends one byte a second gains no time by it."""

from dataclasses import dataclass
from time import monotonic
from typing import Self

from llm_foundation.conf import settings


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Three moments of one call, in seconds after its start.

    ``connect``: a connection is there, the name resolved and TLS agreed. ``first_byte``: the body of the
    answer has begun. ``total``: the answer is complete; in a stream this counts the reader's own time too.
    """

    connect: float
    first_byte: float
    total: float

    @classmethod
    def from_settings(cls) -> Self:
        return cls(
            connect=settings.CONNECT_TIMEOUT,
            first_byte=settings.FIRST_BYTE_TIMEOUT,
            total=settings.TOTAL_TIMEOUT,
        )


class Countdown(float):
    """A timeout that runs on while it is passed along.

    To the libraries in between it is the number of seconds that were left when it was made. Who waits in the
    end asks for ``left()``: a timeout per wait, as sockets have it, would start again with every byte.
    """

    __slots__ = ("ends_at",)
    ends_at: float

    def __new__(cls, ends_at: float) -> Self:
        countdown = super().__new__(cls, max(ends_at - monotonic(), 0))
        countdown.ends_at = ends_at
        return countdown

    def left(self) -> float:
        """Seconds from now; zero or less when the time is up."""
        return self.ends_at - monotonic()


class Clock:
    """The deadlines of one running call."""

    __slots__ = ("answering", "connecting", "ends_at", "limits")

    def __init__(self, limits: Deadlines) -> None:
        now = monotonic()
        self.limits = limits
        self.ends_at = now + limits.total
        self.connecting = Countdown(now + min(limits.connect, limits.total))
        self.answering = Countdown(now + min(limits.first_byte, limits.total))

    @property
    def timeouts(self) -> dict[str, float]:
        """In the form of httpx2's ``timeout`` extension."""
        return {
            "pool": self.connecting,
            "connect": self.connecting,
            "write": self.answering,
            "read": self.answering,
        }

    def first_byte_arrived(self) -> None:
        self.answering.ends_at = self.ends_at

    @property
    def answering_limit(self) -> str:
        """The limit that an answer has to keep now, in words."""
        if self.answering.ends_at == self.ends_at:
            return f"was not complete within {self.limits.total:g} seconds (total limit)"
        return f"did not begin within {self.limits.first_byte:g} seconds (first-byte limit)"

    @property
    def connecting_limit(self) -> str:
        return f"within {min(self.limits.connect, self.limits.total):g} seconds (connect limit)"
