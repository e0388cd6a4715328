"""Whether what stands beside a call's own arguments was put there by a person, or by somebody with the database.

A segment gives a call that it puts before people again the digest of what it finds. So a digest proves nothing of where
changed arguments or an input come from; the sealed decision that brought them does.
"""

from typing import Any

from llm_foundation.exceptions import EncryptionError
from llm_foundation.models import Decision, RunToolCall
from llm_foundation.runs.seals import encoded, is_genuine


def is_edit_vouched_for(row: RunToolCall) -> bool:
    """The newest decision that changed the arguments made them these, and comes from this person; or nobody did."""
    if not row.edited_sealed:
        return True
    decision = Decision.objects.filter(call=row).exclude(edited_sealed="").order_by("number").last()
    return decision is not None and _says(decision, "edited", row.edited, row.editor_id)


def is_input_vouched_for(row: RunToolCall) -> bool:
    """The same of the input."""
    if not row.input_sealed:
        return True
    decision = Decision.objects.filter(call=row).exclude(input_sealed="").order_by("number").last()
    return decision is not None and _says(decision, "input", row.input, row.input_giver_id)


def _says(decision: Decision, what: str, value: Any, person: Any) -> bool:
    try:
        said = getattr(decision, what)
    except EncryptionError:
        return False
    return encoded([said, decision.decider_id]) == encoded([value, person]) and is_genuine(decision)
