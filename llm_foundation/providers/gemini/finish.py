"""Why a Gemini model stopped."""

from typing import Any, Final

from llm_foundation.chat.completions import FinishReason

_NUMBERED: Final = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
    "UNEXPECTED_TOOL_CALL",
    "NO_IMAGE",
)
"""Vertex can write its enumeration as numbers; these are its names, from 0."""

_FILTERS: Final = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "ESCALATION",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
)
_REASONS: Final = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "CONTINUATION": FinishReason.LENGTH,
    "MALFORMED_FUNCTION_CALL": FinishReason.ERROR,
    "MALFORMED_RESPONSE": FinishReason.ERROR,
    "UNEXPECTED_TOOL_CALL": FinishReason.ERROR,
    "TOO_MANY_TOOL_CALLS": FinishReason.ERROR,
    "MISSING_THOUGHT_SIGNATURE": FinishReason.ERROR,
    "PUP_LIMITED_DISABLED": FinishReason.ERROR,
} | dict.fromkeys(_FILTERS, FinishReason.CONTENT_FILTER)

_STATUSES: Final = {"MISSING_THOUGHT_SIGNATURE": 400, "PUP_LIMITED_DISABLED": 403}
"""Reasons that say what others would say with an error status."""

_MODEL_MADE: Final = {
    "MALFORMED_FUNCTION_CALL": "the model made a call that cannot be read",
    "MALFORMED_RESPONSE": "the model made an answer that cannot be read",
    "UNEXPECTED_TOOL_CALL": "the model called a tool that was not on offer",
    "TOO_MANY_TOOL_CALLS": "the model did not come to an end with the provider's own tools",
}


def reason_name(raw: Any) -> str:
    """The reason as a word, whether it came as a word or as a number."""
    text = str(raw) if isinstance(raw, str | int) and not isinstance(raw, bool) else ""
    if text.isdecimal() and len(text) < 4:
        return _NUMBERED[int(text)] if int(text) < len(_NUMBERED) else text
    return text.upper()


def finish_reason(raw: str | None) -> FinishReason:
    return _REASONS.get(reason_name(raw), FinishReason.OTHER)


def model_made_problem(raw: str | None) -> str | None:
    """What the model got wrong, where that is why it stopped."""
    return _MODEL_MADE.get(reason_name(raw))


def status_of(raw: str | None) -> int | None:
    """The error status that this reason stands for, if it stands for one."""
    return _STATUSES.get(reason_name(raw))
