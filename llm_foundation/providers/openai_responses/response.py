"""Reading a whole Responses answer."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import ErrorReader
from llm_foundation.providers.openai_responses.answer import Answer
from llm_foundation.providers.wire_json import as_object


def read_payload(
    payload: Any, status: int, headers: Mapping[str, str], *, answer: Answer, errors: ErrorReader
) -> CompletionResponse:
    """The answer that the JSON of a body of status 200 is. Raises ``ProviderError`` for an error in it."""
    envelope = as_object(payload)
    if not isinstance(envelope.get("output"), list) and not envelope.get("status"):
        if is_error(payload):
            raise errors.of_payload(payload, status=status, headers=headers)
        raise errors.unreadable("the answer holds no output", status=status, headers=headers)
    answer.end(envelope)
    if failure := failure_in(envelope, answer.status):
        partial = answer.response(is_complete=False)
        raise errors.of_payload(failure, status=status, headers=headers, partial=partial)
    return answer.response()


def failure_in(response: Mapping[str, Any], status: str | None) -> dict[str, Any] | None:
    """Why an answer failed, in the shape of an error; ``None`` for one that did not."""
    if response.get("error"):
        return {"error": response["error"]}
    if status == "failed":
        return {"error": {"code": "server_error", "message": "the answer failed, without a reason"}}
    return None
