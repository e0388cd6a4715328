"""What a person says about one pending call. The only way a decision is made."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from llm_foundation.conf import settings
from llm_foundation.exceptions import DecisionError, EncryptionError, LLMFoundationError
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.models.calls import MAX_CHANNEL
from llm_foundation.models.fields import readable
from llm_foundation.policy.facts import Policy
from llm_foundation.runs import announcements, mutex
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.edits import NOTHING, Addition, read_addition
from llm_foundation.runs.events import Event, EventKind, event
from llm_foundation.runs.inputs import require_input, require_takes_input
from llm_foundation.runs.releases import keep_waiting, release, stop
from llm_foundation.runs.repeating import repeated_on_conflict
from llm_foundation.runs.requirements import (
    policy_for,
    require_gate,
    require_no,
    require_open,
    require_preview,
    require_releasable,
    require_unchanged,
    require_vouched,
)
from llm_foundation.runs.seals import seal_of
from llm_foundation.runs.second_look import has_preview, show_again_if_changed
from llm_foundation.runs.surroundings import refuse_inside_transaction
from llm_foundation.runs.verification import last_decision, waits_for_input_only, why_not_release
from llm_foundation.tools import Tool, ToolResult, bounded, registry

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User

Verdict: Final = Decision.Verdict


class _Ruling(NamedTuple):
    """What is recorded, and whether the call may run now. What does neither release nor deny leaves it pending."""

    verdict: Decision.Verdict
    releases: bool = False


@repeated_on_conflict
def decide(
    call: RunToolCall | UUID | str,
    *,
    by: "User",
    digest: str,
    verdict: Decision.Verdict,
    reason: str = "",
    channel: str = "code",
    arguments: Any = None,
    input: Any = None,
    stop_run: bool = False,
) -> Decision:
    """Decide one pending call, once. The run goes on after the decision is committed, never before.

    ``digest`` is that of what the person saw. ``arguments`` is for ``APPROVED``, ``input`` for ``ANSWERED`` as well,
    ``stop_run`` for ``DENIED``. The decision's own verdict is ``EDITED`` or ``ANSWERED`` where somebody else has to
    approve what was given. Raises a ``DecisionError``, or ``RunToolCall.DoesNotExist`` for what is no call's id; then
    nothing was written.
    """
    refuse_inside_transaction("Deciding a call")
    place = place_of(call)
    addition = read_addition(place, by=by, digest=digest, verdict=verdict, arguments=arguments, input=input)
    if verdict == Verdict.APPROVED and not addition:
        _require_as_shown(place, by=by, digest=digest)
    with transaction.atomic(durable=True):
        run = mutex.lock(place.run_id)
        row = RunToolCall.objects.get(pk=place.pk)
        tool = _require(run, row, by=by, digest=digest, verdict=verdict)
        columns, ruling = _judged(run, row, tool, addition, by=by, verdict=verdict)
        decision = record(
            row, by=by, verdict=ruling.verdict, reason=readable(reason), channel=channel, addition=addition
        )
        _write(run, row, decision, columns, releases=ruling.releases, stop_run=stop_run)
    return decision


def _require_as_shown(place: RunToolCall, *, by: "User", digest: str) -> None:
    """Outside of the run's lock, since a preview takes its time. A change that comes later is found by the attempt."""
    row = RunToolCall.objects.get(pk=place.pk)
    if not has_preview(row):
        return
    run = mutex.read(place.run_id)
    _require(run, row, by=by, digest=digest, verdict=Verdict.APPROVED)
    policy = policy_for(run, by)
    require_releasable(run, row, by, policy=policy)
    show_again_if_changed(run, row, policy=policy)


def obstacle(call: RunToolCall, *, by: "User", verdict: Decision.Verdict) -> LLMFoundationError | None:
    """What would keep this person from deciding so now, for screens that say it beforehand. Writes nothing.

    That an approval needs an input as well is no obstacle: the same form gives both. See ``inputs.needs_input``.
    """
    run = call.run
    try:
        tool = _require(run, call, by=by, digest=call.digest, verdict=verdict)
        match verdict:
            case Verdict.APPROVED:
                require_vouched(call)
                require_releasable(run, call, by)
            case Verdict.EDITED:
                require_gate(run, call, by)
            case Verdict.ANSWERED:
                require_takes_input(tool)
                require_gate(run, call, by)
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


def _require(run: Run, row: RunToolCall, *, by: "User | None", digest: str, verdict: Decision.Verdict) -> Tool | None:
    """Denying needs no more than ``require_open`` asks; whatever may let the call run does. Gives the call's tool."""
    require_open(run, row, by=by, digest=digest, verdict=verdict)
    return registry.get(row.tool_name) if verdict == Verdict.DENIED else require_unchanged(run, row)


