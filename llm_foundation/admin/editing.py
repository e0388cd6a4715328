"""The page on which an approver changes the arguments of a call before it runs."""

import json
from typing import Any, Final

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from llm_foundation import llm
from llm_foundation.admin.argument_fields import argument_form
from llm_foundation.admin.decision_form import APPROVE
from llm_foundation.admin.decision_outcome import status_of
from llm_foundation.admin.decision_page import DecisionPage
from llm_foundation.admin.decisions import DecisionsMixin
from llm_foundation.admin.edit_page import EditPage, fingerprint
from llm_foundation.admin.typed_form import checked, input_form
from llm_foundation.chat.frozen import freeze_object
from llm_foundation.exceptions import InvalidEdit, InvalidInput, LLMFoundationError
from llm_foundation.runs.edits import preview_of
from llm_foundation.runs.seals import same_digest

STALE: Final = 409
BAD: Final = 400


class EditMixin(DecisionsMixin):
    """Needs ``llm_foundation.decide_toolcall``, and to be allowed the call oneself."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.edit_view)
        return [path("<uuid:object_id>/edit/", view, name="llm_foundation_runtoolcall_edit"), *super().get_urls()]

    # A decision is committed before anything executes: it must not sit in the request's own transaction.
    @transaction.non_atomic_requests
    def edit_view(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """First ask for the arguments, then show what they would do; only then approve what was shown."""
        page = DecisionPage(self.record(request, str(object_id)), request.user)
        if page.why_not_edit:
            return self._edit(request, EditPage(page), problem=page.why_not_edit.text, status=page.why_not_edit.status)
        fresh = EditPage(page, argument_form(page.known_tool, page.call.effective_arguments))
        if request.method != "POST":
            return self._edit(request, fresh)
        if not same_digest(request.POST.get("digest", ""), page.call.digest):
            changed = _("Nothing was decided: the call is not the one that you were shown. Look at it again.")
            return self._edit(request, fresh, problem=changed, status=STALE)
        return self._second_step(request, page) if "arguments" in request.POST else self._first_step(request, page)

    def _first_step(self, request: HttpRequest, page: DecisionPage) -> HttpResponse:
        form = argument_form(page.known_tool, page.call.effective_arguments, data=request.POST)
        arguments = form.values if form.is_valid() else {}
        edit = EditPage(page, form, input=input_form(page.call, page.tool) if page.needs_input else None)
        return self._edit(request, edit, status=BAD) if form.errors else self._look(request, edit, arguments)

    def _second_step(self, request: HttpRequest, page: DecisionPage) -> HttpResponse:
        arguments = _read(request.POST["arguments"])
        edit = EditPage(page, argument_form(page.known_tool, arguments))
        if page.needs_input:
            edit.input = input_form(page.call, page.tool, data=request.POST)
        if request.POST.get("decision") == APPROVE:
            return self._approve_edited(request, edit, arguments)
        return self._look(request, edit, arguments, status=200 if checked(edit.input, page.known_tool) else BAD)

    def _look(
        self, request: HttpRequest, edit: EditPage, arguments: dict[str, Any], *, problem: str = "", status: int = 200
    ) -> HttpResponse:
        """Show what these arguments would do, or what is wrong with them. Nothing is decided."""
        by: Any = request.user
        try:
            edit.preview = preview_of(edit.page.call, arguments, by=by)
        except LLMFoundationError as refusal:
            if isinstance(refusal, InvalidEdit) and edit.form is not None and edit.form.is_bound:
                edit.form.tell(refusal.problems)
            return self._edit(request, edit, problem=str(refusal), status=status_of(refusal))
        edit.arguments = arguments
        return self._edit(request, edit, problem=problem, status=status)

    def _approve_edited(self, request: HttpRequest, edit: EditPage, arguments: dict[str, Any]) -> HttpResponse:
        by: Any = request.user
        call, given = edit.page.call, _given(edit)
        try:
            if fingerprint(preview_of(call, arguments, by=by)) != request.POST.get("seen"):
                changed = _("Nothing was decided: what the call would do has changed since it was shown.")
                return self._look(request, edit, arguments, problem=changed, status=STALE)
            run = llm.approve(
                call, by=by, digest=request.POST["digest"], arguments=arguments, input=given, channel="admin"
            )
        except InvalidInput as invalid:
            if edit.input is not None:
                edit.input.tell(invalid.problems)
            return self._look(request, edit, arguments, problem=str(invalid), status=BAD)
        except LLMFoundationError as refusal:
            return self._edit(request, edit, problem=str(refusal), status=status_of(refusal))
        return self.decided(request, run, self.record(request, str(call.pk)))

    def _edit(self, request: HttpRequest, edit: EditPage, *, problem: str = "", status: int = 200) -> HttpResponse:
        template = "llm_foundation/admin/edit.html"
        context = {"page": edit.page, "edit": edit, "problem": problem}
        title = _("Change the arguments")
        return self.page(request, edit.page.call, title=title, template=template, status=status, **context)


def _given(edit: EditPage) -> dict[str, Any] | None:
    return edit.input.values if edit.input is not None and edit.input.is_valid() else None


def _read(written: str) -> dict[str, Any]:
    """What the first step wrote. Whatever else is posted does not fit the tool, and says so there."""
    try:
        return dict(freeze_object(json.loads(written)))
    except (ValueError, RecursionError):
        return {}
