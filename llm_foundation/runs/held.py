"""A run in the hands of the segment that holds its lease: what the store holds, and what is not stored yet."""

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Final

from llm_foundation.conf import settings
from llm_foundation.loop.state import LoopState
from llm_foundation.models import Run, RunToolCall
from llm_foundation.pipeline.plan import Plan
from llm_foundation.runs import store
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.events import Delta
from llm_foundation.runs.operations import ToolOutcome
from llm_foundation.runs.progress import Reporter
from llm_foundation.vocabulary import DataClass, highest

_COUNTERS: Final = (
    "rounds",
    "calls_made",
    "input_tokens",
    "output_tokens",
    "cost",
    "seconds",
    "high_water",
    "truncated",
    "is_paused",
)


class CancelRequested(Exception):
    """Somebody asked to cancel the run; what the segment had to write is written."""


class HeldRun:
    """Nothing in it outlives the process. ``covered`` is how many seconds of operations the lease covers from now."""

    def __init__(
        self, run: Run, plan: Plan, state: LoopState, rows: Sequence[RunToolCall] = (), *, covered: float
    ) -> None:
        self.run = run
        self.plan = plan
        self.state = state
        self.rows = by_call(state, rows)
        self.changes = Changes()
        self.fenced: list[RunToolCall] = []  # marked, but not begun
        self.outcomes: list[tuple[RunToolCall, ToolOutcome]] = []  # ended, but not stored
        self.reporter = Reporter(self._report, settings.STREAM_INTERVAL)
        self._has_deltas = False
        self._covered_until = monotonic() + covered

    @property
    def high_water(self) -> DataClass:
        return DataClass(self.run.high_water)

    def raise_high_water(self, data_class: DataClass) -> None:
        """Before the effect, as its fence: a result that outlives a crash is in the transcript's class."""
        self.run.high_water = highest(self.high_water, data_class).value

    def commit(self, *, seconds: float) -> None:
        """Write the step. Raises ``RunLost``, or ``CancelRequested`` once it is written."""
        committed = store.commit(self.run, self.take_changes(), seconds=seconds)
        self._covered_until = monotonic() + seconds
        self.outcomes.clear()
        if decided := committed.decided:
            self.moved({call_id: decided[row.pk] for call_id, row in self.rows.items() if row.pk in decided})
        if committed.is_cancel_requested:
            raise CancelRequested

    def take_changes(self) -> Changes:
        """All that is not stored yet, with the counters; what comes later is the next step's."""
        changes, self.changes = self.changes, Changes()
        changes.fields |= self._counted()
        changes.forgets_deltas = self._has_deltas
        return changes

    def cover(self, seconds: float) -> None:
        """See that the lease lasts for an operation. It usually does: the last commit knew what comes."""
        if monotonic() + seconds > self._covered_until + settings.LEASE_MARGIN / 2:
            store.renew(self.run, seconds=seconds)
            self._covered_until = monotonic() + seconds

    def keep(self, deltas: Sequence[Delta]) -> None:
        """Let followers see what the model is saying. Raises ``CancelRequested`` between two pieces."""
        if self._report(deltas):
            raise CancelRequested

    def moved(self, rows: Mapping[str, RunToolCall]) -> None:
        """Others have moved these calls; the segment goes on with what they are now."""
        self.rows |= rows
        self.state = self.state.after_calls({call_id: row.open_call() for call_id, row in rows.items()})

    def open_turn(self, rows: Sequence[RunToolCall]) -> None:
        """The model's new calls, which are not stored yet."""
        self.rows = by_call(self.state, rows)
        self.changes.new_calls += rows

    def _report(self, deltas: Sequence[Delta]) -> bool:
        is_cancel_requested = store.append_deltas(self.run, deltas)
        self._has_deltas = self._has_deltas or bool(deltas)
        return is_cancel_requested

    def _counted(self) -> dict[str, object]:
        counters, run = self.state.counters, self.run
        run.rounds, run.calls_made = counters.rounds, counters.calls
        run.cost, run.seconds = counters.cost, counters.seconds
        run.is_paused = self.state.is_paused
        return {name: getattr(run, name) for name in _COUNTERS}


def by_call(state: LoopState, rows: Sequence[RunToolCall]) -> dict[str, RunToolCall]:
    """The rows of the open turn by the ids of its calls; the rows' own ids may be cut."""
    return {one.call.id: row for one, row in zip(state.open_turn, rows, strict=True)}
