"""One call, made fit to be looked at: what it would do, with what exactly, for whom, and how it stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from llm_foundation.admin.argument_changes import Change, changes_between
from llm_foundation.admin.call_card import CallCard, Shown, card_of, read
from llm_foundation.admin.effects import CONSEQUENCES, effect_of
from llm_foundation.admin.given_input import input_rows
from llm_foundation.admin.moments import is_over, left, waited
from llm_foundation.admin.people import name_of
from llm_foundation.admin.questions import explanation_of, may_read_preview, question_of
from llm_foundation.admin.run_page import decisions_by_call
from llm_foundation.admin.shown_arguments import ShownArgument, shown_arguments
from llm_foundation.admin.shown_messages import UNREADABLE
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.models.choices import EFFECTS
from llm_foundation.tools import Tool, registry
from llm_foundation.vocabulary import Effect


@dataclass(frozen=True, slots=True)
class ShownArguments:
    rows: Sequence[ShownArgument]
    raw: ShownText | None = None
    """What the model sent where it was no JSON object."""
    problem: str = ""


@dataclass
class ShownCall:
    """``viewer`` is who looks: not everything is for everybody."""

    call: RunToolCall
    viewer: Any

    @cached_property
    def tool(self) -> Tool | None:
        return registry.get(self.call.tool_name)

    @property
    def known_tool(self) -> Tool:
        """Where nothing keeps the viewer from changing the call, there is one."""
        assert self.tool is not None  # noqa: S101
        return self.tool

    @property
    def name(self) -> ShownText:
        return reveal(self.call.tool_name)

    @property
    def question(self) -> str:
        return question_of(self.tool)

    @property
    def explanation(self) -> str:
        return explanation_of(self.tool)

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
    def is_open(self) -> bool:
        """Whether somebody may still decide it."""
        return self.is_pending and not is_over(self.call.expires_at)

    @property
    def age(self) -> str:
        """How long it has waited."""
        return waited(self.call.pending_since) if self.is_pending else ""

    @property
    def time_left(self) -> str:
        return left(self.call.expires_at) if self.is_open else ""

    @property
    def is_in_doubt(self) -> bool:
        return self.card.is_in_doubt

    @cached_property
    def arguments(self) -> ShownArguments:
        try:
            call = self.call.effective_call
        except UNREADABLE as error:
            return ShownArguments((), problem=str(error))
        if call.invalid_arguments is not None:
            return ShownArguments((), raw=reveal(call.invalid_arguments))
        return ShownArguments(shown_arguments(call, self.tool))

    @cached_property
    def changes(self) -> list[Change]:
        """What a person made of what the model had asked for."""
        try:
            return list(changes_between(self.call.arguments, self.call.effective_arguments))
        except UNREADABLE:
            return []

    @property
    def editor(self) -> str:
        return name_of(self.call.editor) if self.call.editor_id else _("a deleted user")

    @cached_property
    def given(self) -> ShownArguments:
        """The input, as far as it was given."""
        try:
            return ShownArguments(input_rows(self.call, self.tool))
        except UNREADABLE as error:
            return ShownArguments((), problem=str(error))

    @property
    def giver(self) -> str:
        return name_of(self.call.input_giver) if self.call.input_giver_id else _("a deleted user")

    @cached_property
    def preview(self) -> Shown | None:
        """``None`` where the tool has none. It was made with the owner's rights: not everybody may read it."""
        if not self.call.preview_sealed:
            return None
        if not may_read_preview(self.call, self.tool, self.viewer):
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
        given = sum(row.hidden for row in self.given.rows)
        raw = self.arguments.raw.hidden if self.arguments.raw else 0
        return preview + given + raw + sum(argument.hidden for argument in self.arguments.rows)
