"""Amounts, in US dollars."""

from decimal import Decimal, InvalidOperation
from typing import Any


def in_dollars(amount: Decimal) -> str:
    """Without zeros at its end: most calls cost less than a cent."""
    return f"${amount.normalize():f}"


def amount_of(written: Any) -> Decimal:
    """As an event holds it; nothing where it holds none."""
    try:
        amount = Decimal(str(written))
    except InvalidOperation:
        return Decimal(0)
    return amount if amount.is_finite() else Decimal(0)
