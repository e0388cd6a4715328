"""Reading a whole Chat Completions answer."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import ErrorReader
from llm_foundation.providers.openai_chat.answer import Answer
from llm_foundation.providers.wire_json import as_list, as_object


def read_payload(
    payload: Any, status: int, headers: Mapping[str, str], *, answer: Answer, errors: ErrorReader
) -> CompletionResponse:
    """The answer that the JSON of a body of status 200 is. Raises ``ProviderError`` for an error in it."""
    if is_error(payload):
        raise errors.of_payload(payload, status=status, headers=headers)
    envelope = as_object(payload)
    choice = answer.choice_of(envelope)
    if not choice:
        raise errors.unreadable("the answer holds no choice", status=status, headers=headers)
    answer.add_envelope(envelope)
    answer.add_delta(choice, whole=True)
    response = answer.response()
    if others := len(as_list(envelope["choices"])) - 1:
        response = response.with_metadata(other_choices=others)
    if choice.get("error"):
        raise errors.of_payload(choice, status=status, headers=headers, partial=response)
    if answer.raw_finish_reason == "error":
        raise errors.unreadable("the model stopped with an error", status=status, headers=headers, partial=response)
    return response
