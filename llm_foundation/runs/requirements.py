"""What must be so before a person's word about a pending call counts. Each function raises the error that says why not.

Who has no permission learns nothing of the call, not even that somebody has decided it.
"""

from typing import TYPE_CHECKING

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from llm_foundation.exceptions import AlreadyDecided, DecisionExpired, DecisionNotPermitted, StaleDigest
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.policy.facts import Policy, load_policy
from llm_foundation.runs.approvers import Refusal
from llm_foundation.runs.clock import local
from llm_foundation.runs.expiry import is_overdue
from llm_foundation.runs.provenance import is_edit_vouched_for, is_input_vouched_for
from llm_foundation.runs.releases import WAITING
from llm_foundation.runs.seals import digest_holds, same_digest
from llm_foundation.runs.verification import (
    DECIDE,
    last_decision,
    may_answer,
    may_decide,
    why_gate_refuses,
    why_not_release,
)
from llm_foundation.tools import Tool, registry

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User

_OPEN = (*WAITING, RunStatus.RUNNING, RunStatus.QUEUED)
_ENDED_WITHOUT_A_WORD = (CallState.CANCELLED, CallState.REFUSED)  # whatever somebody had said of them before


def require_open(run: Run, row: RunToolCall, *, by: "User | None", digest: str, verdict: Decision.Verdict) -> None:
    """What is asked of every decision, in the order in which it gives the least away."""
    require_person(run, by, verdict)
    require_in_time(row)
    require_pending(run, row)
    require_shown(row, digest)


def require_person(run: Run, by: "User | None", verdict: Decision.Verdict) -> None:
    """Inputs are given by the run's own people as well; everything else needs the permission."""
    if may_decide(by) or (verdict == Decision.Verdict.ANSWERED and may_answer(run, by)):
        return
    message = _("Deciding tool calls needs the permission “%(permission)s”.") % {"permission": DECIDE}
    raise DecisionNotPermitted(message, rule="permission")


def require_in_time(row: RunToolCall) -> None:
    """Also before a sweep has come by."""
    if row.expires_at is not None and (row.state == CallState.EXPIRED or is_overdue(row)):
        moment = date_format(local(row.expires_at), "DATETIME_FORMAT")
        message = _("Nobody decided this call in time: since %(moment)s it waits for no decision any more.")
        raise DecisionExpired(message % {"moment": moment}, expired_at=row.expires_at)


def require_pending(run: Run, row: RunToolCall) -> None:
    if row.state == CallState.PENDING and run.status in _OPEN:
        return
    decision = None if row.state in _ENDED_WITHOUT_A_WORD else last_decision(row)
    if decision is None:
        state = row.get_state_display() if row.state != CallState.PENDING else run.get_status_display()
        raise AlreadyDecided(
            _("This call no longer waits for a decision: %(state)s.") % {"state": state}, state=row.state
        )
    facts = {
        "who": decision.decider or _("somebody"),
        "what": decision.get_verdict_display(),
        "when": date_format(local(decision.decided_at), "DATETIME_FORMAT"),
    }
    raise AlreadyDecided(
        _("%(who)s has decided this call already (%(what)s, %(when)s).") % facts,
        state=row.state,
        decider=str(facts["who"]),
        verdict=decision.verdict,
        decided_at=decision.decided_at,
    )


def require_shown(row: RunToolCall, digest: str) -> None:
    """What was shown is what is stored."""
    if not same_digest(digest, row.digest):
        raise StaleDigest(_("This call is not the one that you were shown. Look at it again, then decide."))


def require_unchanged(run: Run, row: RunToolCall) -> Tool:
    """What is stored is what would run. Gives the call's tool."""
    tool = registry.get(row.tool_name)
    if tool is None or not digest_holds(run, row, tool):
        raise StaleDigest(_("Its tool, or the call itself, has changed since it was asked for: it can only be denied."))
    return tool


def require_releasable(run: Run, row: RunToolCall, by: "User | None", *, policy: Policy | None = None) -> None:
    """``policy``: the facts of this moment, where they are known already."""
    require_preview(row)
    require_no(why_not_release(run, row, by, policy=policy or policy_for(run, by)))


def require_no(refusal: Refusal | None) -> None:
    if refusal:
        rule, message = refusal
        raise DecisionNotPermitted(message, rule=rule)


def require_vouched(row: RunToolCall, *, edited: bool = False, answered: bool = False) -> None:
    """What people added to the call comes from them. ``edited`` and ``answered``: it is being given anew."""
    if (edited or is_edit_vouched_for(row)) and (answered or is_input_vouched_for(row)):
        return
    raise StaleDigest(
        _(
            "Changed arguments or an input stand at this call that no decision has put there, or that come from an"
            " account which was deleted since. Give them anew, or deny the call."
        )
    )


def require_preview(row: RunToolCall) -> None:
    if row.preview and row.preview["failed"]:
        message = _("Its preview failed, so nobody can see what the call would do: it can only be denied.")
        raise DecisionNotPermitted(message, rule="preview")


def require_gate(run: Run, row: RunToolCall, by: "User | None", *, policy: Policy | None = None) -> None:
    """Owner and person are allowed the call as it would run, with what people added to it."""
    policy = policy or policy_for(run, by)
    for person in (run.owner, by):
        require_no(why_gate_refuses(run, row, person, policy=policy))


def policy_for(run: Run, person: "User | None") -> Policy:
    return load_policy(run.configuration, user=person, run_id=run.pk, read_history=lambda: run.transcript)
