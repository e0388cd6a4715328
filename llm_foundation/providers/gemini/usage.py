"""Token counts of Gemini answers."""

from typing import Any

from llm_foundation.chat.completions import Usage
from llm_foundation.providers.wire_json import as_count, as_object


def read_usage(raw: Any) -> Usage | None:
    """The counts of ``usageMetadata``, or ``None`` where it tells none.

    Gemini counts thinking beside the candidates, and what its own tools fed back beside the prompt
    (simonw/llm-gemini#75, sub2api#554). Cache reads are part of the prompt.
    """
    usage = as_object(raw)
    thoughts = _count(usage.get("thoughtsTokenCount"))
    read = Usage(
        input_tokens=_sum(_count(usage.get("promptTokenCount")), _count(usage.get("toolUsePromptTokenCount"))),
        output_tokens=_sum(_count(usage.get("candidatesTokenCount")), thoughts),
        cached_input_tokens=_count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )
    return None if read == Usage() else read


def _count(value: Any) -> int | None:
    """A count below zero, as a difference that a gateway makes can be, is zero (zendev-sh/goai#122)."""
    is_negative = isinstance(value, int | float) and value < 0
    return 0 if is_negative else as_count(value)


def _sum(*counts: int | None) -> int | None:
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None
