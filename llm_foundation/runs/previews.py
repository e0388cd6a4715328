"""What a call would change, in lines that a person reads: made with the owner's rights, and undone at once."""

import logging
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from llm_foundation.runs.conflicts import find_conflict
from llm_foundation.runs.operations import ToolExecution

logger = logging.getLogger("llm_foundation.tools")


@dataclass(frozen=True, slots=True)
class Preview:
    """``failed`` says that the lines are not a preview, but the reason why there is none: nobody may approve then."""

    lines: tuple[str, ...]
    failed: bool = False

    def written(self) -> dict[str, Any]:
        return {"lines": list(self.lines), "failed": self.failed}


def make_preview(execution: ToolExecution) -> Preview | None:
    """``None`` for a tool that declares no preview."""
    if execution.tool.preview is None:
        return None
    try:
        lines = _lines(execution)
    except Exception as error:
        logger.error("The preview of tool %s failed", execution.tool.name, exc_info=error)
        return Preview((_("The preview failed; the reason is in the log."),), failed=True)
    return Preview(lines)


def _lines(execution: ToolExecution) -> tuple[str, ...]:
    """Made once more where the database gave another transaction the precedence: nothing is wrong with the call."""
    try:
        return execution.preview()
    except Exception as error:
        if find_conflict(error) is None:
            raise
    return execution.preview()
