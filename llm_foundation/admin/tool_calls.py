"""Tool calls: what waits for a person, and the page on which a person decides."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation import llm
from llm_foundation.admin import decision_outcome
from llm_foundation.admin.call_card import card_of
from llm_foundation.admin.decision_form import APPROVE, DecisionForm
from llm_foundation.admin.decision_page import DecisionPage
from llm_foundation.admin.moments import waited
from llm_foundation.admin.people import short_name_of
from llm_foundation.admin.permissions import may_open_calls
from llm_foundation.admin.records import RecordAdmin, badge
from llm_foundation.exceptions import DecisionNotPermitted, LLMFoundationError
from llm_foundation.loop.states import CallState
from llm_foundation.models import Run, RunToolCall, ToolRecord
from llm_foundation.models.calls import CALL_STATES


class StateFilter(admin.SimpleListFilter):
    """The list opens with what waits for a person; that is what it is for."""

    title = gettext_lazy("state")
    parameter_name = "state"
    everything = "all"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        others = [(state, words) for state, words in CALL_STATES if state != CallState.PENDING]
        return [*others, (self.everything, gettext_lazy("all"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            is_default = choice["query_string"] == changelist.get_query_string(remove=[self.parameter_name])
            yield {**choice, "display": dict(CALL_STATES)[CallState.PENDING]} if is_default else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = self.value() or CallState.PENDING
        return queryset if state == self.everything else queryset.filter(state=state)


class ToolFilter(admin.SimpleListFilter):
    """Names come from the tools' own short table, not from a million calls."""

    title = gettext_lazy("tool")
    parameter_name = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in ToolRecord.objects.values_list("name", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(tool_name=self.value()) if self.value() else queryset


@admin.register(RunToolCall)
class RunToolCallAdmin(RecordAdmin):
    """To look needs ``view_runtoolcall`` or ``decide_toolcall``; to decide needs ``decide_toolcall``."""

    page_template = "llm_foundation/admin/decision.html"
    list_display = ["shown_tool", "arguments", "owner", "waiting", "shown_state"]
    list_filter = [StateFilter, ToolFilter, "created_at"]

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        """Who has waited longest comes first; of everything else, the newest."""
        return ["-created_at"] if StateFilter.parameter_name in request.GET else ["pending_since", "created_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("run__configuration", "run__owner", "run__starter")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_open_calls(request.user)

    @admin.display(description=gettext_lazy("tool"), ordering="tool_name")
    def shown_tool(self, call: RunToolCall) -> str:
        return call.tool_name

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def shown_state(self, call: RunToolCall) -> SafeString:
        return badge(call.state, call.get_state_display())

    @admin.display(description=gettext_lazy("arguments"))
    def arguments(self, call: RunToolCall) -> SafeString:
        """Cut to a line; what cannot be read says so and breaks no list."""
        shown = card_of(call, {}).arguments
        if shown.problem:
            return format_html('<span class="llm-quiet">{}</span>', _("unreadable"))
        return format_html('<div class="llm-line llm-cell" dir="auto">{}</div>', shown.text.html)

    @admin.display(description=gettext_lazy("on behalf of"))
    def owner(self, call: RunToolCall) -> str:
        return short_name_of(call.run.owner)

    @admin.display(description=gettext_lazy("waiting"), ordering="pending_since")
    def waiting(self, call: RunToolCall) -> str:
        return waited(call.pending_since) if call.state == CallState.PENDING else "–"

    # A decision is committed before anything executes: it must not sit in the request's own transaction.
    @transaction.non_atomic_requests
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the call; decide it by POST only."""
        call = self.record(request, object_id)
        if request.method != "POST":
            return self._show(request, call)
        form = DecisionForm(request.POST)
        if not form.is_valid():
            return self._show(request, call, form=form, problem=_wrong_form(form), status=400)
        return self._decide(request, call, form)

    def _decide(self, request: HttpRequest, call: RunToolCall, form: DecisionForm) -> HttpResponse:
        decision, digest = form.cleaned_data["decision"], form.cleaned_data["digest"]
        try:
            run = self._carry_out(request, call, decision, digest, form.cleaned_data["reason"])
        except DecisionNotPermitted as refusal:
            return self._show(request, self._again(request, call), form=form, problem=str(refusal), status=403)
        except LLMFoundationError as problem:
            return self._show(request, self._again(request, call), form=form, problem=str(problem), status=409)
        call = self._again(request, call)
        self.log_change(request, call, _log_message(decision))
        level, text = decision_outcome.told(run, call, decision, by=request.user)
        messages.add_message(request, level, text)
        return HttpResponseRedirect(decision_outcome.next_url(run, call, by=request.user))

    @staticmethod
    def _carry_out(request: HttpRequest, call: RunToolCall, decision: str, digest: str, reason: str) -> Run:
        by: Any = request.user
        if decision == APPROVE:
            return llm.approve(call, by=by, digest=digest, channel="admin")
        return llm.deny(call, by=by, digest=digest, reason=reason, channel="admin")

    def _again(self, request: HttpRequest, call: RunToolCall) -> RunToolCall:
        """The call as it is now: others decide as well."""
        found: RunToolCall = self.get_queryset(request).get(pk=call.pk)
        return found

    def _show(
        self,
        request: HttpRequest,
        call: RunToolCall,
        *,
        form: DecisionForm | None = None,
        problem: str = "",
        status: int = 200,
    ) -> HttpResponse:
        page = DecisionPage(call, request.user)
        title = _("Decide a tool call") if page.is_pending and page.may_decide else _("Tool call")
        return self.page(
            request, call, status=status, title=title, page=page, form=form or DecisionForm(), problem=problem
        )


def _wrong_form(form: DecisionForm) -> str:
    """Only the reason can be wrong by a person's hand; the rest is ours, or forged."""
    if reasons := form.errors.get("reason"):
        return _("Nothing was decided. Reason: %(problem)s") % {"problem": " ".join(map(str, reasons))}
    return _("Nothing was decided: the form was not complete. Look at the call again, then decide.")


def _log_message(decision: str) -> str:
    """For the log of the admin: what was done, without the words of anybody."""
    return _("Approved the call.") if decision == APPROVE else _("Denied the call.")
