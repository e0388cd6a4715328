"""Approving a call with changed arguments, in two steps: change and look, then approve exactly what was looked at."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.utils.functional import cached_property

from llm_foundation.admin.argument_changes import Change, changes_between
from llm_foundation.admin.call_card import Shown
from llm_foundation.admin.decision_page import DecisionPage
from llm_foundation.admin.permissions import holds_four_eyes
from llm_foundation.admin.shown_arguments import ShownArgument, shown_arguments
from llm_foundation.admin.shown_text import reveal
from llm_foundation.admin.typed_form import TypedForm
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.runs.previews import Preview


@dataclass
class EditPage:
    """``arguments`` are the changed ones, once they fit and ``preview`` says what they would do."""

    page: DecisionPage
    form: TypedForm | None = None
    arguments: Mapping[str, Any] | None = None
    preview: Preview | None = None
    input: TypedForm | None = None

    @property
    def is_looked_at(self) -> bool:
        return self.arguments is not None

    @property
    def changes(self) -> list[Change]:
        return list(changes_between(self.page.call.effective_arguments, self.arguments or {}))

    @property
    def rows(self) -> Sequence[ShownArgument]:
        """All arguments as they would be then."""
        call = self.page.call.tool_call
        changed = ToolCall(id=call.id, name=call.name, arguments=dict(self.arguments or {}))
        return shown_arguments(changed, self.page.tool)

    @property
    def hidden(self) -> int:
        preview = self.shown_preview.text.hidden if self.shown_preview else 0
        return preview + sum(row.hidden for row in self.rows)

    @property
    def written(self) -> str:
        """The arguments as the second step posts them."""
        return json.dumps(self.arguments)

    @property
    def shown_preview(self) -> Shown | None:
        return Shown(reveal("\n".join(self.preview.lines))) if self.preview else None

    @property
    def seen(self) -> str:
        """Which preview was shown: another one is to be looked at before anything is approved."""
        return fingerprint(self.preview)

    @property
    def has_failed(self) -> bool:
        return self.preview is not None and self.preview.failed

    @cached_property
    def is_for_others(self) -> bool:
        """Whether who changes the arguments may not release the call."""
        return holds_four_eyes(self.page.call.run)


def fingerprint(preview: Preview | None) -> str:
    return sha256(json.dumps(preview.written() if preview else None).encode()).hexdigest()
