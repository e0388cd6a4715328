"""What a person adds to a call when they decide it: changed arguments, an input, or both, and the preview of it all.

Checked, and previewed, before the run is locked: a preview may take its time. Under the lock the digest says whether
the call is still the one that was checked.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.runs import previews
from llm_foundation.runs.call_rows import shown
from llm_foundation.runs.edited_arguments import edited_arguments
from llm_foundation.runs.inputs import given_input
from llm_foundation.runs.previews import Preview
from llm_foundation.runs.requirements import (
    require_gate,
    require_open,
    require_unchanged,
)
from llm_foundation.tools import Tool

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User


@dataclass(frozen=True, slots=True, repr=False)
class Addition:
    """Nothing, unless something is given. Its values are JSON's own, as they are stored."""

    arguments: dict[str, Any] | None = None
    input: dict[str, Any] | None = None
    preview: Preview | None = None

    def __bool__(self) -> bool:
        return self.arguments is not None or self.input is not None

    def put_on(self, row: RunToolCall, by: "User") -> None:
        """Let the row, which nobody has stored, say what would run."""
        if self.arguments is not None:
            row.edited, row.editor_id = self.arguments, by.pk
        if self.input is not None:
            row.input, row.input_giver_id = self.input, by.pk

    def columns(self, run: Run, row: RunToolCall, tool: Tool) -> dict[str, Any]:
        """What is written of a row that it was put on: the call has a new digest then."""
        if not self:
            return {}
        given: dict[str, Any] = {}
        if self.arguments is not None:
            given |= {"edited_sealed": row.edited_sealed, "editor_id": row.editor_id}
        if self.input is not None:
            given |= {"input_sealed": row.input_sealed, "input_giver_id": row.input_giver_id}
        columns = given | shown(run, row, tool, self.preview)
        row.digest = columns["digest"]
        return columns


NOTHING: Final = Addition()


def read_addition(
    call: RunToolCall, *, by: "User", digest: str, verdict: Decision.Verdict, arguments: Any, input: Any
) -> Addition:
    """Check what was given, for whom, and make the preview of it. Writes nothing.

    Raises ``InvalidEdit``, ``InvalidInput``, and every ``DecisionError`` that deciding would raise for this person.
    """
    is_answer = verdict == Decision.Verdict.ANSWERED
    if arguments is None and input is None and not is_answer:
        return NOTHING
    row = _stored(call)
    run = row.run
    require_open(run, row, by=by, digest=digest, verdict=verdict)
    tool = require_unchanged(run, row)
    addition = Addition(
        arguments=None if arguments is None else edited_arguments(tool, row, arguments),
        input=given_input(tool, input) if is_answer or input is not None else None,
    )
    if not addition:
        return addition
    addition.put_on(row, by)
    require_gate(run, row, by)
    return replace(addition, preview=previews.preview_of(run, row, tool))


def preview_of(call: RunToolCall, arguments: Any, *, by: "User", input: Any = None) -> Preview | None:
    """What the call would change with these arguments, for screens that show it before anybody decides.

    ``None`` for a tool that declares no preview. Writes nothing. Raises ``InvalidEdit`` and ``InvalidInput`` with
    sentences per field, and the ``DecisionError`` that keeps this person from changing them.
    """
    row = _stored(call)
    addition = read_addition(
        row, by=by, digest=row.digest, verdict=Decision.Verdict.EDITED, arguments=arguments, input=input
    )
    if addition:
        return addition.preview
    require_gate(row.run, row, by)
    return previews.preview_of(row.run, row, require_unchanged(row.run, row))


def _stored(call: RunToolCall) -> RunToolCall:
    people = ("run__owner", "run__starter", "run__configuration")
    return RunToolCall.objects.select_related(*people).get(pk=call.pk)
