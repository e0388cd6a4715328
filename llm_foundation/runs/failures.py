"""Why a run cannot go on: a stable code for programs, and words for people."""

import logging
from collections.abc import Mapping
from typing import Final

from llm_foundation.exceptions import (
    ContextExhausted,
    DecryptionFailed,
    InvalidProviderState,
    LLMFoundationError,
    ProviderError,
    TrustCeilingExceeded,
)
from llm_foundation.models import Run

logger = logging.getLogger("llm_foundation.runs")

_REASONS: Final[Mapping[type[LLMFoundationError], str]] = {
    ContextExhausted: "context_exhausted",
    DecryptionFailed: "unreadable",
    InvalidProviderState: "ProviderStateError",
    TrustCeilingExceeded: "trust_ceiling",
}


def what_failed(run: Run, error: Exception) -> tuple[str, str]:
    """Reason and words. What nobody expected goes to the log: its text may hold anything."""
    if isinstance(error, LLMFoundationError):
        return failure_reason(error), str(error)
    logger.error("Run %s stopped with an unexpected error", run.pk, exc_info=error)
    return f"internal:{type(error).__name__}", "An unexpected error stopped this run; it is in the log."


def failure_reason(error: LLMFoundationError) -> str:
    """A word of its own, or the error's name with its family before it."""
    family = "provider:" if isinstance(error, ProviderError) else ""
    return _REASONS.get(type(error)) or f"{family}{type(error).__name__}"
