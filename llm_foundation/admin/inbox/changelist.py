"""The list itself: an inbox as long as it shows what waits, a record of what has been otherwise."""

from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from llm_foundation.admin.inbox.badge import show_count
from llm_foundation.admin.inbox.bulk_deny import BulkDenyMixin
from llm_foundation.admin.inbox.columns import Columns
from llm_foundation.admin.inbox.filters import AgeFilter, ConfigurationFilter, RequesterFilter, StateFilter, ToolFilter
from llm_foundation.admin.inbox.mine import count_of
from llm_foundation.admin.permissions import may_open_calls
from llm_foundation.loop.states import CallState
from llm_foundation.models import RunToolCall
from llm_foundation.runs.resolutions import may_resolve
from llm_foundation.runs.verification import may_decide


class InboxMixin(BulkDenyMixin):
    """To look needs ``view_runtoolcall`` or ``decide_toolcall``."""

    change_list_template = "llm_foundation/admin/inbox.html"
    search_help_text = gettext_lazy("The id of a call or of its run, or the user name of the person who asks.")

    def __init__(self, model: type[Any], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        show_count(admin_site)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_open_calls(request.user)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        people = ("run__owner", "run__starter", "editor", "input_giver")
        return super().get_queryset(request).select_related("run__configuration", *people)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        columns = Columns(request.user)
        return columns.of_inbox() if StateFilter.is_inbox(request) else columns.of_history()

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        if StateFilter.is_inbox(request):
            return [StateFilter, ToolFilter, ConfigurationFilter, RequesterFilter, AgeFilter]
        return [StateFilter, ToolFilter, ConfigurationFilter, "created_at"]

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        """Who has waited longest comes first; of everything else, the newest."""
        return ["pending_since", "created_at"] if StateFilter.is_inbox(request) else ["-created_at"]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return [f"run__owner__{get_user_model().USERNAME_FIELD}"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            wanted = UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(Q(pk=wanted) | Q(run=wanted)), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"title": self._title(request), **self._beside(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def _title(self, request: HttpRequest) -> str:
        if not (StateFilter.is_inbox(request) and may_decide(request.user)):
            return _("Tool calls")
        count = count_of(request).mine
        waiting = ngettext("%(count)d call waits for you", "%(count)d calls wait for you", count)
        return waiting % {"count": count} if count else _("No call waits for you")

    def _beside(self, request: HttpRequest) -> dict[str, Any]:
        """What waits elsewhere: for other people, or in doubt."""
        if not StateFilter.is_inbox(request):
            return {}
        doubtful = RunToolCall.objects.filter(state=CallState.IN_DOUBT)
        return {
            "others": count_of(request).others,
            "in_doubt": doubtful.count() if may_resolve(request.user) else 0,
        }
