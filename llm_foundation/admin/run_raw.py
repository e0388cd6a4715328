"""A run as JSON, for those who want to see the rows: what the page shows, without its words."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from llm_foundation.admin.given_input import written_input
from llm_foundation.admin.questions import may_read_preview
from llm_foundation.admin.records import RecordAdmin
from llm_foundation.admin.shown_messages import UNREADABLE
from llm_foundation.models import Decision, Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.tools import registry


class RawMixin(RecordAdmin):
    """Needs what the page of a run needs."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.raw_view)
        return [path("<uuid:object_id>/raw/", view, name="llm_foundation_run_raw"), *super().get_urls()]

    def raw_view(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """A file to download: no browser takes for a page what a model wrote."""
        run: Run = self.record(request, str(object_id))
        response = JsonResponse(written(run, viewer=request.user), json_dumps_params={"indent": 2})
        response["Content-Disposition"] = f'attachment; filename="run-{run.pk}.json"'
        response["X-Content-Type-Options"] = "nosniff"
        return response


def written(run: Run, *, viewer: Any) -> dict[str, Any]:
    """Without leases, seals and what providers keep in a transcript for themselves."""
    calls = run.calls.select_related("editor", "input_giver").order_by("turn", "index")
    decisions = Decision.objects.filter(call__run=run).select_related("decider").order_by("number")
    return {
        "run": _run(run),
        "messages": [_message(row) for row in run.messages.order_by("sequence")],
        "calls": [_call(row, viewer) for row in calls],
        "decisions": [_decision(row) for row in decisions],
        "events": [_event(row) for row in run.events.order_by("sequence")],
    }


def _run(run: Run) -> dict[str, Any]:
    names = (
        *("id", "conversation", "previous_id", "status", "termination_reason", "error", "truncated", "unattended"),
        *("offer", "limits", "high_water", "rounds", "calls_made", "input_tokens", "output_tokens", "cost", "seconds"),
        *("created_at", "finished_at", "cancel_requested_at"),
    )
    people = {"owner": _name(run.owner), "starter": _name(run.starter)}
    return {"configuration": run.configuration.slug, **people, **{name: getattr(run, name) for name in names}}


def _message(row: RunMessage) -> dict[str, Any]:
    return {"sequence": row.sequence, "created_at": row.created_at, "message": _read(lambda: _said(row))}


def _said(row: RunMessage) -> dict[str, Any]:
    return row.message.to_wire()


def _call(row: RunToolCall, viewer: Any) -> dict[str, Any]:
    names = (
        *("id", "turn", "index", "call_id", "tool_name", "state", "effect", "reason", "explanation", "attempt"),
        *("repeats", "created_at", "pending_since", "started_at", "finished_at", "deadline_at"),
    )
    return {
        **{name: getattr(row, name) for name in names},
        "call": _read(lambda: row.written_call),
        "edited": _read(lambda: row.edited),
        "editor": _name(row.editor),
        "input": _read(lambda: written_input(row, registry.get(row.tool_name))),
        "input_giver": _name(row.input_giver),
        "preview": _preview(row, viewer),
        "result": _read(lambda: row.result),
        "detail": _read(lambda: row.detail),
    }


def _preview(row: RunToolCall, viewer: Any) -> Any:
    if not row.preview_sealed:
        return None
    if not may_read_preview(row, registry.get(row.tool_name), viewer):
        return {"withheld": _("Withheld: it may hold what only users of this tool may read.")}
    return _read(lambda: row.preview)


def _decision(row: Decision) -> dict[str, Any]:
    names = ("call_id", "number", "verdict", "channel", "reason", "decided_at")
    return {**{name: getattr(row, name) for name in names}, "decider": _name(row.decider)}


def _event(row: RunEvent) -> dict[str, Any]:
    names = ("sequence", "kind", "payload", "message_sequence", "tool_call_id", "created_at")
    return {name: getattr(row, name) for name in names}


def _name(user: Any) -> str | None:
    return str(user.get_username()) if user else None


def _read(value: Callable[[], Any]) -> Any:
    """What cannot be decrypted says so in its place."""
    try:
        return value()
    except UNREADABLE as error:
        return {"unreadable": str(error)}
