"""Tools and their groups. What code declares is shown; what is the operator's can be switched."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from llm_foundation.admin.records import ModelAdmin
from llm_foundation.models import ToolGroup, ToolRecord


class DeclaredAdmin(ModelAdmin):
    """Records that follow the code: they come and go with it, not by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(ToolRecord)
class ToolRecordAdmin(DeclaredAdmin):
    """Switching needs ``change_toolrecord``."""

    list_display = ["name", "group", "effect", "data_class", "asks", "always_ask", "enabled", "present"]
    list_filter = ["enabled", "always_ask", "present", "effect", "data_class", "group"]
    list_select_related = ["group"]
    search_fields = ["name", "description"]
    readonly_fields = [
        "name",
        "description",
        "source",
        "group",
        "effect",
        "data_class",
        "reaches",
        "asks",
        "permission",
        "definition_digest",
        "present",
    ]
    fieldsets = [
        (
            _("Yours to switch"),
            {
                "fields": ["enabled", "always_ask"],
                "description": _("You can take away, and add a question. What the code asks for cannot be widened."),
            },
        ),
        (
            _("As the code declares it"),
            {
                "fields": [
                    "name",
                    "description",
                    "effect",
                    "asks",
                    "data_class",
                    "reaches",
                    "permission",
                    "group",
                    "source",
                    "present",
                    "definition_digest",
                ]
            },
        ),
    ]


@admin.register(ToolGroup)
class ToolGroupAdmin(DeclaredAdmin):
    """Switching needs ``change_toolgroup``."""

    list_display = ["name", "tool_count", "enabled"]
    list_filter = ["enabled"]
    search_fields = ["name"]
    readonly_fields = ["name", "members"]
    fields = ["name", "enabled", "members"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counted: QuerySet[Any] = super().get_queryset(request).annotate(size=Count("tools"))
        return counted

    @admin.display(description=_("tools"), ordering="size")
    def tool_count(self, group: Any) -> int:
        return int(group.size)

    @admin.display(description=_("its tools"))
    def members(self, group: ToolGroup) -> str:
        return ", ".join(group.tools.values_list("name", flat=True)) or "–"
