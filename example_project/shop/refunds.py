"""The rules of paying back."""

from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from example_project.shop.models import Order, Refund

CENT = Decimal("0.01")


class RefundRefused(Exception):
    """The rules do not allow this refund; the text says which one, and may be told to anybody who may see the order."""


def refund(number: str, amount: Decimal, *, reason: str, by: User) -> Refund:
    """Pay back part of an order, or all of it. Raises ``RefundRefused``; then nothing has changed."""
    with transaction.atomic():
        # The order's row is the mutex: two refunds at once would both find enough left.
        order = Order.objects.select_for_update().filter(number=number).first()
        if order is None:
            raise RefundRefused(f"There is no order {number}.")
        check(order, amount)
        return Refund.objects.create(order=order, amount=amount, reason=reason, made_by=by)


def check(order: Order, amount: Decimal) -> None:
    if not order.is_paid:
        raise RefundRefused(f"Order {order} is {order.get_status_display()}: nothing was paid that could go back.")
    if not amount.is_finite() or amount <= 0:
        raise RefundRefused(f"{amount} EUR is not an amount that can be paid back.")
    if amount > order.left:
        raise RefundRefused(f"Of order {order} {order.left} EUR are left to refund, not {amount} EUR.")
    if amount != amount.quantize(CENT):
        raise RefundRefused(f"{amount} EUR is not a whole number of cents.")
