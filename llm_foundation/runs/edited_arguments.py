"""Arguments that a person changed: checked like the model's own, and told to the model in the call's result.

The transcript keeps the call as the model made it, since providers demand it.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _
from pydantic_core import to_jsonable_python

from llm_foundation.chat.frozen import freeze_object
from llm_foundation.exceptions import EncryptionError, InvalidArguments, InvalidEdit
from llm_foundation.models import RunToolCall
from llm_foundation.models.fields import write_json
from llm_foundation.tools import Tool, ToolResult, bounded, validate_arguments
from llm_foundation.tools.inputs import MAX_CHARACTERS
from llm_foundation.tools.problems import WHOLE
from llm_foundation.tools.schema import canonical

MAX_NOTE: Final = 2_000
"""Characters of changed arguments that the model is told again."""
_NOTE: Final = "Note: a person changed the arguments of this call before it ran, to {arguments}"


def edited_arguments(tool: Tool, row: RunToolCall, given: Any) -> dict[str, Any] | None:
    """The arguments as they will be stored, exactly as they were given; ``None`` where they say what stands there.

    Raises ``InvalidEdit`` with sentences per field.
    """
    plain = _plain(given)
    try:
        validate_arguments(tool, plain)
    except InvalidArguments as error:
        raise _invalid({path: [why] for path, why in error.problems}) from None
    return None if canonical(plain) == canonical(row.effective_arguments) else plain


def note_of(row: RunToolCall) -> str:
    """What the model is told of the changed arguments; in English, like all that models are told.

    Nothing where they cannot be read: a doubt about their call has to be settled all the same.
    """
    try:
        edited = row.edited
        if edited is None or canonical(edited) == canonical(row.arguments):
            return ""
    except EncryptionError:
        return ""
    return _NOTE.format(arguments=bounded(ToolResult(write_json(edited)), MAX_NOTE).content)


def _plain(given: Any) -> dict[str, Any]:
    """In JSON's own types. A text that no wire could carry is refused, not changed."""
    if not isinstance(given, Mapping):
        raise _invalid({WHOLE: [_("Give all arguments of the call, by their names.")]})
    try:
        plain: dict[str, Any] = to_jsonable_python(dict(given))
        written = write_json(plain)
        written.encode()
        freeze_object(plain)
    except (ValueError, RecursionError):
        raise _invalid({WHOLE: [_("They hold something that JSON cannot say.")]}) from None
    if len(written) > MAX_CHARACTERS:
        too_long = _("They are longer than %(limit)s characters.") % {"limit": f"{MAX_CHARACTERS:,}"}
        raise _invalid({WHOLE: [too_long]})
    return plain


def _invalid(problems: dict[str, list[str]]) -> InvalidEdit:
    return InvalidEdit(_("The changed arguments do not fit the tool: nothing was decided."), problems=problems)
