"""Token counts of Messages answers."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.completions import Usage
from llm_foundation.providers.wire_json import as_count, as_object


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The counts. Here, and only here, input leaves out what the cache gave and took (langchain#32818)."""
    read, written = as_count(raw.get("cache_read_input_tokens")), as_count(raw.get("cache_creation_input_tokens"))
    fresh = as_count(raw.get("input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=as_count(raw.get("output_tokens")),
        cached_input_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=as_count(as_object(raw.get("output_tokens_details")).get("thinking_tokens")),
    )
