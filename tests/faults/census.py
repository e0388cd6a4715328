"""Counting at the end: what the runs say they did, against what is there."""

from collections import Counter
from dataclasses import dataclass, field

from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.vocabulary import Effect
from tests.faults.outside import Call, Outside
from tests.faults.records import is_as_planned, shape, timeline_faults, unanswered
from tests.faults.shop.models import Booking


@dataclass
class Census:
    """``findings`` says each fault in words; ``ends`` and ``calls`` count how runs and calls ended."""

    runs: int = 0
    expected: int = 0
    found: int = 0
    repeated: int = 0
    lost: int = 0
    resolved: int = 0
    findings: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)

    def count(self, seed: int, runs: int, outside: Outside) -> "Census":
        self.resolved = Decision.objects.exclude(verdict__in=("approved", "denied")).count()
        stored = list(Run.objects.prefetch_related("calls", "messages"))
        self.runs = len(stored)
        self._lose(f"{runs - len(stored)} runs were never started", abs(runs - len(stored)))
        effects = _effects(outside)
        for run in stored:
            self._count_run(run, seed)
            for call in run.calls.all():
                self._count_call(call, effects.pop((str(run.pk), call.call_id), 0))
        self._lose(f"effects that no call asked for: {effects}", len(effects))
        self.findings += outside.broken
        return self

    def _lose(self, what: str, count: int = 1) -> None:
        if count:
            self.lost += count
            self.findings.append(f"lost: {what}")

    def _count_run(self, run: Run, seed: int) -> None:
        self.ends[f"{run.status} {run.termination_reason}"] += 1
        if not run.is_finished:
            self._lose(f"run {run.pk} never ended: {run.status}, {[call.state for call in run.calls.all()]}")
            return
        if not run.termination_reason:
            self._lose(f"run {run.pk} ended without a reason: {run.status}")
        if run.termination_reason.startswith("internal:"):
            self.findings.append(f"run {run.pk} ended by {run.termination_reason}")
        transcript = run.transcript
        for call in unanswered(transcript):
            self._lose(f"call {call} of run {run.pk} ({run.status}) is not answered once")
        if run.status == "completed" and not is_as_planned(transcript, seed):
            self._lose(f"the transcript of run {run.pk} is not what was planned: {shape(transcript)}")
        self.findings += [f"run {run.pk} ({run.status}): {fault}" for fault in timeline_faults(run, transcript)]

    def _count_call(self, call: RunToolCall, found: int) -> None:
        self.calls[f"{call.tool_name} {call.state}"] += 1
        expected = int(call.state == CallState.SUCCEEDED and call.effect != Effect.READ_ONLY)
        self.expected += expected
        self.found += found
        what = f"{call.tool_name} {call.call_id} of run {call.run_id}, {call.state} at attempt {call.attempt}"
        if found > 1:
            self.repeated += found - 1
            self.findings.append(f"repeated: {what}: {found} effects")
        if expected != min(found, 1):
            self._lose(f"{what}: {found} effects")


def _effects(outside: Outside) -> Counter[Call]:
    """By run and call: rows, arrivals, or different keys."""
    effects = Counter((str(run), call) for run, call in Booking.objects.values_list("run", "call"))
    effects.update(outside.sent)
    effects.update({call: len(keys) for call, keys in outside.charged.items()})
    return +effects
