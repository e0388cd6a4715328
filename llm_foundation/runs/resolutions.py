"""What a person says became of a call in doubt: it happened, it did not, or nobody will ever know."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from llm_foundation.conf import settings
from llm_foundation.exceptions import AlreadyDecided, DecisionNotPermitted, InvalidMessage, TooEarly
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.models.fields import readable
from llm_foundation.runs import clock, mutex
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.decisions import place_of, record
from llm_foundation.runs.edited_arguments import note_of
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.releases import release
from llm_foundation.runs.repeating import repeated_on_conflict
from llm_foundation.runs.surroundings import refuse_inside_transaction
from llm_foundation.tools.results import ToolResult, bounded

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User

Outcome = Literal["happened", "did_not_happen", "give_up"]

RESOLVE: Final = "llm_foundation.resolve_toolcall"
_A_MINUTE: Final = timedelta(minutes=1)
_HAPPENED: Final = "The call took effect; a person has confirmed it. Its own result is not known."
_GAVE_UP: Final = "Error: nobody knows whether this call took effect. Do not make it again."


@repeated_on_conflict
def resolve(
    call: RunToolCall | UUID | str,
    *,
    by: "User",
    outcome: Outcome,
    result: str | None = None,
    reason: str = "",
    channel: str = "code",
) -> Decision:
    """Settle one call in doubt, once; its run goes on after this is committed.

    ``result`` is what the model will read of a call that happened. Raises ``DecisionNotPermitted``, ``AlreadyDecided``
    where the call is not in doubt (any more), ``TooEarly``, or ``InvalidMessage`` that names the parameter.
    """
    refuse_inside_transaction("Resolving a call")
    verdict = _verdict(outcome, result)
    _require_resolver(by)
    place = place_of(call)
    with transaction.atomic(durable=True):
        run = mutex.lock(place.run_id)
        row = RunToolCall.objects.get(pk=place.pk)
        _require_in_doubt(row)
        if verdict == Decision.Verdict.DID_NOT_HAPPEN:
            _require_over(row)
        decision = record(row, by=by, verdict=verdict, reason=readable(reason), channel=channel)
        release(run, _moved(row, decision, result))
    return decision


def may_resolve(person: Any) -> bool:
    return person is not None and bool(person.is_active and person.has_perm(RESOLVE))


def _verdict(outcome: Outcome, result: str | None) -> Decision.Verdict:
    resolutions = (Decision.Verdict.HAPPENED, Decision.Verdict.DID_NOT_HAPPEN, Decision.Verdict.GAVE_UP)
    verdict = next((one for one in resolutions if one.value == outcome), None)
    if verdict is None:
        raise InvalidMessage(f"must be one of {', '.join(one.value for one in resolutions)}", field="outcome")
    if result is not None and (verdict != Decision.Verdict.HAPPENED or not isinstance(result, str)):
        raise InvalidMessage("is the text of a call that happened; leave it out otherwise", field="result")
    return verdict


def _require_resolver(by: "User | None") -> None:
    if not may_resolve(by):
        message = _("Resolving tool calls in doubt needs the permission “%(permission)s”.") % {"permission": RESOLVE}
        raise DecisionNotPermitted(message, rule="permission")


def _require_in_doubt(row: RunToolCall) -> None:
    if row.state != CallState.IN_DOUBT:
        message = _("This call is not in doubt: %(state)s.") % {"state": row.get_state_display()}
        raise AlreadyDecided(message, state=row.state)


def _require_over(row: RunToolCall) -> None:
    """As long as the attempt may still be at work, nobody can know that nothing happened."""
    is_over = RunToolCall.objects.filter(pk=row.pk, deadline_at__lte=clock.now()).exists()
    if not is_over and row.deadline_at is not None:
        until = date_format(clock.local(row.deadline_at + _A_MINUTE), "DATETIME_FORMAT")  # which leaves the seconds out
        message = _("Until %(moment)s this call may still be at work: only then can anybody say so.")
        raise TooEarly(message % {"moment": until}, not_before=row.deadline_at)


def _moved(row: RunToolCall, decision: Decision, result: str | None) -> Changes:
    """A call that did not happen may run again: the gate is asked anew, and an approval from before is spent."""
    changes = Changes()
    if decision.verdict == Decision.Verdict.DID_NOT_HAPPEN:
        changes.move(row, CallState.READY, repeats=row.repeats + 1, attempt=0, started_at=None)
    else:
        happened = decision.verdict == Decision.Verdict.HAPPENED
        text = (result or _HAPPENED) if happened else _GAVE_UP
        told = "\n\n".join(filter(None, (note_of(row), readable(text))))
        shown = bounded(ToolResult(told), settings.MAX_RESULT_CHARACTERS).content
        target = CallState.SUCCEEDED if happened else CallState.FAILED
        changes.move(row, target, result_sealed=RunToolCall.result.seal(row, shown), finished_at=timezone.now())
    changes.events.append(
        event(
            EventKind.RESOLVED,
            call=row.pk,
            tool=row.tool_name,
            verdict=str(decision.verdict),
            decider=str(decision.decider_id),
        )
    )
    return changes
