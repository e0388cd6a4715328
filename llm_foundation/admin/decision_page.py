"""What a person may do with one call, what keeps them from it, and what led there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import cached_property

from llm_foundation.admin import permissions
from llm_foundation.admin.call_card import CallCard
from llm_foundation.admin.decision_outcome import status_of
from llm_foundation.admin.earlier_decisions import EarlierDecision, earlier_decisions
from llm_foundation.admin.run_page import siblings_of
from llm_foundation.admin.shown_call import ShownCall
from llm_foundation.admin.shown_messages import ShownMessage, around, read_messages
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.runs.decisions import obstacle
from llm_foundation.runs.inputs import needs_input
from llm_foundation.runs.resolutions import may_resolve
from llm_foundation.runs.verification import asks_for_input_only, may_decide

Verdict = Decision.Verdict


@dataclass(frozen=True, slots=True)
class Obstacle:
    """``rule`` names what forbids it, where a rule does."""

    text: str
    rule: str = ""
    status: int = 409


class DecisionPage(ShownCall):
    """Nothing here is stored, and looking changes nothing."""

    @cached_property
    def may_decide(self) -> bool:
        return may_decide(self.viewer)

    @cached_property
    def why_not_approve(self) -> Obstacle | None:
        return _obstacle(self.call, self.viewer, Verdict.APPROVED)

    @cached_property
    def why_not_deny(self) -> Obstacle | None:
        return _obstacle(self.call, self.viewer, Verdict.DENIED)

    @cached_property
    def why_not_edit(self) -> Obstacle | None:
        return _obstacle(self.call, self.viewer, Verdict.EDITED)

    @property
    def may_edit(self) -> bool:
        return self.is_open and self.why_not_edit is None

    @cached_property
    def takes_input(self) -> bool:
        return self.tool is not None and self.tool.input_model is not None

    @property
    def needs_input(self) -> bool:
        return needs_input(self.call, self.tool)

    @property
    def asks_for_input_only(self) -> bool:
        """Whether an input is all that it waits for: who gives it lets the call run."""
        return asks_for_input_only(self.call)

    @cached_property
    def may_answer(self) -> bool:
        """Whether who looks may give the input, now."""
        if not (self.is_open and self.takes_input):
            return False
        return _obstacle(self.call, self.viewer, Verdict.ANSWERED) is None

    @property
    def may_approve_with_input(self) -> bool:
        """Not under four eyes: who gives the input has a part in the call then."""
        return self.why_not_approve is None and not permissions.holds_four_eyes(self.call.run)

    @property
    def may_resolve(self) -> bool:
        return may_resolve(self.viewer)

    @cached_property
    def may_read_run(self) -> bool:
        return permissions.may_read_runs(self.viewer)

    @cached_property
    def conversation(self) -> list[ShownMessage]:
        """What was said before the call, for those who may read the run."""
        if not self.may_read_run:
            return []
        return around(read_messages(self.call.run.messages.order_by("sequence")), self.call.call_id)

    @cached_property
    def siblings(self) -> list[CallCard]:
        return siblings_of(self.call)

    @cached_property
    def earlier(self) -> Sequence[EarlierDecision]:
        return earlier_decisions(self.call)


def _obstacle(call: RunToolCall, viewer: Any, verdict: Decision.Verdict) -> Obstacle | None:
    error = obstacle(call, by=viewer, verdict=verdict)
    return Obstacle(str(error), getattr(error, "rule", ""), status_of(error)) if error else None
