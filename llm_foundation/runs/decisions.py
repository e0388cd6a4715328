"""What a person says about one pending call. The only way a decision is made."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from llm_foundation.exceptions import (
    AlreadyDecided,
    DecisionError,
    DecisionNotPermitted,
    EncryptionError,
    LLMFoundationError,
    StaleDigest,
)
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.models.fields import readable
from llm_foundation.policy.facts import load_policy
from llm_foundation.runs import mutex
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.releases import WAITING, release
from llm_foundation.runs.repeating import repeated_on_conflict
from llm_foundation.runs.seals import digest_holds, same_digest, seal_of
from llm_foundation.runs.surroundings import refuse_inside_transaction
from llm_foundation.runs.verification import DECIDE, last_decision, may_decide, why_not_release
from llm_foundation.tools import registry

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User


_OPEN: Final = (*WAITING, RunStatus.RUNNING, RunStatus.QUEUED)


@repeated_on_conflict
def decide(
    call: RunToolCall | UUID | str,
    *,
    by: "User",
    digest: str,
    verdict: Decision.Verdict,
    reason: str = "",
    channel: str = "code",
) -> Decision:
    """Decide one pending call, once. The run goes on after the decision is committed, never before.

    ``digest`` is that of what the person saw. Raises ``AlreadyDecided``, ``StaleDigest``, ``DecisionNotPermitted``, or
    ``RunToolCall.DoesNotExist`` for what is no call's id; then nothing was written.
    """
    refuse_inside_transaction("Deciding a call")
    place = place_of(call)
    with transaction.atomic(durable=True):
        run = mutex.lock(place.run_id)
        row = RunToolCall.objects.get(pk=place.pk)
        _require(run, row, by=by, digest=digest, verdict=verdict)
        decision = record(row, by=by, verdict=verdict, reason=readable(reason), channel=channel)
        _move(run, row, decision)
    return decision


def obstacle(call: RunToolCall, *, by: "User", verdict: Decision.Verdict) -> LLMFoundationError | None:
    """What would keep this person from deciding so now, for screens that say it beforehand. Writes nothing."""
    try:
        _require(call.run, call, by=by, digest=call.digest, verdict=verdict)
    except (DecisionError, EncryptionError) as error:
        return error
    return None


def place_of(call: RunToolCall | UUID | str) -> RunToolCall:
    """Which call of which run is meant. Read before the run's lock: neither ever changes."""
    call_id = call.pk if isinstance(call, RunToolCall) else call
    try:
        return RunToolCall.objects.only("run_id").get(pk=call_id)
    except (ValidationError, ValueError):
        raise RunToolCall.DoesNotExist(f"There is no tool call {call_id!r}.") from None


def _require(run: Run, row: RunToolCall, *, by: "User | None", digest: str, verdict: Decision.Verdict) -> None:
    """Denying needs the permission; releasing needs to be allowed the call oneself as well.

    Who has no permission learns nothing of the call, not even that somebody has decided it.
    """
    _require_decider(by)
    _require_pending(run, row)
    if verdict == Decision.Verdict.APPROVED:
        _require_releasable(run, row, by)
    _require_same(run, row, digest, verdict)


def _require_decider(by: "User | None") -> None:
    if not may_decide(by):
        message = _("Deciding tool calls needs the permission “%(permission)s”.") % {"permission": DECIDE}
        raise DecisionNotPermitted(message, rule="permission")


def _require_pending(run: Run, row: RunToolCall) -> None:
    if row.state == CallState.PENDING and run.status in _OPEN:
        return
    decision = last_decision(row)
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


def local(moment: datetime) -> datetime:
    """Naive where the project keeps naive times."""
    return timezone.localtime(moment) if timezone.is_aware(moment) else moment


def _require_releasable(run: Run, row: RunToolCall, by: "User | None") -> None:
    if row.preview and row.preview["failed"]:
        message = _("Its preview failed, so nobody can see what the call would do: it can only be denied.")
        raise DecisionNotPermitted(message, rule="preview")
    policy = load_policy(run.configuration, user=by)
    if refusal := why_not_release(run, row, by, policy=policy):
        rule, message = refusal
        raise DecisionNotPermitted(message, rule=rule)


def _require_same(run: Run, row: RunToolCall, digest: str, verdict: Decision.Verdict) -> None:
    """What was shown is what is stored; and what is stored is what would run, where the call is to be released."""
    if not same_digest(digest, row.digest):
        raise StaleDigest(_("This call is not the one that you were shown. Look at it again, then decide."))
    if verdict == Decision.Verdict.DENIED:
        return
    tool = registry.get(row.tool_name)
    if tool is None or not digest_holds(run, row, tool):
        raise StaleDigest(_("Its tool, or the call itself, has changed since it was asked for: it can only be denied."))


def record(row: RunToolCall, *, by: Any, verdict: Decision.Verdict, reason: str, channel: str) -> Decision:
    """Write down what was said, sealed; under the mutex."""
    decision = Decision(
        call=row,
        number=Decision.objects.filter(call=row).count() + 1,
        verdict=verdict,
        decider=by,
        channel=channel,
        digest=row.digest,
        reason=reason,
        decided_at=timezone.now(),
    )
    decision.seal = seal_of(decision)
    decision.save(force_insert=True)
    return decision


def _move(run: Run, row: RunToolCall, decision: Decision) -> None:
    """The call's way and the decision are one transaction; the run is queued, and whoever is free takes it."""
    changes = Changes()
    if decision.verdict == Decision.Verdict.APPROVED:
        changes.move(row, CallState.READY)
    elif row.may_have_happened:
        changes.move(row, CallState.IN_DOUBT)
    else:
        sealed = RunToolCall.result.seal(row, _denial(decision.reason))
        changes.move(row, CallState.DENIED, result_sealed=sealed, finished_at=timezone.now())
    changes.events.append(
        event(
            EventKind.DECIDED,
            content={"reason": decision.reason},
            call=row.pk,
            tool=row.tool_name,
            verdict=str(decision.verdict),
            decider=str(decision.decider_id),
        )
    )
    release(run, changes)


def _denial(reason: str) -> str:
    """What the model is told. In English, like all that models are told."""
    said = f" They said: {reason}" if reason else ""
    return f"Error: a person denied this call; it was not executed.{said}"