def _judged(
    run: Run, row: RunToolCall, tool: Tool | None, addition: Addition, *, by: "User", verdict: Decision.Verdict
) -> tuple[dict[str, Any], _Ruling]:
    """The columns of what was given, and what the person's word comes to, by the facts of one moment."""
    if verdict == Verdict.DENIED or tool is None:
        return {}, _Ruling(Verdict.DENIED)
    require_vouched(row, edited=addition.arguments is not None, answered=addition.input is not None)
    policy = policy_for(run, by)
    columns = _added(run, row, tool, addition, by=by, policy=policy)
    require_preview(row)
    if verdict == Verdict.ANSWERED:
        return columns, _answered(run, row, policy=policy)
    return columns, _approved(run, row, tool, addition, by=by, policy=policy)


def _added(run: Run, row: RunToolCall, tool: Tool, addition: Addition, *, by: "User", policy: Policy) -> dict[str, Any]:
    """Let the row say what would run with what was given, and give the columns that say so."""
    if not addition:
        return {}
    addition.put_on(row, by)
    require_gate(run, row, by, policy=policy)
    return addition.columns(run, row, tool)


def _approved(run: Run, row: RunToolCall, tool: Tool, addition: Addition, *, by: "User", policy: Policy) -> _Ruling:
    """Who may not release what they gave themselves has given it all the same."""
    refusal = why_not_release(run, row, by, policy=policy)
    if refusal and addition and refusal[0] == "four_eyes":
        return _answered(run, row, policy=policy) if addition.arguments is None else _Ruling(Verdict.EDITED)
    require_no(refusal)
    require_input(row, tool)
    return _Ruling(Verdict.APPROVED, releases=True)


def _answered(run: Run, row: RunToolCall, *, policy: Policy) -> _Ruling:
    """An input alone releases what waits for nothing else."""
    return _Ruling(Verdict.ANSWERED, releases=waits_for_input_only(run, row, policy=policy))


def record(
    row: RunToolCall,
    *,
    by: Any,
    verdict: Decision.Verdict,
    reason: str,
    channel: str,
    addition: Addition = NOTHING,
) -> Decision:
    """Write down what was said, sealed; under the mutex."""
    before = last_decision(row)
    decision = Decision(
        call=row,
        number=before.number + 1 if before else 1,
        verdict=verdict,
        decider=by,
        channel=readable(channel, length=MAX_CHANNEL),
        digest=row.digest,
        reason=reason,
        decided_at=timezone.now(),
    )
    decision.edited, decision.input = addition.arguments, addition.input
    decision.seal = seal_of(decision)
    decision.save(force_insert=True)
    announcements.decided(decision)
    return decision


def _write(
    run: Run, row: RunToolCall, decision: Decision, columns: dict[str, Any], *, releases: bool, stop_run: bool
) -> None:
    """The call's way and the decision are one transaction; the run is queued, and whoever is free takes it."""
    changes, is_denied = Changes(), decision.verdict == Verdict.DENIED
    if is_denied:
        _deny(changes, row, decision)
    elif releases:
        changes.move(row, CallState.READY, **columns)
    else:
        changes.rewrite(row, **columns)
    changes.events.append(_event(row, decision))
    if is_denied and stop_run:
        changes.events.append(event(EventKind.CANCEL_REQUESTED, by=str(decision.decider_id)))
        stop(run, changes)
    elif is_denied or releases:
        release(run, changes)
    else:
        keep_waiting(run, changes)


def _deny(changes: Changes, row: RunToolCall, decision: Decision) -> None:
    if row.may_have_happened:
        changes.move(row, CallState.IN_DOUBT)
    else:
        sealed = RunToolCall.result.seal(row, _denial(decision.reason))
        changes.move(row, CallState.DENIED, result_sealed=sealed, finished_at=timezone.now())


def _event(row: RunToolCall, decision: Decision) -> Event:
    """Changed arguments and inputs are told of nowhere but in the call and the decision."""
    return event(
        EventKind.DECIDED,
        content={"reason": decision.reason},
        call=row.pk,
        tool=row.tool_name,
        verdict=str(decision.verdict),
        decider=str(decision.decider_id),
    )


def _denial(reason: str) -> str:
    """What the model is told. In English, like all that models are told."""
    said = f" They said: {reason}" if reason else ""
    told = ToolResult(f"Error: a person denied this call; it was not executed.{said}", is_error=True)
    return bounded(told, settings.MAX_RESULT_CHARACTERS).content
