"""What the demo asks for, and how it sees what came of it in the shop's own tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from example_project.shop.models import Message, Order, Refund, Ticket


@dataclass(frozen=True)
class Correction:
    """A question whose call is not quite right, and what is changed of it before it is released."""

    question: str
    changes: Mapping[str, Any]
    is_done: Callable[[], bool]


@dataclass(frozen=True)
class Task:
    """A question whose answer needs a write, one that needs a correction, and one more for the reader to decide."""

    question: str
    is_done: Callable[[], bool]
    correction: Correction
    next_question: str
    next_is_done: Callable[[], bool]


def refund_is_made() -> bool:
    order = Order.objects.get(number="2026-1138")
    return 0 < order.refunded <= order.total


def smaller_refund_is_made() -> bool:
    return Order.objects.get(number="2026-1139").refunded == Decimal("15.00")


def letter_is_sent() -> bool:
    return Message.objects.filter(order__number="2026-1139").exists()


def is_closed(ticket: str) -> bool:
    return Ticket.objects.filter(number=ticket, closed_at__isnull=False).exists()


SUPPORT: Final = Task(
    "Please refund order 2026-1138: the teapot arrived broken.",
    refund_is_made,
    Correction(
        "Please refund 20.00 EUR of order 2026-1139: the lid is scratched.",
        {"amount": "15.00", "reason": "a scratched lid"},
        smaller_refund_is_made,
    ),
    "Please write to the customer of order 2026-1139 that we are looking into it.",
    letter_is_sent,
)
ONE_TOOL: Final = Task(
    "Please close ticket T-204.",
    lambda: is_closed("T-204"),
    Correction(
        "Please close ticket T-205.", {"number": "T-203"}, lambda: is_closed("T-203") and not is_closed("T-205")
    ),
    "Please close ticket T-205.",
    lambda: is_closed("T-205"),
)


def ledger() -> dict[str, str]:
    """The rows that a task may touch, each as one line."""
    orders = Order.objects.prefetch_related("lines", "refunds")
    refunds = Refund.objects.select_related("order", "made_by")
    return {
        **{f"Order {order}": f"{order.left} EUR left to refund" for order in orders},
        **{f"Refund {refund.pk}": f"{refund}, made by {refund.made_by}" for refund in refunds},
        **{f"Ticket {ticket.number}": "closed" if ticket.closed_at else "open" for ticket in Ticket.objects.all()},
        **{f"Message {message.pk}": str(message) for message in Message.objects.select_related("order__customer")},
    }


def changes(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str]]:
    """Each row that is new or another, with what it was and what it is."""
    return [
        (name, f"{before[name]} → {now}" if name in before else f"new: {now}")
        for name, now in after.items()
        if before.get(name) != now
    ]
