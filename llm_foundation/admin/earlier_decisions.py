"""What people have said of the same tool before."""

from dataclasses import dataclass
from typing import Final

from llm_foundation.admin.people import decider_of
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.models import Decision, RunToolCall

MOST: Final = 5
LOOKED_BACK: Final = 200
"""Among how many of the tool's latest calls they are looked for, so that a busy tool has a quick page as well."""


@dataclass(frozen=True, slots=True)
class EarlierDecision:
    decision: Decision

    @property
    def verdict(self) -> str:
        return self.decision.verdict

    @property
    def words(self) -> str:
        return str(self.decision.get_verdict_display())

    @property
    def who(self) -> str:
        return decider_of(self.decision)

    @property
    def reason(self) -> ShownText:
        return reveal(self.decision.reason)


def earlier_decisions(call: RunToolCall) -> list[EarlierDecision]:
    """The newest decisions on the latest other calls of the same tool."""
    same_tool = RunToolCall.objects.filter(tool_name=call.tool_name).exclude(pk=call.pk)
    latest = list(same_tool.order_by("-created_at").values_list("pk", flat=True)[:LOOKED_BACK])
    newest = Decision.objects.filter(call__in=latest).select_related("decider").order_by("-decided_at")[:MOST]
    return [EarlierDecision(decision) for decision in newest]
