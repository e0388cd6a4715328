"""Providers: where models are, with which key, and how far they are trusted."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters

from llm_foundation.admin.provider_form import NEW_KEY, ProviderForm, key_status
from llm_foundation.admin.records import JSON_INPUT, ModelAdmin
from llm_foundation.models import Provider


@admin.register(Provider)
class ProviderAdmin(ModelAdmin):
    """Needs the model's own permissions: ``view_provider``, ``change_provider`` and so on."""

    form = ProviderForm
    formfield_overrides = JSON_INPUT
    list_display = ["name", "adapter", "profile", "shown_address", "trust_zone", "shown_key", "models", "enabled"]
    list_filter = ["enabled", "trust_zone", "adapter"]
    search_fields = ["name", "base_url"]
    readonly_fields = ["key_now"]
    fieldsets = [
        (None, {"fields": ["name", "enabled"]}),
        (gettext_lazy("Connection"), {"fields": ["adapter", "profile", "base_url", "options"]}),
        (gettext_lazy("Key"), {"fields": ["key_now", NEW_KEY, "remove_key", "secret_reference"]}),
        (gettext_lazy("Trust"), {"fields": ["trust_zone"]}),
        (
            gettext_lazy("Timeouts"),
            {
                "fields": ["connect_timeout", "first_byte_timeout", "total_timeout"],
                "description": gettext_lazy("Empty: as in the project's settings."),
            },
        ),
    ]

    class Media:
        css = {"all": ["llm_foundation/admin.css"]}

    @method_decorator(sensitive_post_parameters(NEW_KEY))
    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A report of an error here shows what was posted, but not the key."""
        return super().changeform_view(request, *args, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Who may only look sees what the key is, not the fields that change it."""
        fieldsets = super().get_fieldsets(request, obj)
        may_write = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        left_out = {"remove_key"} if may_write else {"remove_key", NEW_KEY}
        if may_write and obj is not None and obj.secret_encrypted:
            left_out.clear()
        return [(title, {**options, "fields": _without(left_out, options["fields"])}) for title, options in fieldsets]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counted: QuerySet[Any] = super().get_queryset(request).annotate(model_count=Count("language_models"))
        return counted

    @admin.display(description=gettext_lazy("address"), ordering="base_url")
    def shown_address(self, provider: Provider) -> str:
        return provider.base_url or _("the adapter's own")

    @admin.display(description=gettext_lazy("key"))
    def shown_key(self, provider: Provider) -> str:
        """Told from the row alone: a list asks no resolver for secrets."""
        if provider.secret_reference:
            return provider.secret_reference
        return f"…{provider.secret_hint}" if provider.secret_encrypted else "–"

    @admin.display(description=gettext_lazy("models"), ordering="model_count")
    def models(self, provider: Any) -> int:
        return int(provider.model_count)

    @admin.display(description=gettext_lazy("key now"))
    def key_now(self, provider: Provider) -> str:
        return key_status(provider)

    def save_model(self, request: HttpRequest, obj: Provider, form: Any, change: bool) -> None:
        """Save, and say what a new address took away."""
        before = Provider.objects.filter(pk=obj.pk).first() if change else None
        super().save_model(request, obj, form, change)
        if before is None or before.destination == obj.destination:
            return
        had_key = before.secret_encrypted or before.secret_reference
        has_key = obj.secret_encrypted or obj.secret_reference
        told = _("The address changed, so the trust zone is now “External”.")
        if had_key and not has_key:
            told = _("The address changed, so the key was removed, and the trust zone is now “External”.")
        messages.warning(request, told)


def _without(left_out: set[str], fields: Any) -> list[Any]:
    return [name for name in fields if name not in left_out]
