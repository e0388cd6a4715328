"""Tools as a module with postponed annotations declares them; the context is imported for type checkers only."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from somewhere import Nowhere

    from llm_foundation.tools import ToolContext


def refund(context: ToolContext, amount: Decimal, note: str | None = None) -> Nowhere:
    """Refund an amount."""
    return f"{context.call_id}: {amount!r} {note!r}"


def lost(amount: Nowhere) -> str:
    return str(amount)


def collects(*numbers: int) -> str:
    return str(numbers)
