"""Before a release counts: whether the call would still do what the person was shown."""

from django.db import transaction
from django.utils.translation import gettext as _

from llm_foundation.exceptions import DecisionNotPermitted, StaleDigest
from llm_foundation.models import Run, RunToolCall
from llm_foundation.policy.facts import Policy
from llm_foundation.runs import mutex
from llm_foundation.runs.call_rows import pending_event, shown
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.previews import Preview, is_same, preview_of
from llm_foundation.runs.verification import why_gate_refuses
from llm_foundation.tools import Tool, registry


def has_preview(row: RunToolCall) -> bool:
    """Whether one is shown, or could be by now."""
    tool = registry.get(row.tool_name)
    return bool(row.preview_sealed) or (tool is not None and tool.preview is not None)


def show_again_if_changed(run: Run, row: RunToolCall, *, policy: Policy) -> None:
    """Make the preview anew; where it has changed, store it under another digest, and raise ``StaleDigest``.

    Raises ``DecisionNotPermitted`` where it cannot be made now; what was shown stays then.
    """
    tool = registry.get(row.tool_name)
    if tool is None or not _may_still_run(run, row, policy):
        return
    preview = preview_of(run, row, tool)
    if is_same(preview, row.preview):
        return
    if preview is not None and preview.failed:
        message = _("Its preview cannot be made now, so nobody can see what the call would do. Try again later.")
        raise DecisionNotPermitted(message, rule="preview")
    _show_again(row, tool, preview)
    raise StaleDigest(_("What this call would do has changed since it was shown. Look at it again, then decide."))


def _may_still_run(run: Run, row: RunToolCall, policy: Policy) -> bool:
    """A preview is made with the owner's rights. Where the gate refuses the owner by now, nothing will happen."""
    if run.has_owner and run.owner is None:
        return False
    return why_gate_refuses(run, row, run.owner, policy=policy) is None


def _show_again(row: RunToolCall, tool: Tool, preview: Preview | None) -> None:
    """Nothing is written where somebody else has moved the call meanwhile, or has it shown again already."""
    with transaction.atomic(durable=True):
        run = mutex.lock(row.run_id)
        stored = RunToolCall.objects.pending().filter(pk=row.pk, digest=row.digest).first()
        if stored is not None:
            changes = Changes()
            changes.rewrite(stored, **shown(run, stored, tool, preview))
            changes.events.append(pending_event(stored, reason=stored.reason, voided="preview"))
            mutex.write(run, changes)
