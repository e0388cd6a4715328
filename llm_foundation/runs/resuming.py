"""Reading a claimed run: everything a segment needs, from what is stored."""

from llm_foundation.conf import settings
from llm_foundation.loop.state import LoopState
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.pipeline.plan import plan_for
from llm_foundation.runs.call_rows import unannounced
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.held import HeldRun


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
    held.changes.events += [event(EventKind.RESUMED, attempt=run.attempts), *unannounced(run, rows)]
    return held


def _open_turn(run: Run) -> list[RunToolCall]:
    last_turn = run.calls.order_by("-turn").values("turn")[:1]
    return list(run.calls.filter(turn=last_turn).order_by("index"))
