"""What a decision is bound to, and what proves that a decision is genuine.

The encoding is a JSON list with every part in its own place: two different calls never give the same text.
"""

import json
from hmac import compare_digest
from typing import Any, Final

from llm_foundation.encryption import sign, verify
from llm_foundation.exceptions import EncryptionError
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.tools import Tool

_CALL: Final = "call-digest.3"
_DECISION: Final = "decision-seal.3"


def call_digest(run: Run, row: RunToolCall, tool: Tool) -> str:
    """The digest that a person decides on: everything that they see, and everything that would run."""
    return sign(_call_text(run, row, tool), purpose=_CALL)


def digest_holds(run: Run, row: RunToolCall, tool: Tool) -> bool:
    """Whether the stored digest is still that of the stored call and the live tool."""
    return bool(row.digest) and verify(_call_text(run, row, tool), row.digest, purpose=_CALL)


def seal_of(decision: Decision) -> str:
    return sign(_decision_text(decision), purpose=_DECISION)


def is_genuine(decision: Decision) -> bool:
    """What was given with it may come from another row: then it does not even open."""
    try:
        return verify(_decision_text(decision), decision.seal, purpose=_DECISION)
    except EncryptionError:
        return False


def same_digest(given: object, stored: str) -> bool:
    """``given`` comes from forms and programs: whatever it is, it is another digest, not an error."""
    return compare_digest(str(given).encode("utf-8", "replace"), stored.encode())


def _call_text(run: Run, row: RunToolCall, tool: Tool) -> bytes:
    call = row.tool_call
    parts = [
        str(run.pk),
        run.configuration_id,
        run.owner_id,
        row.turn,
        row.index,
        call.id,
        call.name,
        tool.digest,
        str(tool.effect),
        row.effect,
        call.arguments,
        row.edited,
        row.editor_id,
        row.input,
        row.input_giver_id,
        row.preview,
        row.repeats,
        row.asked,
    ]
    return encoded(parts)


def _decision_text(decision: Decision) -> bytes:
    parts = [
        str(decision.pk),
        str(decision.call_id),
        decision.number,
        decision.verdict,
        decision.decider_id,
        decision.channel,
        decision.digest,
        decision.reason,
        decision.edited,
        decision.input,
        round(decision.decided_at.timestamp()),
    ]
    return encoded(parts)


def encoded(parts: list[Any]) -> bytes:
    """The text that is signed; also one text for equal values, where Python takes 1, 1.0 and True for one another."""
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str).encode()
