from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from example_project.shop.models import Customer, Message, Order, OrderLine, Refund, ReturnLabel, Ticket

if TYPE_CHECKING:  # the stubs say more of these classes than Django does at run time
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline


class LineInline(TabularInline):
    model = OrderLine
    extra = 0


class RecordAdmin:
    """A record of what happened: to be read, not written."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class RefundInline(RecordAdmin, TabularInline):
    model = Refund
    extra = 0


@admin.register(Customer)
class CustomerAdmin(ModelAdmin):
    list_display = ["name", "email"]
    search_fields = ["name", "email"]


@admin.register(Order)
class OrderAdmin(ModelAdmin):
    list_display = ["number", "customer", "status", "placed_on", "total", "refunded", "left"]
    list_filter = ["status"]
    list_select_related = ["customer"]
    search_fields = ["number", "customer__name"]
    inlines = [LineInline, RefundInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        return super().get_queryset(request).prefetch_related("lines", "refunds")


@admin.register(Refund)
class RefundAdmin(RecordAdmin, ModelAdmin):
    list_display = ["made_at", "order", "amount", "reason", "made_by"]
    list_select_related = ["order", "made_by"]


@admin.register(Ticket)
class TicketAdmin(ModelAdmin):
    list_display = ["number", "subject", "customer", "order", "closed_at"]
    list_filter = [("closed_at", admin.EmptyFieldListFilter)]
    list_select_related = ["customer", "order"]
    search_fields = ["number", "subject"]


@admin.register(ReturnLabel)
class ReturnLabelAdmin(RecordAdmin, ModelAdmin):
    list_display = ["made_at", "order", "service", "weight", "made_by"]
    list_select_related = ["order", "made_by"]


@admin.register(Message)
class MessageAdmin(RecordAdmin, ModelAdmin):
    list_display = ["sent_at", "order", "text", "sent_by"]
    list_select_related = ["order", "sent_by"]
