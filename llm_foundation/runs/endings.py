"""How a run ends other than by its answer: cancelled, or with a failure.

Its open calls end with it, each with an honest result, so that its transcript can be continued by another run. Where
nobody knows whether one of them took effect, the run stays open for the person who has to find out.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.utils import timezone

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.loop.states import RUN_TRANSITIONS, CallState, RunStatus
from llm_foundation.models import Run, RunToolCall
from llm_foundation.models.fields import readable
from llm_foundation.models.runs import MAX_REASON
from llm_foundation.runs import announcements, mutex
from llm_foundation.runs.call_rows import unannounced
from llm_foundation.runs.changes import Changes, check_transition
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.interrupted import take_back

_ANSWERED: Final = tuple(state for state in CallState if state.is_answered)
_NOT_EXECUTED: Final = "Error: the run ended before this call was executed."
_UNREADABLE: Final = "Error: the result of this call cannot be read any more."


def ending(source: str, target: RunStatus, *, reason: str, error: str) -> dict[str, Any]:
    """The columns of a run that has ended. A run never ends without a reason."""
    check_transition(RUN_TRANSITIONS[RunStatus(source)], source, target)
    words = {"termination_reason": readable(reason, length=MAX_REASON), "error": readable(error)}
    return {"status": target, **words, "finished_at": timezone.now(), **mutex.LET_GO}


def end(run: Run, *, status: RunStatus, reason: str, error: str = "") -> dict[str, Any]:
    """Under the mutex: end the run and its open calls, or leave it in doubt. Gives the columns that say so."""
    rows = list(RunToolCall.objects.filter(run=run).exclude(state__in=_ANSWERED).order_by("turn", "index"))
    changes = Changes(
        forgets_deltas=True, events=unannounced(run, run.calls.only("run_id", "effect", "state", "tool_name"))
    )
    take_back(changes, rows, run_ends=True)
    if any(row.state == CallState.IN_DOUBT for row in rows):
        columns = _stay_in_doubt(run, status, error)
        changes.events.append(event(EventKind.WAITING, status=RunStatus.IN_DOUBT.value, reason=reason))
    else:
        _close(changes, rows)
        changes.messages = _results_of_open_turn(run, rows)
        columns = ending(run.status, status, reason=reason, error=error)
        changes.events.append(event(EventKind.FINISHED, status=status.value, reason=reason))
    mutex.write(run, changes, **columns)
    if columns["status"] is RunStatus.IN_DOUBT:
        announcements.waiting(run)
    return columns


def _stay_in_doubt(run: Run, status: RunStatus, error: str) -> dict[str, Any]:
    """What else the run would have come to is not forgotten: a cancel is carried out once the doubt is resolved."""
    wanted = run.cancel_requested_at or timezone.now() if status is RunStatus.CANCELLED else run.cancel_requested_at
    return {
        "status": RunStatus.IN_DOUBT,
        "error": readable(error),
        "cancel_requested_at": wanted,
        **mutex.LET_GO,
    }


def _close(changes: Changes, rows: Sequence[RunToolCall]) -> None:
    """The way out for calls that nobody will execute any more."""
    for row in rows:
        target = CallState.REFUSED if row.state == CallState.PROPOSED else CallState.CANCELLED
        sealed = RunToolCall.result.seal(row, _NOT_EXECUTED)
        changes.move(row, target, result_sealed=sealed, finished_at=timezone.now())
        changes.events.append(event(EventKind.SETTLED, call=row.pk, tool=row.tool_name, state=target.value))


def _results_of_open_turn(run: Run, closed: Sequence[RunToolCall]) -> list[ChatMessage]:
    """One result for each call of the last turn, unless they are in the transcript already."""
    last = run.messages.order_by("-sequence").first()
    try:
        calls = last.message.tool_calls if last else ()
    except Exception:  # noqa: BLE001  # whatever cannot be read ends nevertheless, and keeps its data
        return []
    if not calls:
        return []
    now_closed = {row.pk: row for row in closed}
    turn = run.calls.order_by("-turn").values("turn")[:1]
    rows = {row.index: now_closed.get(row.pk, row) for row in run.calls.filter(turn=turn)}
    return [ChatMessage.tool_result(call.id, _result(rows.get(index))) for index, call in enumerate(calls)]


def _result(row: RunToolCall | None) -> str:
    try:
        return row.result if row else _NOT_EXECUTED
    except Exception:  # noqa: BLE001  # as above
        return _UNREADABLE
