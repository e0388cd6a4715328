"""A transcript for people: every message that can be read, and an honest line for each that cannot."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from llm_foundation.admin.shown_text import ShownText, reveal
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.parts import TextPart
from llm_foundation.exceptions import LLMFoundationError
from llm_foundation.models import RunMessage

ROLES: Final[dict[Role, str | Promise]] = {
    Role.SYSTEM: gettext_lazy("Instructions"),
    Role.USER: gettext_lazy("User"),
    Role.ASSISTANT: gettext_lazy("Model"),
    Role.TOOL: gettext_lazy("Result"),
}
UNREADABLE: Final = (LLMFoundationError, ValueError)
"""What reading a stored value may raise: another key ring, a row moved or broken by hand."""


@dataclass(frozen=True, slots=True)
class ShownCall:
    call_id: str
    name: ShownText
    arguments: ShownText


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """``message`` is ``None`` where the row cannot be read; ``problem`` says why then."""

    sequence: int
    written_at: datetime
    message: ChatMessage | None = None
    problem: str = ""
    answers: str = ""
    """For a result: the tool whose call it answers."""

    @property
    def role(self) -> str:
        return self.message.role.value if self.message else "unreadable"

    @property
    def speaker(self) -> str:
        return str(ROLES[self.message.role]) if self.message else _("Unreadable")

    @property
    def plain(self) -> str:
        return self.message.text if self.message else ""

    @property
    def text(self) -> ShownText:
        return reveal(self.plain)

    @property
    def attachments(self) -> str:
        """How many pictures and files there are. None of them is loaded: they come from outside."""
        parts = self.message.parts if self.message else ()
        count = sum(not isinstance(part, TextPart) for part in parts)
        told = ngettext("%(count)d attachment, not shown", "%(count)d attachments, not shown", count)
        return told % {"count": count} if count else ""

    @property
    def calls(self) -> list[ShownCall]:
        return [
            ShownCall(
                call.id,
                reveal(call.name),
                reveal(json.dumps(call.arguments, ensure_ascii=False))
                if call.invalid_arguments is None
                else reveal(call.invalid_arguments),
            )
            for call in (self.message.tool_calls if self.message else ())
        ]

    @property
    def has_calls(self) -> bool:
        return self.message is not None and bool(self.message.tool_calls)

    def makes(self, call_id: str) -> bool:
        return self.message is not None and any(call.id == call_id for call in self.message.tool_calls)

    def is_by(self, role: Role) -> bool:
        return self.message is not None and self.message.role is role


def read_messages(rows: Iterable[RunMessage]) -> list[ShownMessage]:
    """Decrypt the messages of a run, in their order; raises nothing."""
    shown: list[ShownMessage] = []
    names: dict[str, str] = {}
    for row in rows:
        try:
            message = row.message
        except UNREADABLE as error:
            shown.append(ShownMessage(row.sequence, row.created_at, problem=str(error)))
            continue
        names |= {call.id: call.name for call in message.tool_calls}
        answers = names.get(message.tool_call_id or "", "")
        shown.append(ShownMessage(row.sequence, row.created_at, message, answers=answers))
    return shown


def around(messages: Sequence[ShownMessage], call_id: str) -> list[ShownMessage]:
    """From what the user said last before the call up to the turn that holds it; the whole if it is not found."""
    end = next((index for index, shown in enumerate(messages) if shown.makes(call_id)), len(messages) - 1)
    asked = (index for index in range(end, -1, -1) if messages[index].is_by(Role.USER))
    return list(messages[next(asked, 0) : end + 1])
