"""Everything that a person needs to see before deciding one call, and what keeps them from deciding it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.utils.translation import gettext as _

from llm_foundation.admin import permissions
from llm_foundation.admin.call_card import CallCard, Shown, card_of, read
from llm_foundation.admin.effects import CONSEQUENCES, effect_of
from llm_foundation.admin.moments import waited
from llm_foundation.admin.people import decider_of, name_of
from llm_foundation.admin.run_page import decisions_by_call, siblings_of
from llm_foundation.admin.shown_arguments import ShownArgument, shown_arguments
from llm_foundation.admin.shown_messages import UNREADABLE, ShownMessage, around, read_messages
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.models.choices import EFFECTS
from llm_foundation.runs.decisions import obstacle
from llm_foundation.runs.verification import may_decide
from llm_foundation.tools import Tool, registry
from llm_foundation.vocabulary import Effect

EARLIER: Final = 5
"""How many earlier decisions on the same tool are shown."""


@dataclass(frozen=True, slots=True)
class ShownArguments:
    rows: Sequence[ShownArgument]
    raw: ShownText | None = None
    """What the model sent where it was no JSON object."""
    problem: str = ""


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


@dataclass
class DecisionPage:
    """``viewer`` is who looks. Nothing here is stored, and looking changes nothing."""

    call: RunToolCall
    viewer: Any

    @cached_property
    def tool(self) -> Tool | None:
        return registry.get(self.call.tool_name)

    @property
    def name(self) -> ShownText:
        return reveal(self.call.tool_name)

    @property
    def description(self) -> str:
        return self.tool.description if self.tool else _("The code of this project no longer has this tool.")

    @property
    def effect(self) -> Effect:
        return effect_of(self.call, self.tool)

    @property
    def effect_label(self) -> Any:
        return dict(EFFECTS)[self.effect.value]

    @property
    def consequence(self) -> Any:
        return CONSEQUENCES[self.effect]

    @property
    def asker(self) -> str:
        return name_of(self.call.run.owner)

    @property
    def starter(self) -> str:
        """Only where somebody else started the run."""
        run = self.call.run
        return name_of(run.starter) if run.starter_id and run.starter_id != run.owner_id else ""

    @cached_property
    def card(self) -> CallCard:
        return card_of(self.call, decisions_by_call(Decision.objects.filter(call=self.call)))

    @property
    def is_pending(self) -> bool:
        return self.card.is_pending

    @property
    def age(self) -> str:
        """How long it has waited."""
        return waited(self.call.pending_since) if self.is_pending else ""

    @cached_property
    def arguments(self) -> ShownArguments:
        try:
            call = self.call.tool_call
        except UNREADABLE as error:
            return ShownArguments((), problem=str(error))
        if call.invalid_arguments is not None:
            return ShownArguments((), raw=reveal(call.invalid_arguments))
        return ShownArguments(shown_arguments(call, self.tool))

    @cached_property
    def preview(self) -> Shown | None:
        """``None`` where the tool has none. It was made with the owner's rights: not everybody may read it."""
        if not self.call.preview_sealed:
            return None
        if self.tool is None or not self.tool.may_use(self.viewer):
            return Shown(reveal(""), _("Withheld: it may hold what only users of this tool may read."))
        return read(lambda: reveal("\n".join(self.call.preview["lines"])))

    @cached_property
    def preview_failed(self) -> bool:
        try:
            return bool(self.call.preview and self.call.preview["failed"])
        except UNREADABLE:
            return True

    @property
    def hidden(self) -> int:
        """How many characters of arguments and preview had to be made visible."""
        preview = self.preview.text.hidden if self.preview else 0
        raw = self.arguments.raw.hidden if self.arguments.raw else 0
        return preview + raw + sum(argument.hidden for argument in self.arguments.rows)

    @cached_property
    def may_decide(self) -> bool:
        return may_decide(self.viewer)

    @cached_property
    def why_not_approve(self) -> str:
        return str(obstacle(self.call, by=self.viewer, verdict=Decision.Verdict.APPROVED) or "")

    @cached_property
    def why_not_deny(self) -> str:
        return str(obstacle(self.call, by=self.viewer, verdict=Decision.Verdict.DENIED) or "")

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
    def earlier(self) -> list[EarlierDecision]:
        """The newest decisions on other calls of the same tool."""
        same_tool = Decision.objects.filter(call__tool_name=self.call.tool_name).exclude(call=self.call)
        newest = same_tool.select_related("decider").order_by("-decided_at")[:EARLIER]
        return [EarlierDecision(decision) for decision in newest]
