"""What a person fills in before a call runs: checked by the tool's input model, and kept as it was typed."""

from typing import Any

from django.utils.translation import gettext as _

from llm_foundation.exceptions import InvalidInput
from llm_foundation.models import RunToolCall
from llm_foundation.tools import Tool, validate_input
from llm_foundation.tools.inputs import WHOLE, plain_input


def given_input(tool: Tool, given: Any) -> dict[str, Any]:
    """The input as it will be stored. Raises ``InvalidInput`` with sentences per field."""
    plain = plain_input(given)
    validate_input(tool, plain)
    return plain


def needs_input(row: RunToolCall, tool: Tool | None) -> bool:
    """Whether the call cannot run before somebody fills in its fields. See ``tools.form_fields``."""
    return tool is not None and tool.input_model is not None and not row.input_sealed


def require_takes_input(tool: Tool | None) -> None:
    if tool is None or tool.input_model is None:
        raise InvalidInput(_("No input was expected."), problems={WHOLE: [_("This tool asks for no input.")]})


def require_input(row: RunToolCall, tool: Tool) -> None:
    """Raises ``InvalidInput`` that names the fields to fill in."""
    if not needs_input(row, tool):
        return
    validate_input(tool, {})
    message = _("This call needs an input: nothing was decided.")
    raise InvalidInput(message, problems={WHOLE: [_("Look at the fields, and give an input, be it an empty one.")]})
