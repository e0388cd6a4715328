"""Everything that the page of one run shows, loaded in a handful of queries however long the run is."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.utils.text import Truncator

from llm_foundation.admin.call_card import CallCard, card_of
from llm_foundation.admin.run_timeline import Entry, has_notable_end, timeline
from llm_foundation.admin.shown_messages import ShownMessage, read_messages
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, Run, RunToolCall

MOST_CHARACTERS_IN_A_HEADLINE: Final = 160


@dataclass(frozen=True, slots=True)
class RunPage:
    run: Run
    story: list[Entry]
    transcript: list[ShownMessage]
    pending: list[CallCard]
    in_doubt: list[CallCard]

    @property
    def question(self) -> ShownText | None:
        """What was asked, cut to a headline."""
        asked = self.story[0]
        return reveal(Truncator(asked.plain).chars(MOST_CHARACTERS_IN_A_HEADLINE)) if asked.plain else None

    @property
    def has_notable_end(self) -> bool:
        return has_notable_end(self.run)

    @property
    def unreadable(self) -> int:
        return sum(bool(shown.problem) for shown in self.transcript)


def run_page(run: Run) -> RunPage:
    messages = read_messages(run.messages.order_by("sequence"))
    calls = list(run.calls.order_by("turn", "index"))
    decisions = decisions_by_call(Decision.objects.filter(call__run=run))
    cards = [card_of(call, decisions) for call in calls]
    return RunPage(
        run=run,
        story=timeline(run, messages=messages, events=list(run.events.order_by("sequence")), cards=cards),
        transcript=messages,
        pending=_in_state(cards, CallState.PENDING),
        in_doubt=_in_state(cards, CallState.IN_DOUBT),
    )


def decisions_by_call(decisions: Any) -> dict[Any, list[Decision]]:
    """Oldest first, each with its decider."""
    found: dict[Any, list[Decision]] = defaultdict(list)
    for decision in decisions.select_related("decider").order_by("number"):
        found[decision.call_id].append(decision)
    return found


def _in_state(cards: Iterable[CallCard], state: CallState) -> list[CallCard]:
    return [card for card in cards if card.call.state == state]


def siblings_of(call: RunToolCall) -> list[CallCard]:
    """The other calls of the same turn."""
    calls = RunToolCall.objects.filter(run=call.run_id, turn=call.turn).exclude(pk=call.pk).order_by("index")
    decisions = decisions_by_call(Decision.objects.filter(call__in=calls))
    return [card_of(sibling, decisions) for sibling in calls]
