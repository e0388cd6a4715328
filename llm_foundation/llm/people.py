"""What people say about a run and its calls. Each function gives the run as it is afterwards."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.runs.cancelling import cancel as cancel_run
from llm_foundation.runs.decisions import decide
from llm_foundation.runs.resolutions import Outcome
from llm_foundation.runs.resolutions import resolve as resolve_call

if TYPE_CHECKING:
    from uuid import UUID

    from pydantic import BaseModel

    from llm_foundation.policy.facts import User


def approve(
    call: "RunToolCall | UUID | str",
    *,
    by: "User",
    digest: str,
    arguments: Mapping[str, Any] | None = None,
    input: "Mapping[str, Any] | BaseModel | None" = None,
    channel: str = "code",
) -> Run:
    """Release one pending call, and let its run go on. Gives the run as it is afterwards.

    ``digest`` is ``call.digest`` as it was when the person looked. ``arguments`` are all arguments of the call, changed
    by the person: the tool is called with them, and the model is told. ``input`` is what the tool's input model asks
    for. Where the approval policy bars who gave them from releasing the call (four eyes), both are kept under a new
    digest, the call goes on waiting, and ``run.pending_calls`` still holds it.

    Raises ``DecisionError``, and nothing was written: ``DecisionNotPermitted``, ``AlreadyDecided``, ``StaleDigest``,
    ``DecisionExpired``, or ``InvalidEdit`` and ``InvalidInput`` with sentences per field.
    """
    return _run_of(
        decide(
            call,
            by=by,
            digest=digest,
            verdict=Decision.Verdict.APPROVED,
            channel=channel,
            arguments=arguments,
            input=input,
        )
    )


def answer(
    call: "RunToolCall | UUID | str",
    *,
    by: "User",
    digest: str,
    input: "Mapping[str, Any] | BaseModel",
    channel: str = "code",
) -> Run:
    """Give a pending call the input that its tool asks for: as the run's owner or starter, or who may decide calls.

    A call that waits for nothing else is released by it. Where somebody has to approve it as well, the input is kept
    under a new digest, and the call goes on waiting. Another answer takes the place of the first. See ``approve``.
    """
    return _run_of(decide(call, by=by, digest=digest, verdict=Decision.Verdict.ANSWERED, channel=channel, input=input))


def deny(
    call: "RunToolCall | UUID | str",
    *,
    by: "User",
    digest: str,
    reason: str = "",
    stop: bool = False,
    channel: str = "code",
) -> Run:
    """Refuse one pending call; the model is told, with the reason, and the run goes on. See ``approve``.

    ``stop``: the run is cancelled with it. Who may deny a call may do that as well, without another permission.
    """
    return _run_of(
        decide(
            call,
            by=by,
            digest=digest,
            verdict=Decision.Verdict.DENIED,
            reason=reason,
            channel=channel,
            stop_run=stop,
        )
    )


def resolve(
    call: "RunToolCall | UUID | str",
    *,
    by: "User",
    outcome: Outcome,
    result: str | None = None,
    reason: str = "",
    channel: str = "code",
) -> Run:
    """Say what became of a call in doubt, and let its run go on. Gives the run as it is afterwards.

    ``"happened"``: it took effect, and ``result`` is what the model will read of it; ``"did_not_happen"``: it may run
    again, after a fresh approval where the gate asks for one; ``"give_up"``: the model is told that nobody knows.
    Raises ``DecisionNotPermitted``, ``AlreadyDecided`` where the call is not in doubt, or ``TooEarly`` where the
    attempt may still be at work.
    """
    return _run_of(resolve_call(call, by=by, outcome=outcome, result=result, reason=reason, channel=channel))


def cancel(run: "Run | UUID | str", *, by: "User") -> Run:
    """Cancel a run: at once, or as soon as the process that executes it looks up from its call.

    Calls that wait are not executed; one that is executing ends first, and one in doubt has to be resolved. A run that
    has ended stays as it is. Raises ``RunNotPermitted`` for somebody who is neither its owner nor its starter and has
    no ``llm_foundation.cancel_run``.
    """
    return cancel_run(run, by=by)


aanswer = sync_to_async(answer)
aapprove = sync_to_async(approve)
adeny = sync_to_async(deny)
aresolve = sync_to_async(resolve)
acancel = sync_to_async(cancel)


def _run_of(decision: Decision) -> Run:
    return Run.objects.get(calls=decision.call_id)
