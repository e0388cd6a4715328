"""Reading a claimed run: everything a segment needs, from what is stored."""

from typing import TYPE_CHECKING, Final

from django.db.models import UUIDField

from llm_foundation.conf import settings
from llm_foundation.loop.state import LoopState
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.models.compiled import CompiledQuery, Parameter, fetch_together
from llm_foundation.pipeline.plan import plan_for
from llm_foundation.runs.call_rows import unannounced
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.held import HeldRun

if TYPE_CHECKING:
    from django.db.models import QuerySet


def load(run: Run) -> HeldRun:
    """Raises ``DecryptionFailed`` where a message or a call cannot be read, and ``ConfigurationError``."""
    [configuration], sealed, calls = fetch_together(
        Configuration.objects.asking(run.configuration_id), run.ask_messages(), _LAST_TURN.asking(run=run.pk)
    )
    run.configuration = Configuration.objects.ready(configuration)
    plan = plan_for(run.configuration)
    messages = run.whole_transcript(run.read_messages(sealed))
    rows = calls if messages[-1].tool_calls else []
    state = LoopState(
        messages=messages,
        open_turn=tuple(row.open_call() for row in rows),
        counters=run.counters(),
        limits=run.run_limits(),
        closing=run.closing,
        is_paused=run.is_paused,
    )
    held = HeldRun(run, plan, state, rows, covered=settings.TOTAL_TIMEOUT)
    held.changes.events += [event(EventKind.RESUMED, attempt=run.attempts), *unannounced(run, rows)]
    return held


def _last_turn() -> "QuerySet[RunToolCall]":
    calls = RunToolCall.objects.filter(run=Parameter("run", UUIDField()))
    return calls.filter(turn=calls.order_by("-turn").values("turn")[:1]).order_by("index")


_LAST_TURN: Final = CompiledQuery(_last_turn)
