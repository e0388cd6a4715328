"""What a model may do at the support desk. The rules stand in ``refunds.py``; here they are made callable."""

from decimal import Decimal
from typing import Annotated, Any

from django.utils import timezone
from pydantic import BaseModel, Field

from example_project.shop import outbox
from example_project.shop.models import Message, Order, ReturnLabel, Ticket
from example_project.shop.refunds import RefundRefused, refund
from llm_foundation.exceptions import NotExecuted
from llm_foundation.tools import DataClass, Effect, ToolContext, tool

Amount = Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)]


@tool(effect=Effect.READ_ONLY, data_class=DataClass.PERSONAL, permission="shop.view_order", group="orders")
def find_order(context: ToolContext, number: str) -> dict[str, Any]:
    """Find one order by its number.

    Args:
        number: as printed on the invoice, for example "2026-1138".
    """
    order = existing_order(number)
    return {
        "number": order.number,
        "customer": order.customer.name,
        "status": order.get_status_display(),
        "total": order.total,
        "refunded": order.refunded,
        "left": order.left,
        "lines": [str(line) for line in order.lines.all()],
    }


@tool(effect=Effect.READ_ONLY, data_class=DataClass.PERSONAL, permission="shop.view_ticket", group="tickets")
def find_tickets(context: ToolContext, order: str = "") -> list[dict[str, Any]]:
    """List the open tickets, the newest first.

    Args:
        order: only those about the order of this number; leave it out for all.
    """
    tickets = Ticket.objects.filter(closed_at=None).select_related("customer", "order")
    if order:
        tickets = tickets.filter(order__number=order)
    return [
        {
            "number": ticket.number,
            "customer": ticket.customer.name,
            "order": ticket.order and ticket.order.number,
            "subject": ticket.subject,
        }
        for ticket in tickets[:20]
    ]


def preview_of_refund(context: ToolContext, number: str, amount: Decimal, reason: str) -> list[str]:
    """Pay back and look: nothing of a preview stays."""
    try:
        order = refund(number, amount, reason=reason, by=context.user).order
    except RefundRefused as refusal:
        return [f"The shop's rules will refuse this: {refusal}"]
    return [
        f"{amount} EUR go back to {order.customer}",
        f"Order {order.number}, {order.get_status_display()}, {order.total} EUR in all",
        f"Left to refund: {order.left + amount} EUR → {order.left} EUR",
    ]


@tool(
    effect=Effect.TRANSACTIONAL_WRITE,
    data_class=DataClass.PERSONAL,
    permission="shop.refund_order",
    preview=preview_of_refund,
    group="orders",
)
def refund_order(context: ToolContext, number: str, amount: Amount, reason: str = "") -> str:
    """Pay money of an order back to its customer, all of it or a part.

    Args:
        number: of the order, for example "2026-1138".
        amount: in euros, for example "20.00"; at most what is left of the order.
        reason: why, in a few words.
    """
    try:
        made = refund(number, amount, reason=reason, by=context.user)
    except RefundRefused as refusal:
        raise NotExecuted(str(refusal)) from refusal
    return f"Refunded {made.amount} EUR of order {number}; {made.order.left} EUR are left."


def preview_of_message(context: ToolContext, number: str, text: str) -> list[str]:
    try:
        customer = existing_order(number).customer
    except NotExecuted as refusal:
        return [f"This will fail: {refusal}"]
    return [f"To: {customer.name} <{customer.email}>", f"Subject: Your order {number}", "", *text.splitlines()]


@tool(
    effect=Effect.NON_IDEMPOTENT_WRITE,
    data_class=DataClass.PERSONAL,
    permission="shop.send_message",
    preview=preview_of_message,
    group="messages",
)
def send_message(context: ToolContext, number: str, text: str) -> str:
    """Write to the customer of an order. A letter cannot be called back, and sending it again makes a second one.

    Args:
        number: of the order, for example "2026-1138".
        text: the whole letter, in plain text.
    """
    order = existing_order(number)
    outbox.send(to=order.customer.email, subject=f"Your order {order.number}", text=text)
    Message.objects.create(order=order, text=text, sent_by=context.user)
    return f"Sent to {order.customer.name}."


class Parcel(BaseModel):
    """What no model can know: whoever stands at the scales says it."""

    weight: Decimal = Field(gt=0, le=30, decimal_places=1, title="Weight", description="In kilograms, up to 30.")
    service: ReturnLabel.Service = Field(ReturnLabel.Service.STANDARD, title="Service")


@tool(
    effect=Effect.TRANSACTIONAL_WRITE,
    data_class=DataClass.PERSONAL,
    permission="shop.add_returnlabel",
    input_model=Parcel,
    group="orders",
)
def make_return_label(context: ToolContext, number: str) -> str:
    """Make a label with which the customer sends an order back. Somebody in the stockroom adds weight and service.

    Args:
        number: of the order, for example "2026-1138".
    """
    parcel: Parcel = context.input
    order = existing_order(number)
    label = ReturnLabel.objects.create(order=order, weight=parcel.weight, service=parcel.service, made_by=context.user)
    return f"Return label {label.pk} for {label}."


def preview_of_closing(context: ToolContext, number: str) -> list[str]:
    try:
        ticket = existing_ticket(number)
    except NotExecuted as refusal:
        return [f"This will fail: {refusal}"]
    return [f"{ticket} ({ticket.customer})", f"{'closed' if ticket.closed_at else 'open'} → closed"]


@tool(
    effect=Effect.IDEMPOTENT_WRITE,
    data_class=DataClass.PERSONAL,
    permission="shop.change_ticket",
    preview=preview_of_closing,
    group="tickets",
)
def close_ticket(context: ToolContext, number: str) -> str:
    """Close a ticket. Closing one that is closed already changes nothing.

    Args:
        number: of the ticket, for example "T-204".
    """
    ticket = existing_ticket(number)
    Ticket.objects.filter(pk=ticket.pk, closed_at=None).update(closed_at=timezone.now())
    return f"Ticket {number} is closed."


def existing_order(number: str) -> Order:
    order = Order.objects.select_related("customer").filter(number=number).first()
    if order is None:
        raise NotExecuted(f"There is no order {number}.")
    return order


def existing_ticket(number: str) -> Ticket:
    ticket = Ticket.objects.select_related("customer").filter(number=number).first()
    if ticket is None:
        raise NotExecuted(f"There is no ticket {number}.")
    return ticket
