"""What a small shop knows: who bought what, what was paid back, and what customers ask."""

from decimal import Decimal

from django.conf import settings
from django.db import models

NOTHING = Decimal("0.00")


class Customer(models.Model):
    name = models.CharField(max_length=100)
    email = models.EmailField(unique=True)

    def __str__(self) -> str:
        return self.name


class Order(models.Model):
    """What a customer bought. Amounts are in euros; ``total`` is the sum of its lines."""

    class Status(models.TextChoices):
        OPEN = "open", "open"
        PAID = "paid", "paid"
        SHIPPED = "shipped", "paid and shipped"
        CANCELLED = "cancelled", "cancelled"

    PAID_STATUSES = (Status.PAID, Status.SHIPPED)

    number = models.CharField(max_length=20, unique=True, help_text='As printed on the invoice, such as "2026-1138".')
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="orders")
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    placed_on = models.DateField()

    class Meta:
        ordering = ["-number"]
        permissions = [("refund_order", "Can pay money of an order back")]

    def __str__(self) -> str:
        return self.number

    @property
    def is_paid(self) -> bool:
        return self.status in self.PAID_STATUSES

    @property
    def total(self) -> Decimal:
        return sum((line.quantity * line.unit_price for line in self.lines.all()), start=NOTHING)

    @property
    def refunded(self) -> Decimal:
        return sum((refund.amount for refund in self.refunds.all()), start=NOTHING)

    @property
    def left(self) -> Decimal:
        """What can still be paid back; nothing as long as the order is not paid."""
        return self.total - self.refunded if self.is_paid else NOTHING


class OrderLine(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.CharField(max_length=100)
    quantity = models.PositiveSmallIntegerField(default=1)
    unit_price = models.DecimalField(max_digits=8, decimal_places=2)

    def __str__(self) -> str:
        return f"{self.quantity} × {self.product}"


class Refund(models.Model):
    """Money paid back. Made by ``refunds.refund``, which holds the rules."""

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="refunds")
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    reason = models.CharField(max_length=200, blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-made_at"]
        constraints = [models.CheckConstraint(condition=models.Q(amount__gt=0), name="shop_refund_is_positive")]

    def __str__(self) -> str:
        return f"{self.amount} EUR of {self.order}"


class Ticket(models.Model):
    """A question of a customer, open until somebody closes it."""

    number = models.CharField(max_length=20, unique=True, help_text='Such as "T-204".')
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="tickets")
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="tickets", null=True, blank=True)
    subject = models.CharField(max_length=200)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.number}: {self.subject}"


class Message(models.Model):
    """A letter that has left the house."""

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="messages")
    text = models.TextField()
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-sent_at"]
        permissions = [("send_message", "Can write to customers")]

    def __str__(self) -> str:
        return f"to {self.order.customer} about {self.order}"


class ReturnLabel(models.Model):
    """With it a customer sends a parcel back, and the shop pays the carrier by its weight."""

    class Service(models.TextChoices):
        STANDARD = "standard", "standard"
        EXPRESS = "express", "express"

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="return_labels")
    service = models.CharField(max_length=10, choices=Service)
    weight = models.DecimalField(max_digits=4, decimal_places=1, help_text="In kilograms.")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-made_at"]

    def __str__(self) -> str:
        return f"{self.weight} kg of {self.order}, {self.service}"
