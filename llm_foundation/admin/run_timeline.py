"""A run as a story: who asked what, what the model answered, what became of each call, how it ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from llm_foundation.admin.call_card import CallCard
from llm_foundation.admin.moments import lasted
from llm_foundation.admin.money import in_dollars
from llm_foundation.admin.people import name_of
from llm_foundation.admin.shown_messages import ShownMessage
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.chat.messages import Role
from llm_foundation.models import Run, RunEvent
from llm_foundation.runs.events import EventKind


@dataclass(frozen=True, slots=True)
class Entry:
    """``kind`` is ``asked``, ``answered``, or the run's status at its end."""

    kind: str
    title: str
    at: datetime | None = None
    facts: Sequence[str] = ()
    text: ShownText | None = None
    plain: str = ""
    """The same text as it was said, for a headline."""
    problem: str = ""
    cards: Sequence[CallCard] = ()


def timeline(
    run: Run,
    *,
    messages: Sequence[ShownMessage],
    events: Sequence[RunEvent],
    cards: Sequence[CallCard],
) -> list[Entry]:
    """Calls and states come from the run's rows; events add times and tokens, messages what was said.

    So the story is whole even where ``PRIVACY`` keeps nothing in events, or a message cannot be read.
    """
    return [_asked(run, messages, events), *_turns(run, messages, events, cards), *_ending(run)]


def _asked(run: Run, messages: Sequence[ShownMessage], events: Sequence[RunEvent]) -> Entry:
    asked = next((shown for shown in reversed(messages) if shown.is_by(Role.USER)), None)
    started = next((event for event in events if event.kind == EventKind.STARTED), None)
    return Entry(
        kind="asked",
        title=_("%(who)s asked") % {"who": name_of(run.starter or run.owner)},
        at=run.created_at,
        facts=_offer_facts(run, started.payload if started else {}),
        text=asked.text if asked else None,
        plain=asked.plain if asked else "",
        problem="" if asked else _first_problem(messages),
    )


def _offer_facts(run: Run, payload: dict[str, Any]) -> list[str]:
    offered = ", ".join(run.offer) or _("no tools")
    facts = [_("offered: %(tools)s") % {"tools": offered}]
    refused = payload.get("refused") or {}
    if isinstance(refused, dict) and refused:
        listed = ", ".join(f"{tool} ({reason})" for tool, reason in refused.items())
        facts.append(_("not offered: %(tools)s") % {"tools": listed})
    return facts


def _turns(
    run: Run, messages: Sequence[ShownMessage], events: Sequence[RunEvent], cards: Sequence[CallCard]
) -> Iterator[Entry]:
    by_turn = {turn: list(group) for turn, group in groupby(cards, key=lambda card: card.call.turn)}
    answers = [event for event in events if event.kind == EventKind.ANSWERED]
    last = max([run.rounds, *by_turn], default=0)
    for turn in range(1, last + 1):
        place = len(answers) - (last - turn) - 1  # counted from the end: the oldest events may be gone
        answer = answers[place] if place >= 0 else None
        yield _answered(turn == last, messages, answer, by_turn.get(turn, []))


def _answered(
    is_last: bool, messages: Sequence[ShownMessage], event: RunEvent | None, cards: Sequence[CallCard]
) -> Entry:
    said = _message_of(cards, messages) if cards else _last_answer(messages) if is_last else None
    count = len(cards)
    wants = ngettext("The model asked for %(count)d call", "The model asked for %(count)d calls", count)
    return Entry(
        kind="answered",
        title=wants % {"count": count} if cards else _("The model answered"),
        at=event.created_at if event else said.written_at if said else None,
        facts=_answer_facts(event.payload if event else {}),
        text=said.text if said and said.text.length else None,
        problem="" if said else _first_problem(messages),
        cards=cards,
    )


def _message_of(cards: Sequence[CallCard], messages: Sequence[ShownMessage]) -> ShownMessage | None:
    return next((shown for shown in messages if shown.makes(cards[0].call.call_id)), None)


def _last_answer(messages: Sequence[ShownMessage]) -> ShownMessage | None:
    return next((shown for shown in reversed(messages) if shown.is_by(Role.ASSISTANT) and not shown.has_calls), None)


def _answer_facts(payload: dict[str, Any]) -> list[str]:
    facts = [str(payload["model"])] if payload.get("model") else []
    sent, received = payload.get("input_tokens"), payload.get("output_tokens")
    if isinstance(sent, int) and isinstance(received, int):
        written = {"input": formats.number_format(sent), "output": formats.number_format(received)}
        facts.append(_("%(input)s tokens in, %(output)s out") % written)
    if isinstance(payload.get("seconds"), int | float):
        facts.append(lasted(payload["seconds"]))
    if payload.get("cost"):
        facts.append(in_dollars(payload["cost"]))
    if payload.get("finish_reason") not in (None, "stop", "tool_calls"):
        facts.append(_("ended by: %(reason)s") % {"reason": payload["finish_reason"]})
    return facts


def _ending(run: Run) -> Iterator[Entry]:
    if not run.is_finished:
        return
    facts = [_("reason: %(reason)s") % {"reason": run.termination_reason}] if has_notable_end(run) else []
    error = reveal(run.error) if run.error else None
    title = _("The run ended: %(status)s") % {"status": run.get_status_display()}
    yield Entry(run.status, title, run.finished_at, facts, error)


def has_notable_end(run: Run) -> bool:
    """Whether the reason says more than that the model had its say."""
    return run.termination_reason not in ("", "answered")


def _first_problem(messages: Sequence[ShownMessage]) -> str:
    return next((shown.problem for shown in messages if shown.problem), "")
