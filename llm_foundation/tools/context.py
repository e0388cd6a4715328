"""Who a call is made for, and how a tool hears of a cancel and speaks of its progress."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4


def _never() -> bool:
    return False


def _unheard(_text: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know about its call. It is never part of the schema that the model sees.

    ``user`` is the owner of the run, read live, or ``None`` for a run without one; ``run_id`` is ``None`` in memory.
    ``idempotency_key`` is the same on every attempt of one call. ``input`` is what a person filled in, an instance of
    the tool's ``input_model``; ``None`` where the tool has none, and in a preview that is made before. The defaults
    serve tests:
    ``find_order(ToolContext(user=clerk), number="2026-1138")``.
    """

    user: Any = None
    run_id: UUID | None = None
    call_id: str = "call"
    idempotency_key: str = field(default_factory=lambda: uuid4().hex)
    input: Any = field(default=None, repr=False)
    is_cancelled: Callable[[], bool] = field(default=_never, repr=False)
    report: Callable[[str], None] = field(default=_unheard, repr=False)

    def cancelled(self) -> bool:
        """Whether somebody asked to cancel the run. A long tool looks now and then, and stops where it can."""
        return self.is_cancelled()

    def progress(self, text: str) -> None:
        """Tell the people who follow the run how far the tool has come. The model does not see it."""
        self.report(text)
