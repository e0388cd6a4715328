"""Configurations: what code names, and what the administrator decides stands behind the name."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from llm_foundation.admin.records import JSON_INPUT, ModelAdmin, TabularInline
from llm_foundation.models import Configuration, ConfigurationFallback

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[ConfigurationFallback]
else:
    ModelForm = forms.ModelForm


class FallbackForm(ModelForm):
    def clean(self) -> dict[str, Any]:
        """The database refuses it too; but an inline form does not ask for constraints on its own parent."""
        cleaned: dict[str, Any] = super().clean() or {}
        fallback = cleaned.get("fallback")
        if fallback is not None and fallback.pk == self.instance.configuration_id:
            self.add_error("fallback", gettext("A configuration cannot be its own fallback."))
        return cleaned


class FallbackInline(TabularInline):
    model = ConfigurationFallback
    form = FallbackForm
    fk_name = "configuration"
    extra = 0
    verbose_name_plural = _("Fallbacks: who answers when this model cannot")


@admin.register(Configuration)
class ConfigurationAdmin(ModelAdmin):
    """Needs the model's own permissions."""

    formfield_overrides = JSON_INPUT
    list_display = ["name", "slug", "language_model", "provider", "tool_count", "group_count", "enabled"]
    list_filter = ["enabled", "language_model__provider"]
    list_select_related = ["language_model__provider"]
    search_fields = ["name", "slug", "description"]
    prepopulated_fields = {"slug": ["name"]}
    filter_horizontal = ["tools", "tool_groups", "always_ask", "groups"]
    inlines = [FallbackInline]
    fieldsets = [
        (None, {"fields": ["name", "slug", "description", "enabled"]}),
        (_("Model"), {"fields": ["language_model", "system_prompt", "options"]}),
        (
            _("Tools"),
            {
                "fields": ["tools", "tool_groups", "always_ask"],
                "description": _(
                    "What the model may call. Each call passes the gate as well: the user's rights, the tool's own"
                    " switch, and the trust zone of the provider."
                ),
            },
        ),
        (_("Who may use it"), {"fields": ["groups"]}),
        (
            _("Decisions"),
            {
                "fields": ["approval_policy", "approval_group", "approval_ttl", "on_expiry"],
                "description": _("Who releases the calls that wait for a person, and for how long they wait."),
            },
        ),
        (
            _("Limits of one run"),
            {
                "fields": [
                    "max_rounds",
                    "max_calls_per_turn",
                    "max_calls_per_run",
                    "max_tokens",
                    "max_cost",
                    "max_seconds",
                ],
                "description": _("When a run reaches one, the model is asked to answer without further calls."),
            },
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counts = {
            "tools_granted": Count("tools", distinct=True),
            "groups_granted": Count("tool_groups", distinct=True),
        }
        counted: QuerySet[Any] = super().get_queryset(request).annotate(**counts)
        return counted

    @admin.display(description=_("provider"), ordering="language_model__provider__name")
    def provider(self, configuration: Configuration) -> str:
        return str(configuration.language_model.provider)

    @admin.display(description=_("tools"), ordering="tools_granted")
    def tool_count(self, configuration: Any) -> int:
        return int(configuration.tools_granted)

    @admin.display(description=_("tool groups"), ordering="groups_granted")
    def group_count(self, configuration: Any) -> int:
        return int(configuration.groups_granted)
