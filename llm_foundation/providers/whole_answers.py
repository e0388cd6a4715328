"""Reading an answer that came whole, whatever its format."""

from collections.abc import Callable, Mapping
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.providers.errors import UNREADABLE, ErrorReader
from llm_foundation.providers.wire_json import from_json


def read_body(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    errors: ErrorReader,
    read: Callable[[Any], CompletionResponse],
) -> CompletionResponse:
    """What ``read`` makes of the JSON in a body of status 200. Raises ``ProviderError`` for a body without sense."""
    try:
        return read(from_json(body.decode("utf-8-sig", "replace")))
    except UNREADABLE:
        problem = "the body is empty" if not body.strip() else "the body is no answer in this format"
        raise errors.unreadable(problem, status=status, headers=headers) from None
