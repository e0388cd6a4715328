"""After a decision: what to tell the person who made it, and where to send them."""

from typing import Any, Final

from django.contrib import messages
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation.admin.decision_form import APPROVE
from llm_foundation.admin.permissions import may_read_runs
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Run, RunToolCall

RUN_NOW: Final[dict[str, tuple[int, str | Promise]]] = {
    RunStatus.COMPLETED: (messages.SUCCESS, gettext_lazy("The run went on and is completed.")),
    RunStatus.WAITING_FOR_APPROVAL: (messages.SUCCESS, gettext_lazy("The run waits for another decision.")),
    RunStatus.WAITING_FOR_INPUT: (messages.SUCCESS, gettext_lazy("The run waits for input.")),
    RunStatus.QUEUED: (messages.SUCCESS, gettext_lazy("The run is queued.")),
    RunStatus.RUNNING: (messages.SUCCESS, gettext_lazy("The run goes on.")),
    RunStatus.IN_DOUBT: (messages.WARNING, gettext_lazy("Nobody knows whether a call of the run took effect.")),
    RunStatus.FAILED: (messages.WARNING, gettext_lazy("The run went on and failed.")),
    RunStatus.CANCELLED: (messages.WARNING, gettext_lazy("The run is cancelled.")),
}


def told(run: Run, call: RunToolCall, decision: str, *, by: Any) -> tuple[int, SafeString]:
    """The level and the text of the message. ``call`` as it is after the decision."""
    level, run_now = RUN_NOW[run.status]
    if decision == APPROVE:
        said = _("You approved “%(tool)s”. The call: %(state)s.")
        level = messages.WARNING if call.state in ("failed", "in_doubt", "pending", "refused") else level
    else:
        said = _("You denied “%(tool)s”.")
    sentence = said % {"tool": call.tool_name, "state": call.get_state_display()}
    link = format_html(' <a href="{}">{}</a>', run_url(run.pk), _("See the run")) if may_read_runs(by) else ""
    return level, format_html("{} {}{}", sentence, run_now, link)


def next_url(run: Run, call: RunToolCall, *, by: Any) -> str:
    """The next call that waits: of this run, else of any, the oldest first.

    Where none does: the run's page, or the call's own for those who may not read the run.
    """
    waiting = RunToolCall.objects.pending().order_by("pending_since", "turn", "index")
    if following := waiting.filter(run=run).first() or waiting.first():
        return call_url(following.pk)
    return run_url(run.pk) if may_read_runs(by) else call_url(call.pk)


def call_url(pk: Any) -> str:
    return reverse("admin:llm_foundation_runtoolcall_change", args=[pk])


def run_url(pk: Any) -> str:
    return reverse("admin:llm_foundation_run_change", args=[pk])
