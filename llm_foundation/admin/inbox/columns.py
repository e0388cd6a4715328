"""The columns of the list: what is asked, for whom, by which configuration, and for how long already."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llm_foundation.admin.call_card import read
from llm_foundation.admin.effects import effect_of
from llm_foundation.admin.moments import left, short, waited
from llm_foundation.admin.people import short_name_of
from llm_foundation.admin.questions import preview_lines, question_of
from llm_foundation.admin.records import badge, labelled
from llm_foundation.admin.shown_arguments import MOST_CHARACTERS_IN_A_LINE, one_line
from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.loop.states import CallState
from llm_foundation.models import RunToolCall
from llm_foundation.runs.verification import asks_for_input_only
from llm_foundation.tools import registry

MOST_LINES: Final = 3


@dataclass(frozen=True)
class Columns:
    """As one person sees them: a preview is shown to users of its tool only."""

    viewer: Any
    usable: dict[str, bool] = field(default_factory=dict, compare=False)

    def of_inbox(self) -> list[Any]:
        return [self.question, self.requester, self.configuration, self.waiting, self.left]

    def of_history(self) -> list[Any]:
        return [self.question, self.requester, self.configuration, self.asked_at, self.state]

    @admin.display(description=gettext_lazy("what it does"), ordering="tool_name")
    def question(self, call: RunToolCall) -> SafeString:
        tool = registry.get(call.tool_name)
        return format_html(
            '<span class="llm-ask llm-edge-{}"><strong>{}</strong> <code>{}</code>{}{}</span>',
            effect_of(call, tool).value,
            question_of(tool),
            reveal(call.tool_name).html,
            format_html_join("", '<span class="llm-ask-line" dir="auto">{}</span>', self._lines(call)),
            _remark(call),
        )

    def _lines(self, call: RunToolCall) -> Sequence[tuple[str]]:
        """From what to what, where that is known and may be read; else the arguments, cut to a line."""
        told = preview_lines(call) if self._may_use(call) else ()
        if told:
            return [(_cut(line).html,) for line in islice((line for line in told if line.strip()), MOST_LINES)]
        shown = read(partial(_arguments, call))
        return [(_("unreadable") if shown.problem else shown.text.html,)]

    def _may_use(self, call: RunToolCall) -> bool:
        """Asked once for each tool, not for each call."""
        name = call.tool_name
        if name not in self.usable:
            tool = registry.get(name)
            self.usable[name] = tool is not None and tool.may_use(self.viewer)
        return self.usable[name]

    @admin.display(description=gettext_lazy("on behalf of"), ordering="run__owner")
    def requester(self, call: RunToolCall) -> SafeString:
        run, owner = call.run, short_name_of(call.run.owner)
        if run.starter_id is None or run.starter_id == run.owner_id:
            return labelled(_("on behalf of"), owner)
        started = _("started by %(who)s") % {"who": short_name_of(run.starter)}
        return labelled(_("on behalf of"), format_html('{}<br><span class="llm-quiet">{}</span>', owner, started))

    @admin.display(description=gettext_lazy("configuration"), ordering="run__configuration__name")
    def configuration(self, call: RunToolCall) -> SafeString:
        return labelled(_("configuration"), str(call.run.configuration))

    @admin.display(description=gettext_lazy("waiting"), ordering="pending_since")
    def waiting(self, call: RunToolCall) -> SafeString:
        return labelled(_("waiting"), waited(call.pending_since))

    @admin.display(description=gettext_lazy("time left"), ordering="expires_at")
    def left(self, call: RunToolCall) -> SafeString:
        return labelled(_("time left"), left(call.expires_at) or "–")

    @admin.display(description=gettext_lazy("asked for"), ordering="created_at")
    def asked_at(self, call: RunToolCall) -> SafeString:
        return labelled(_("asked for"), short(call.created_at))

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def state(self, call: RunToolCall) -> SafeString:
        shown = badge(call.state, call.get_state_display())
        return format_html("{} {}", shown, waited(call.pending_since)) if call.state == CallState.PENDING else shown


def _remark(call: RunToolCall) -> str | SafeString:
    if call.state == CallState.PENDING and asks_for_input_only(call):
        return format_html('<span class="llm-ask-line llm-quiet">{}</span>', _("waits for an input only"))
    return ""


def _arguments(call: RunToolCall) -> ShownText:
    return one_line(call.effective_call)


def _cut(line: str) -> ShownText:
    return reveal(Truncator(line).chars(MOST_CHARACTERS_IN_A_LINE))
