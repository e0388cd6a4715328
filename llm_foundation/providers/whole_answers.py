"""Reading an answer that came whole, whatever its format."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import UNREADABLE, ErrorReader
from llm_foundation.providers.wire_json import from_json

T = TypeVar("T")


def read_body(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    errors: ErrorReader,
    read: Callable[[Any], T],
) -> T:
    """What ``read`` makes of the JSON in a body of status 200. Raises ``ProviderError`` for a body without sense."""
    try:
        return read(from_json(body.decode("utf-8-sig", "replace")))
    except UNREADABLE:
        problem = "the body is empty" if not body.strip() else "the body is no answer in this format"
        raise errors.unreadable(problem, status=status, headers=headers) from None


def read_plain(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    errors: ErrorReader,
    read: Callable[[Any], T],
) -> T:
    """What ``read`` makes of an answer that is no completion. Raises the ``ProviderError`` that it is otherwise."""

    def checked(payload: Any) -> T:
        if is_error(payload):
            raise errors.of_payload(payload, status=status, headers=headers)
        return read(payload)

    if not 200 <= status < 300:
        raise errors.of_answer(status, headers, body)
    return read_body(status, headers, body, errors=errors, read=checked)
