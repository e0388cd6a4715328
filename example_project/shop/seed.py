"""The shop as it stands before anybody does anything: people, customers, orders, tickets."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from django.db import transaction

from example_project.shop.models import Customer, Message, Order, OrderLine, Refund, ReturnLabel, Ticket
from example_project.shop.people import GROUPS, PEOPLE, hire, make_group

CLARA: Final = ("Clara Jansen", "clara@customers.example")
TOMAS: Final = ("Tomás Silva", "tomas@customers.example")
YUKI: Final = ("Yuki Tanaka", "yuki@customers.example")


@dataclass(frozen=True)
class Sale:
    number: str
    customer: tuple[str, str]
    status: Order.Status
    placed_on: date
    lines: tuple[tuple[str, int, str], ...]


SALES: Final = (
    Sale(
        "2026-1138",
        CLARA,
        Order.Status.PAID,
        date(2026, 3, 2),
        (("Teapot, blue", 1, "49.90"), ("Tea cup, blue", 2, "20.00")),
    ),
    Sale("2026-1139", TOMAS, Order.Status.SHIPPED, date(2026, 3, 4), (("Kettle", 1, "39.50"),)),
    Sale("2026-1140", YUKI, Order.Status.OPEN, date(2026, 3, 5), (("Green tea, 100 g", 3, "8.40"),)),
    Sale("2026-1141", YUKI, Order.Status.SHIPPED, date(2026, 3, 7), (("Tea cup, white", 4, "18.00"),)),
)

TICKETS: Final = (
    ("T-203", CLARA, "2026-1138", "The teapot arrived broken"),
    ("T-204", TOMAS, "2026-1139", "When will my kettle come?"),
    ("T-205", YUKI, None, "Do you have matcha?"),
)


def seed(*, fresh: bool = False) -> None:
    """Make what is missing and leave what is there. ``fresh`` throws the shop's rows away first, not its people."""
    with transaction.atomic():
        if fresh:
            for model in (Message, ReturnLabel, Refund, Ticket, OrderLine, Order, Customer):
                model._default_manager.all().delete()
        for name, permissions in GROUPS.items():
            make_group(name, permissions)
        for person in PEOPLE:
            hire(person)
        for sale in SALES:
            sell(sale)
        for number, (_, email), order, subject in TICKETS:
            Ticket.objects.get_or_create(
                number=number,
                defaults={
                    "customer": Customer.objects.get(email=email),
                    "order": Order.objects.filter(number=order).first(),
                    "subject": subject,
                },
            )


def sell(sale: Sale) -> None:
    name, email = sale.customer
    customer, _ = Customer.objects.get_or_create(email=email, defaults={"name": name})
    order, is_new = Order.objects.get_or_create(
        number=sale.number,
        defaults={"customer": customer, "status": sale.status, "placed_on": sale.placed_on},
    )
    if is_new:
        OrderLine.objects.bulk_create(
            OrderLine(order=order, product=product, quantity=quantity, unit_price=Decimal(price))
            for product, quantity, price in sale.lines
        )
