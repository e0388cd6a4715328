"""Amounts, in US dollars."""

from decimal import Decimal


def in_dollars(amount: Decimal | str) -> str:
    """Without zeros at its end: most calls cost less than a cent."""
    return f"${Decimal(amount).normalize():f}"
