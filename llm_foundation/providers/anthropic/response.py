"""Reading a whole Messages answer."""

from collections.abc import Mapping

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.providers.anthropic.answer import Answer
from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import UNREADABLE, ErrorReader
from llm_foundation.providers.wire_json import as_object, from_json


def read_answer(
    status: int, headers: Mapping[str, str], body: bytes, *, answer: Answer, errors: ErrorReader
) -> CompletionResponse:
    """The answer in a body of status 200. Raises ``ProviderError`` for an error in it, or for no sense at all."""
    try:
        payload = from_json(body.decode("utf-8-sig", "replace"))
        message = as_object(payload)
        if message.get("type") != "message" and is_error(payload):
            raise errors.of_payload(payload, status=status, headers=headers)
        if not isinstance(message.get("content"), list):
            raise errors.unreadable("the answer holds no content", status=status, headers=headers)
        answer.begin(message)
        return answer.response()
    except UNREADABLE:
        problem = "the body is empty" if not body.strip() else "the body is no answer in this format"
        raise errors.unreadable(problem, status=status, headers=headers) from None
