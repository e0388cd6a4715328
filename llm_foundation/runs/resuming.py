"""Reading a claimed run: everything a segment needs, from what is stored."""

from collections.abc import Sequence

from llm_foundation.conf import settings
from llm_foundation.loop.state import LoopState
from llm_foundation.loop.states import CallState
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.pipeline.plan import plan_for
from llm_foundation.runs.events import Event, EventKind, event
from llm_foundation.runs.held import HeldRun
from llm_foundation.vocabulary import Effect

_SETTLED = (CallState.SUCCEEDED, CallState.FAILED)
_ENDED = (EventKind.SETTLED, EventKind.RESOLVED)


def load(run: Run) -> HeldRun:
    """Raises ``DecryptionFailed`` where a message or a call cannot be read, and ``ConfigurationError``."""
    configuration = Configuration.objects.by_slug(run.configuration.slug)
    plan = plan_for(configuration)
    messages = run.transcript
    rows = _open_turn(run) if messages[-1].tool_calls else []
    state = LoopState(
        messages=messages,
        open_turn=tuple(row.open_call() for row in rows),
        counters=run.counters(),
        limits=run.run_limits(),
        closing=run.closing,
        is_paused=run.is_paused,
    )
    run.configuration = configuration
    held = HeldRun(run, plan, state, rows, covered=settings.TOTAL_TIMEOUT)
    held.changes.events += [event(EventKind.RESUMED, attempt=run.attempts), *_unannounced(run, rows)]
    return held


def _open_turn(run: Run) -> list[RunToolCall]:
    last_turn = run.calls.order_by("-turn").values("turn")[:1]
    return list(run.calls.filter(turn=last_turn).order_by("index"))


def _unannounced(run: Run, rows: Sequence[RunToolCall]) -> list[Event]:
    """A transactional call that has ended, in a segment that died before it could say so on the timeline."""
    settled = {row.pk: row for row in rows if row.effect == Effect.TRANSACTIONAL_WRITE and row.state in _SETTLED}
    if not settled:
        return []
    told = run.events.filter(kind__in=_ENDED, tool_call_id__in=settled).values_list("tool_call_id", flat=True)
    return [
        event(EventKind.SETTLED, call=row.pk, tool=row.tool_name, state=row.state)
        for row in settled.values()
        if row.pk not in set(told)
    ]
