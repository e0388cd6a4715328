"""Language models: what they can do, how much they take in, what they cost."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from llm_foundation.admin.records import JSON_INPUT, ModelAdmin
from llm_foundation.models import LanguageModel


@admin.register(LanguageModel)
class LanguageModelAdmin(ModelAdmin):
    """Needs the model's own permissions; filling in prices needs ``change_languagemodel``."""

    formfield_overrides = JSON_INPUT
    list_display = ["__str__", "model_id", "provider", "context_window", "price_in", "price_out", "price_source"]
    list_filter = ["provider", "price_source", "supports_tools"]
    list_select_related = ["provider"]
    search_fields = ["model_id", "display_name", "provider__name"]
    readonly_fields = ["price_source"]
    actions = ["fill_prices"]
    fieldsets = [
        (None, {"fields": ["provider", "model_id", "display_name"]}),
        (gettext_lazy("Sizes"), {"fields": ["context_window", "max_output_tokens"]}),
        (
            gettext_lazy("What it can do"),
            {
                "fields": [
                    "supports_tools",
                    "supports_parallel_tool_calls",
                    "supports_vision",
                    "supports_json_schema",
                    "supports_sampling",
                    "supports_reasoning",
                ]
            },
        ),
        (
            gettext_lazy("Prices"),
            {
                "fields": [
                    "input_price",
                    "output_price",
                    "cached_input_price",
                    "cache_write_price",
                    "price_tiers",
                    "price_source",
                ],
                "description": gettext_lazy(
                    "A new model without prices takes them from the catalogue, where that knows it at this address."
                ),
            },
        ),
    ]

    @admin.display(description=gettext_lazy("input price"), ordering="input_price")
    def price_in(self, model: LanguageModel) -> str:
        return _written(model.input_price)

    @admin.display(description=gettext_lazy("output price"), ordering="output_price")
    def price_out(self, model: LanguageModel) -> str:
        return _written(model.output_price)

    @admin.action(description=gettext_lazy("Fill in prices from the catalogue"), permissions=["change"])
    def fill_prices(self, request: HttpRequest, queryset: QuerySet[LanguageModel]) -> None:
        """Prices that somebody entered here stay, and so do models that the catalogue does not know."""
        chosen = list(queryset.select_related("provider"))
        filled = [model for model in chosen if model.fill_from_catalogue()]
        for model in filled:
            model.save()
            self.log_change(request, model, [{"changed": {"fields": [_("Prices")]}}])
        if filled:
            told = ngettext("%(count)d model has prices now.", "%(count)d models have prices now.", len(filled))
            messages.success(request, told % {"count": len(filled)})
        if left := [str(model) for model in chosen if model not in filled]:
            told = _(
                "Left as they are, since the catalogue does not know them or a price was entered here: %(models)s."
            )
            messages.warning(request, told % {"models": ", ".join(left)})


def _written(price: Any) -> str:
    """US dollars per million tokens; unknown is not free."""
    return "–" if price is None else f"${price.normalize():f}"
