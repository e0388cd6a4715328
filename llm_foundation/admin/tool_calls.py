"""Tool calls: what waits for a person, and the page on which a person decides."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from llm_foundation import llm
from llm_foundation.admin.decision_form import ANSWER, APPROVE, CHECK, STOP, DecisionForm
from llm_foundation.admin.decision_outcome import status_of
from llm_foundation.admin.decision_page import DecisionPage
from llm_foundation.admin.decisions import DecisionsMixin
from llm_foundation.admin.editing import EditMixin
from llm_foundation.admin.inbox.changelist import InboxMixin
from llm_foundation.admin.resolution import ResolutionMixin
from llm_foundation.admin.typed_form import TypedForm, checked, input_form
from llm_foundation.exceptions import InvalidInput, LLMFoundationError
from llm_foundation.models import Run, RunToolCall
from llm_foundation.tools import registry


@admin.register(RunToolCall)
class RunToolCallAdmin(EditMixin, ResolutionMixin, DecisionsMixin, InboxMixin):
    """The page of a call. Deciding needs ``decide_toolcall``; its input is given by the run's own people as well."""

    page_template = "llm_foundation/admin/decision.html"

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
        given = _given_input(request, call)
        if form.cleaned_data["decision"] == CHECK or (given is not None and not given.is_valid()):
            return self._check(request, call, given)
        try:
            run = self._carry_out(request, call, form.cleaned_data, given)
        except LLMFoundationError as problem:
            if isinstance(problem, InvalidInput) and given is not None:
                given.tell(problem.problems)
            again = self.record(request, str(call.pk))  # as it is now: others decide as well
            return self._show(request, again, form=form, given=given, problem=str(problem), status=status_of(problem))
        return self.decided(request, run, self.record(request, str(call.pk)))

    @staticmethod
    def _carry_out(request: HttpRequest, call: RunToolCall, said: dict[str, Any], given: TypedForm | None) -> Run:
        by: Any = request.user
        digest, decision = said["digest"], said["decision"]
        values = given.values if given else None
        if decision == APPROVE:
            return llm.approve(call, by=by, digest=digest, input=values, channel="admin")
        if decision == ANSWER:
            return llm.answer(call, by=by, digest=digest, input=values or {}, channel="admin")
        stop = decision == STOP
        return llm.deny(call, by=by, digest=digest, reason=said["reason"], stop=stop, channel="admin")

    def _check(self, request: HttpRequest, call: RunToolCall, given: TypedForm | None) -> HttpResponse:
        """Say whether the input fits; nothing is decided."""
        tool = registry.get(call.tool_name)
        fits = given is not None and tool is not None and checked(given, tool)
        return self._show(request, call, given=given, input_fits=fits, status=200 if fits else 400)

    def _show(
        self,
        request: HttpRequest,
        call: RunToolCall,
        *,
        form: DecisionForm | None = None,
        given: TypedForm | None = None,
        input_fits: bool = False,
        problem: str = "",
        status: int = 200,
    ) -> HttpResponse:
        page = DecisionPage(call, request.user)
        return self.page(
            request,
            call,
            status=status,
            title=_("Decide a tool call") if page.is_open and page.may_decide else _("Tool call"),
            page=page,
            form=form or DecisionForm(),
            input_form=(given or input_form(call, page.tool)) if page.may_answer else None,
            input_fits=input_fits,
            problem=problem,
        )


def _given_input(request: HttpRequest, call: RunToolCall) -> TypedForm | None:
    """The form of the input, where it was posted with the decision."""
    is_posted = "gives_input" in request.POST
    return input_form(call, registry.get(call.tool_name), data=request.POST) if is_posted else None


def _wrong_form(form: DecisionForm) -> str:
    """Only the reason can be wrong by a person's hand; the rest is ours, or forged."""
    if reasons := form.errors.get("reason"):
        return _("Nothing was decided. Reason: %(problem)s") % {"problem": " ".join(map(str, reasons))}
    return _("Nothing was decided: the form was not complete. Look at the call again, then decide.")
