"""Token counts in all the forms in which OpenAI-like endpoints report them."""

from typing import Any

from llm_foundation.chat.completions import Usage
from llm_foundation.providers.wire_json import as_count, as_object


def read_usage(raw: Any) -> Usage | None:
    """The counts, or ``None`` where none is given. Cache reads are part of the input here, never on top of it."""
    usage = as_object(raw)
    if not usage:
        return None
    prompt = as_object(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    completion = as_object(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    reasoning = _first(completion.get("reasoning_tokens"), usage.get("reasoning_tokens"))
    read = Usage(
        input_tokens=_first(usage.get("prompt_tokens"), usage.get("input_tokens")),
        output_tokens=_with_thinking(
            _first(usage.get("completion_tokens"), usage.get("output_tokens")), reasoning, usage
        ),
        # OpenAI, Moonshot, DeepSeek, Databricks
        cached_input_tokens=_first(
            prompt.get("cached_tokens"),
            usage.get("cached_tokens"),
            usage.get("prompt_cache_hit_tokens"),
            usage.get("cache_read_input_tokens"),
        ),
        cache_write_tokens=_first(prompt.get("cache_write_tokens"), usage.get("cache_creation_input_tokens")),
        reasoning_tokens=reasoning,
    )
    return None if read == Usage() else read


def _with_thinking(completion: int | None, reasoning: int | None, usage: dict[str, Any]) -> int | None:
    """xAI counts thinking beside the completion; that it does so shows in the total."""
    prompt, total = as_count(usage.get("prompt_tokens")), as_count(usage.get("total_tokens"))
    if completion is None or not reasoning or prompt is None or total != prompt + completion + reasoning:
        return completion
    return completion + reasoning


def _first(*values: Any) -> int | None:
    return next((count for value in values if (count := as_count(value)) is not None), None)
