"""Runs: a list that stays fast, and one page per run that tells its story."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from llm_foundation.admin import permissions
from llm_foundation.admin.moments import short
from llm_foundation.admin.money import in_dollars
from llm_foundation.admin.people import name_of, short_name_of
from llm_foundation.admin.records import RecordAdmin, badge
from llm_foundation.admin.run_cancel import CancelMixin, why_not_cancel
from llm_foundation.admin.run_page import run_page
from llm_foundation.admin.run_raw import RawMixin
from llm_foundation.models import Run
from llm_foundation.runs.resolutions import may_resolve
from llm_foundation.runs.verification import may_decide


def written_cost(run: Run) -> str:
    """In US dollars. What has no known price adds nothing, so no cost is shown as unknown rather than as free."""
    return in_dollars(run.cost) if run.cost else "–"


@admin.register(Run)
class RunAdmin(CancelMixin, RawMixin, RecordAdmin):
    """Needs ``llm_foundation.view_run``: whoever has it reads the transcripts."""

    page_template = "llm_foundation/admin/run.html"
    list_display = ["started", "state", "configuration", "shown_owner", "tokens", "known_cost"]
    list_filter = ["status", "configuration", "created_at"]
    list_select_related = ["configuration", "owner"]
    search_help_text = _("The id of a run, or the user name of its owner.")
    ordering = ["-created_at"]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return [f"owner__{get_user_model().USERNAME_FIELD}"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            return queryset.filter(pk=UUID(search_term.strip())), False
        except ValueError:
            return super().get_search_results(request, queryset, search_term)

    @admin.display(description=_("started"), ordering="created_at")
    def started(self, run: Run) -> str:
        return short(run.created_at)

    @admin.display(description=_("status"), ordering="status")
    def state(self, run: Run) -> SafeString:
        return badge(run.status, run.get_status_display())

    @admin.display(description=_("owner"), ordering="owner")
    def shown_owner(self, run: Run) -> str:
        return short_name_of(run.owner)

    @admin.display(description=_("tokens"))
    def tokens(self, run: Run) -> str:
        return formats.number_format(run.input_tokens + run.output_tokens)

    @admin.display(description=_("known cost"), ordering="cost")
    def known_cost(self, run: Run) -> str:
        return written_cost(run)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("configuration", "owner", "starter")

    @transaction.non_atomic_requests
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of one run."""
        run = self.record(request, object_id)
        return self.page(
            request,
            run,
            title=_("Run"),
            page=run_page(run),
            owner=name_of(run.owner),
            starter=name_of(run.starter) if run.starter_id != run.owner_id else "",
            cost=written_cost(run),
            may_cancel=not run.is_finished and not why_not_cancel(run, request.user),
            may_decide=may_decide(request.user),
            may_resolve=may_resolve(request.user),
            may_open_calls=permissions.may_open_calls(request.user),
            may_open_configuration=permissions.may_read_configurations(request.user),
        )
