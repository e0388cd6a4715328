"""What a call would change, in lines that a person reads: made with the owner's rights, and undone at once.

It is made when the call is put before a person, when somebody approves it, and before each attempt. Where it has
changed since it was shown, nobody has approved what would happen now.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs.conflicts import find_conflict
from llm_foundation.runs.operations import ToolExecution
from llm_foundation.tools import Tool, ToolContext

logger = logging.getLogger("llm_foundation.tools")


@dataclass(frozen=True, slots=True)
class Preview:
    """``failed`` says that the lines are not a preview, but the reason why there is none: nobody may approve then."""

    lines: tuple[str, ...]
    failed: bool = False

    def written(self) -> dict[str, Any]:
        return {"lines": list(self.lines), "failed": self.failed}


class PreviewChanged(Exception):
    """The call was released for another ``preview`` than it has now, ``None`` for no preview; it was not executed."""

    def __init__(self, preview: Preview | None) -> None:
        super().__init__()
        self.preview = preview


def preview_of(run: Run, row: RunToolCall, tool: Tool) -> Preview | None:
    """The preview of a stored call, outside of a segment: with the arguments and the input that its row has now."""
    call = row.effective_call
    context = ToolContext(user=run.owner, run_id=run.pk, call_id=call.id, idempotency_key=str(row.idempotency_key))
    return make_preview(ToolExecution(tool, call.arguments, context, tool.effect, input=row.input))


def make_preview(execution: ToolExecution) -> Preview | None:
    """``None`` for a tool that declares no preview.

    Made once more where the database gave another transaction the precedence: nothing is wrong with the call.
    """
    try:
        return _preview(execution)
    except Exception as error:  # noqa: BLE001  # a preview may raise anything
        if find_conflict(error) is None:
            return _failure(execution, error)
    try:
        return _preview(execution)
    except Exception as error:  # noqa: BLE001
        return _failure(execution, error)


def require_same_preview(execution: ToolExecution, stored: Mapping[str, Any] | None) -> None:
    """In the transaction of the call, before its effect. Raises ``PreviewChanged``, or the conflict that ends it."""
    try:
        preview = _preview(execution)
    except Exception as error:
        if find_conflict(error) is not None:
            raise
        preview = _failure(execution, error)
    if not is_same(preview, stored):
        raise PreviewChanged(preview)


def is_same(preview: Preview | None, stored: Mapping[str, Any] | None) -> bool:
    """``stored`` is what a call's row keeps of the preview that was shown."""
    return (preview.written() if preview else None) == stored


def _preview(execution: ToolExecution) -> Preview | None:
    return None if execution.tool.preview is None else Preview(execution.preview())


def _failure(execution: ToolExecution, error: Exception) -> Preview:
    logger.error("The preview of tool %s failed", execution.tool.name, exc_info=error)
    return Preview((_("The preview failed; the reason is in the log."),), failed=True)
