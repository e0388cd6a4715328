"""Saying what became of a call in doubt: the page, and the three things that can be said."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation import llm
from llm_foundation.admin.decision_form import reason_field
from llm_foundation.admin.decision_page import DecisionPage
from llm_foundation.admin.decisions import DecisionsMixin
from llm_foundation.exceptions import DecisionNotPermitted, LLMFoundationError
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.runs.resolutions import RESOLVE, Outcome, may_resolve

HAPPENED: Final = Decision.Verdict.HAPPENED.value
DID_NOT_HAPPEN: Final = Decision.Verdict.DID_NOT_HAPPEN.value
GAVE_UP: Final = Decision.Verdict.GAVE_UP.value


class ResolutionForm(forms.Form):
    """What one of the three buttons posts. ``seen`` says which attempt the page showed."""

    outcome = forms.ChoiceField(choices=[(HAPPENED, ""), (DID_NOT_HAPPEN, ""), (GAVE_UP, "")])
    seen = forms.CharField(max_length=40)
    result = forms.CharField(
        label=gettext_lazy("What the model is to read"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
    )
    reason = reason_field()


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to say, with what follows from it. ``form`` keeps what was written into it."""

    outcome: str
    form: forms.Form
    title: str | Promise
    consequences: Sequence[str | Promise]
    button: str | Promise


CHOICES: Final[tuple[tuple[str, str | Promise, tuple[str | Promise, ...], str | Promise], ...]] = (
    (
        HAPPENED,
        gettext_lazy("I have seen that it took effect"),
        (
            gettext_lazy("The call counts as succeeded. It is not executed again."),
            gettext_lazy("The model reads what you write here, or only that it took effect, and the run goes on."),
        ),
        gettext_lazy("It happened"),
    ),
    (
        DID_NOT_HAPPEN,
        gettext_lazy("I have seen that it did not take effect, and it still should"),
        (
            gettext_lazy("The call may be executed again. If it had to be approved, somebody approves it again."),
            gettext_lazy("If you are mistaken, it is done twice."),
        ),
        gettext_lazy("It did not happen"),
    ),
    (
        GAVE_UP,
        gettext_lazy("Nobody can find out, or it should not be done any more"),
        (
            gettext_lazy("The call counts as failed. It is not executed again."),
            gettext_lazy("The model is told that nobody knows, and not to make it again; the run goes on."),
        ),
        gettext_lazy("Give up"),
    ),
)


class ResolutionMixin(DecisionsMixin):
    """Needs ``llm_foundation.resolve_toolcall``."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.resolve_view)
        return [path("<uuid:object_id>/resolve/", view, name="llm_foundation_runtoolcall_resolve"), *super().get_urls()]

    # What was said is committed before the run goes on: it must not sit in the request's own transaction.
    @transaction.non_atomic_requests
    def resolve_view(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """Show what can be said of the call, with what follows; say it by POST only."""
        call: RunToolCall = self.record(request, str(object_id))
        if request.method != "POST":
            return self._ask(request, call, status=200 if may_resolve(request.user) else 403)
        form = ResolutionForm(request.POST)
        if not form.is_valid():
            return self._ask(request, call, form=form, status=400)
        if form.cleaned_data["seen"] != seen(call):
            changed = _("Nothing was said: the call has moved on since this page was shown. Look at it again.")
            return self._ask(request, call, form=form, problem=changed, status=409)
        return self._resolve(request, call, form)

    def _resolve(self, request: HttpRequest, call: RunToolCall, form: ResolutionForm) -> HttpResponse:
        by: Any = request.user
        said = form.cleaned_data
        outcome = cast(Outcome, said["outcome"])
        result = (said["result"] or None) if outcome == HAPPENED else None
        try:
            run = llm.resolve(call, by=by, outcome=outcome, result=result, reason=said["reason"], channel="admin")
        except LLMFoundationError as problem:
            status = 403 if isinstance(problem, DecisionNotPermitted) else 409
            call = self.record(request, str(call.pk))
            return self._ask(request, call, form=form, problem=str(problem), status=status)
        call = self.record(request, str(call.pk))
        return self.decided(request, run, call)

    def _ask(
        self,
        request: HttpRequest,
        call: RunToolCall,
        *,
        form: ResolutionForm | None = None,
        problem: str = "",
        status: int = 200,
    ) -> HttpResponse:
        context = {
            "page": DecisionPage(call, request.user),
            "choices": _choices(form) if call.state == CallState.IN_DOUBT and may_resolve(request.user) else (),
            "seen": seen(call),
            "too_early": call.deadline_at is not None and call.deadline_at > timezone.now(),
            "problem": problem,
            "permission": "" if may_resolve(request.user) else RESOLVE,
        }
        title = _("Did it happen?")
        template = "llm_foundation/admin/resolution.html"
        return self.page(request, call, title=title, template=template, status=status, **context)


def seen(call: RunToolCall) -> str:
    """Which attempt of the call a page shows: another one is another question."""
    return f"{call.repeats}.{call.attempt}"


def _choices(posted: ResolutionForm | None) -> list[Choice]:
    """What was written into the one that was posted is kept."""
    outcome = str(posted.data.get("outcome")) if posted else ""
    return [Choice(each[0], _form(each[0], posted if each[0] == outcome else None), *each[1:]) for each in CHOICES]


def _form(outcome: str, posted: ResolutionForm | None) -> ResolutionForm:
    return posted or ResolutionForm(auto_id=f"id_{outcome}_%s")
