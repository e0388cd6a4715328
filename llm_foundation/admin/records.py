"""What all pages of recorded things share: they are read here, never written."""

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from llm_foundation.models.fields import JSONTextField

if TYPE_CHECKING:  # the stubs say more of these classes than Django does at run time
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline

JSON_INPUT: Final[dict[Any, Any]] = {
    JSONTextField: {"widget": forms.Textarea(attrs={"rows": 4, "cols": 60, "class": "vLargeTextField llm-json"})}
}
"""For ``formfield_overrides``."""


class RecordAdmin(ModelAdmin):
    """A list, and one page per record; nothing can be added, changed or deleted."""

    page_template = ""
    show_full_result_count = False
    list_per_page = 50

    class Media:
        css = {"all": ["llm_foundation/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def record(self, request: HttpRequest, object_id: str) -> Any:
        """The record for its page. Who may not look learns nothing, not even whether it exists."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = self.get_object(request, unquote(object_id))
        if found is None:
            raise Http404(_("There is no such record."))
        return found

    def page(
        self,
        request: HttpRequest,
        record: Any = None,
        *,
        title: Any,
        template: str = "",
        status: int = 200,
        **context: Any,
    ) -> HttpResponse:
        """The record's own page, or another one, in the frame that this version of Django gives to a change form."""
        frame = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "original": title if record is None else record,  # the last of the breadcrumbs
            "media": self.media,
            "has_view_permission": True,
            "is_popup": False,
            "add": False,
        }
        return TemplateResponse(request, template or self.page_template, {**frame, **context}, status=status)


def badge(state: str, words: Any) -> SafeString:
    """A state in its colour. The words say it as well: colour alone tells nothing to many people."""
    return format_html('<span class="llm-badge llm-badge-{}">{}</span>', state, words)
