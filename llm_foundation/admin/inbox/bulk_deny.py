"""Denying several calls with one reason: each by itself, each bound to what was shown, each told how it ended."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from llm_foundation import llm
from llm_foundation.admin.decision_form import reason_field
from llm_foundation.admin.inbox.columns import Columns
from llm_foundation.admin.inbox.filters import StateFilter
from llm_foundation.admin.inbox.mine import Calls
from llm_foundation.admin.people import short_name_of
from llm_foundation.admin.records import RecordAdmin
from llm_foundation.exceptions import LLMFoundationError
from llm_foundation.models import RunToolCall
from llm_foundation.runs.verification import may_decide

MOST: Final = 50
"""Calls that are denied at once: after each its run goes on, perhaps while the person waits."""
SHOWN: Final = "shown"
"""The name under which the page posts each call: its id and the digest of what was shown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``problem`` is empty where the call is denied."""

    call: RunToolCall
    problem: str = ""


class BulkDenyForm(forms.Form):
    reason = reason_field()


class BulkDenyMixin(RecordAdmin):
    """Needs ``llm_foundation.decide_toolcall``."""

    actions = ["deny_selected"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.deny_view)
        return [path("deny/", view, name="llm_foundation_runtoolcall_deny"), *super().get_urls()]

    def has_bulk_deny_permission(self, request: HttpRequest) -> bool:
        """Asked for by Django, where the list offers the action: only what waits can be denied."""
        return may_decide(request.user) and StateFilter.is_inbox(request)

    @admin.action(permissions=["bulk_deny"], description=gettext_lazy("Deny the selected calls, with a reason"))
    def deny_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Only show what would be denied; nothing is decided yet."""
        chosen = queryset.order_by("pending_since", "created_at")[: MOST + 1]
        if len(chosen) > MOST:
            many = _("Nothing was decided: at most %(most)d calls can be denied at once.") % {"most": MOST}
            self.message_user(request, many, messages.WARNING)
            return None
        return self._confirm(request, chosen)

    # Each denial is committed before its run goes on: it must not sit in the request's own transaction.
    @transaction.non_atomic_requests
    def deny_view(self, request: HttpRequest) -> HttpResponse:
        """Deny what was shown, and say of each call what became of it."""
        if not may_decide(request.user):
            raise PermissionDenied
        shown = dict(_read(request.POST.getlist(SHOWN)[:MOST]))
        if request.method != "POST" or not shown:
            return HttpResponseRedirect(reverse("admin:llm_foundation_runtoolcall_changelist"))
        form = BulkDenyForm(request.POST)
        calls = self.get_queryset(request).filter(pk__in=shown).order_by("pending_since", "created_at")
        if not form.is_valid():
            return self._confirm(request, calls, form=form, status=400)
        outcomes = list(self._deny_each(request, calls, shown, form.cleaned_data["reason"]))
        return self._tell(request, outcomes, gone=len(shown) - len(outcomes))

    def _deny_each(
        self, request: HttpRequest, calls: QuerySet[Any], shown: dict[UUID, str], reason: str
    ) -> Iterator[Outcome]:
        by: Any = request.user
        for call in calls:
            try:
                llm.deny(call, by=by, digest=shown[call.pk], reason=reason, channel="admin")
            except LLMFoundationError as problem:
                yield Outcome(call, str(problem))
            else:
                call.refresh_from_db()
                self.log_change(request, call, _("Denied the call."))
                yield Outcome(call)

    def _confirm(
        self, request: HttpRequest, calls: Calls, *, form: BulkDenyForm | None = None, status: int = 200
    ) -> HttpResponse:
        count = len(calls)
        title = ngettext("Deny %(count)d call?", "Deny %(count)d calls?", count) % {"count": count}
        context = {"calls": self._described(request, calls), "form": form or BulkDenyForm(), "shown": SHOWN}
        return self.page(request, template="llm_foundation/admin/bulk_deny.html", title=title, status=status, **context)

    def _tell(self, request: HttpRequest, outcomes: list[Outcome], *, gone: int) -> HttpResponse:
        words = {"denied": sum(not outcome.problem for outcome in outcomes), "count": len(outcomes) + gone}
        title = ngettext("Denied %(denied)d of %(count)d call", "Denied %(denied)d of %(count)d calls", words["count"])
        columns = Columns(request.user)
        rows = [(outcome, columns.question(outcome.call)) for outcome in outcomes]
        template = "llm_foundation/admin/bulk_denied.html"
        return self.page(request, template=template, title=title % words, rows=rows, gone=gone)

    def _described(self, request: HttpRequest, calls: Calls) -> list[dict[str, Any]]:
        columns = Columns(request.user)
        return [
            {"call": call, "question": columns.question(call), "who": short_name_of(call.run.owner)} for call in calls
        ]


def _read(entries: Iterable[str]) -> Iterator[tuple[UUID, str]]:
    """What is no id was not posted by our page."""
    for entry in entries:
        call, _space, digest = entry.partition(" ")
        with suppress(ValueError):
            yield UUID(call), digest
