"""Cancelling a run: what would be cut short, and the button that does it."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from llm_foundation import llm
from llm_foundation.admin.decision_outcome import run_url
from llm_foundation.admin.people import name_of
from llm_foundation.admin.records import RecordAdmin
from llm_foundation.exceptions import LLMFoundationError, RunNotPermitted
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Run
from llm_foundation.runs.cancelling import require_may_cancel


class CancelMixin(RecordAdmin):
    """The owner and the starter of a run may cancel it; others need ``llm_foundation.cancel_run``."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", view, name="llm_foundation_run_cancel"), *super().get_urls()]

    # The run is ended in a transaction of its own: it must not sit in that of the request.
    @transaction.non_atomic_requests
    def cancel_view(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """Ask whether the run is to be cancelled; cancel it by POST only."""
        run: Run = self.record(request, str(object_id))
        why_not = why_not_cancel(run, request.user)
        if request.method == "POST" and not why_not:
            return self._cancel(request, run)
        calls = list(run.calls.filter(state__in=(CallState.PENDING, CallState.EXECUTING, CallState.IN_DOUBT)))
        return self.page(
            request,
            run,
            title=_("Cancel this run?"),
            template="llm_foundation/admin/run_cancel.html",
            status=403 if why_not else 200,
            run=run,
            owner=name_of(run.owner),
            why_not=why_not,
            waiting=_count(calls, CallState.PENDING),
            executing=_count(calls, CallState.EXECUTING),
            in_doubt=_count(calls, CallState.IN_DOUBT),
        )

    def _cancel(self, request: HttpRequest, run: Run) -> HttpResponse:
        by: Any = request.user
        was_finished = run.is_finished
        try:
            run = llm.cancel(run, by=by)
        except LLMFoundationError as problem:
            messages.error(request, str(problem))
        else:
            if not was_finished and run.cancel_requested_at is not None:
                self.log_change(request, run, _("Cancelled the run."))
            messages.add_message(request, *_told(run))
        return HttpResponseRedirect(run_url(run.pk))


def why_not_cancel(run: Run, person: Any) -> str:
    """Empty where nothing keeps this person from it."""
    try:
        require_may_cancel(run, person)
    except RunNotPermitted as refusal:
        return str(refusal)
    return ""


def _told(run: Run) -> tuple[int, str]:
    if run.status == RunStatus.CANCELLED:
        return messages.SUCCESS, _("The run is cancelled.")
    if run.is_finished:
        return messages.WARNING, _("The run had ended before: %(status)s.") % {"status": run.get_status_display()}
    if run.status == RunStatus.IN_DOUBT:
        return messages.WARNING, _("The run is cancelled as soon as somebody says what became of its calls in doubt.")
    return messages.SUCCESS, _("The run is cancelled as soon as what it is doing now has ended.")


def _count(calls: Any, state: CallState) -> int:
    return sum(call.state == state for call in calls)
