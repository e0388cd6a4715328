"""Reading a whole Ollama answer."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.exceptions import IncompleteStream, ProviderError
from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import ErrorReader
from llm_foundation.providers.ollama.answer import OllamaAnswer
from llm_foundation.providers.wire_json import as_object


def read_payload(
    payload: Any, status: int, headers: Mapping[str, str], *, answer: OllamaAnswer, errors: ErrorReader
) -> CompletionResponse:
    """The answer in the JSON of a body. Raises ``ProviderError`` for an error in it, or where it holds no message."""
    if is_error(payload):
        raise errors.of_payload(payload, status=status, headers=headers)
    entry = as_object(payload)
    answer.add_envelope(entry)
    answer.add(entry)
    if not answer.has_begun:
        raise errors.unreadable("the answer holds no message", status=status, headers=headers)
    if failure := failure_of(answer, errors, status=status, headers=headers):
        raise failure
    if entry.get("done") is False:
        arrived = answer.response(is_complete=False)
        told: dict[str, Any] = {"status": status, "headers": headers, "partial": arrived}
        raise errors.unreadable("the answer was not done", kind=IncompleteStream, **told)
    return answer.response()


def failure_of(
    answer: OllamaAnswer,
    errors: ErrorReader,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ProviderError | None:
    """The error that an answer is where the model was only loaded."""
    if not answer.was_not_asked:
        return None
    problem = f"the model wrote nothing, it was only brought in or out of memory ({answer.raw_finish_reason})"
    return errors.unreadable(problem, status=status, headers=headers)
