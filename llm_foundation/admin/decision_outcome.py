"""After a decision: what to tell the person who made it, and where to send them."""

from typing import Any, Final

from django.contrib import messages
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation.admin.inbox.mine import waiting_for
from llm_foundation.admin.permissions import may_read_runs
from llm_foundation.exceptions import DecisionNotPermitted, InvalidEdit, InvalidInput, LLMFoundationError
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.runs.verification import last_decision

Verdict = Decision.Verdict

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

SAID: Final[dict[str, str | Promise]] = {
    Verdict.APPROVED: gettext_lazy("You approved “%(tool)s”. The call: %(state)s."),
    Verdict.EDITED: gettext_lazy("Your changes of “%(tool)s” are kept. Somebody else has to approve the call."),
    Verdict.ANSWERED: gettext_lazy("You gave “%(tool)s” its input. The call: %(state)s."),
    Verdict.DENIED: gettext_lazy("You denied “%(tool)s”."),
    Verdict.HAPPENED: gettext_lazy("You said that “%(tool)s” happened."),
    Verdict.DID_NOT_HAPPEN: gettext_lazy("You said that “%(tool)s” did not happen. The call: %(state)s."),
    Verdict.GAVE_UP: gettext_lazy("You gave “%(tool)s” up."),
}
LOGGED: Final[dict[str, str | Promise]] = {
    Verdict.APPROVED: gettext_lazy("Approved the call."),
    Verdict.EDITED: gettext_lazy("Changed the arguments of the call."),
    Verdict.ANSWERED: gettext_lazy("Gave the call its input."),
    Verdict.DENIED: gettext_lazy("Denied the call."),
    Verdict.HAPPENED: gettext_lazy("Said what became of the call."),
    Verdict.DID_NOT_HAPPEN: gettext_lazy("Said what became of the call."),
    Verdict.GAVE_UP: gettext_lazy("Said what became of the call."),
}
"""For the log of the admin: what was done, without the words of anybody."""
NOT_DONE: Final = (CallState.FAILED, CallState.IN_DOUBT, CallState.PENDING, CallState.REFUSED)


def verdict_on(call: RunToolCall) -> str:
    """What has just been said of it: an approval may have come to less than that."""
    decision = last_decision(call)
    return decision.verdict if decision else Verdict.APPROVED


def told(run: Run, call: RunToolCall, *, by: Any) -> tuple[int, SafeString]:
    """The level and the text of the message, once somebody has decided. ``call`` as it is after the decision."""
    level, run_now = RUN_NOW[run.status]
    verdict = verdict_on(call)
    if verdict == Verdict.APPROVED and call.state in NOT_DONE:
        level = messages.WARNING
    said = str(SAID[verdict]) % {"tool": call.tool_name, "state": call.get_state_display()}
    link = format_html(' <a href="{}">{}</a>', run_url(run.pk), _("See the run")) if may_read_runs(by) else ""
    return level, format_html("{} {}{}", said, run_now, link)


def next_url(run: Run, call: RunToolCall, *, by: Any) -> str:
    """The next call that waits for this person: of this run, else of any, the oldest first.

    Where none does: the run's page, or the call's own for those who may not read the run.
    """
    waiting = waiting_for(by).order_by("pending_since", "turn", "index")
    if following := waiting.filter(run=run).first() or waiting.first():
        return call_url(following.pk)
    return run_url(run.pk) if may_read_runs(by) else call_url(call.pk)


def status_of(problem: LLMFoundationError) -> int:
    """Of the page that tells why nothing was decided."""
    if isinstance(problem, DecisionNotPermitted):
        return 403
    return 400 if isinstance(problem, InvalidEdit | InvalidInput) else 409


def call_url(pk: Any) -> str:
    return reverse("admin:llm_foundation_runtoolcall_change", args=[pk])


def run_url(pk: Any) -> str:
    return reverse("admin:llm_foundation_run_change", args=[pk])
