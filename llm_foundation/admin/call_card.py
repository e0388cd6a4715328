"""What became of one call, step by step: asked for, judged, decided, executed, answered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from django.utils.translation import gettext as _

from llm_foundation.admin.moments import between
from llm_foundation.admin.people import decider_of
from llm_foundation.admin.shown_arguments import one_line
from llm_foundation.admin.shown_messages import UNREADABLE
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, RunToolCall

T = TypeVar("T")

OUTCOMES: Final = frozenset(
    {CallState.SUCCEEDED, CallState.FAILED, CallState.IN_DOUBT, CallState.EXPIRED, CallState.CANCELLED}
)
"""Ends that no other step tells: a refusal is the gate's, a denial a person's."""


@dataclass(frozen=True, slots=True)
class Step:
    """``kind`` chooses the colour of its dot; ``took`` is how long the step before it lasted."""

    kind: str
    text: str
    at: datetime | None = None
    took: str = ""
    note: ShownText | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A stored value for people: its text, or why it cannot be read."""

    text: ShownText
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CallCard:
    call: RunToolCall
    decisions: Sequence[Decision]

    @property
    def name(self) -> ShownText:
        return reveal(self.call.tool_name)

    @property
    def arguments(self) -> Shown:
        return read(lambda: one_line(self.call.effective_call))

    @property
    def result(self) -> Shown:
        """What the model was told; empty as long as it waits for that."""
        is_answered = CallState(self.call.state).is_answered
        return read(lambda: reveal(self.call.result if is_answered else ""))

    @property
    def detail(self) -> Shown:
        """What only people are told, such as the text of an exception; empty where the model was told the same."""
        return read(lambda: reveal("" if self.call.detail in self.call.result else self.call.detail))

    @property
    def is_pending(self) -> bool:
        return self.call.state == CallState.PENDING

    @property
    def is_in_doubt(self) -> bool:
        return self.call.state == CallState.IN_DOUBT

    @property
    def steps(self) -> list[Step]:
        """In the order in which they happened; a call that was asked for anew has waited twice."""
        return sorted(_steps(self.call, self.decisions), key=lambda step: (step.at is None, step.at))


def read(value: Callable[[], ShownText]) -> Shown:
    """A row that cannot be decrypted says so in its own place, and breaks nothing else."""
    try:
        return Shown(value())
    except UNREADABLE as error:
        return Shown(reveal(""), str(error))


def card_of(call: RunToolCall, decisions: dict[Any, list[Decision]]) -> CallCard:
    return CallCard(call, decisions.get(call.pk, ()))


def _steps(call: RunToolCall, decisions: Sequence[Decision]) -> Iterator[Step]:
    if call.explanation:
        kinds = {CallState.PENDING: "waiting", CallState.REFUSED: "refused"}
        yield Step(kinds.get(CallState(call.state), "gate"), _gate(call), _judged_at(call))
    for decision in decisions:
        yield _decided(decision, since=call.pending_since)
    if call.started_at:
        yield Step("executed", _executed(call), call.started_at)
    if call.state in OUTCOMES:
        words = str(call.get_state_display()).capitalize()
        yield Step(call.state, words, call.finished_at, between(call.started_at, call.finished_at))


def _judged_at(call: RunToolCall) -> datetime:
    """The row is written after the gate has spoken, sometimes after a call has begun."""
    known = (call.created_at, call.pending_since, call.started_at)
    return min(moment for moment in known if moment)


def _gate(call: RunToolCall) -> str:
    if call.state == CallState.REFUSED:
        return _("The gate refused it: %(why)s") % {"why": call.explanation}
    if call.pending_since:
        return _("The gate asks for a decision: %(why)s") % {"why": call.explanation}
    return _("The gate let it run: %(why)s") % {"why": call.explanation}


def _decided(decision: Decision, *, since: datetime | None) -> Step:
    words = {
        Decision.Verdict.APPROVED: _("Approved by %(who)s"),
        Decision.Verdict.EDITED: _("Arguments changed by %(who)s"),
        Decision.Verdict.ANSWERED: _("Input given by %(who)s"),
        Decision.Verdict.DENIED: _("Denied by %(who)s"),
        Decision.Verdict.HAPPENED: _("%(who)s says that it happened"),
        Decision.Verdict.DID_NOT_HAPPEN: _("%(who)s says that it did not happen"),
        Decision.Verdict.GAVE_UP: _("Given up by %(who)s: nobody knows whether it happened"),
    }
    text = words[Decision.Verdict(decision.verdict)] % {"who": decider_of(decision)}
    note = reveal(decision.reason) if decision.reason else None
    return Step(decision.verdict, text, decision.decided_at, between(since, decision.decided_at), note)


def _executed(call: RunToolCall) -> str:
    return _("Executed") if call.attempt <= 1 else _("Executed, attempt %(attempt)d") % {"attempt": call.attempt}
