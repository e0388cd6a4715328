"""Reading a whole Gemini answer, or all chunks of one at once."""

from collections.abc import Mapping
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.exceptions import IncompleteStream, ProviderError
from llm_foundation.providers.error_body import is_error
from llm_foundation.providers.errors import UNREADABLE, ErrorReader
from llm_foundation.providers.gemini.answer import GeminiAnswer
from llm_foundation.providers.gemini.finish import model_made_problem, status_of
from llm_foundation.providers.wire_json import as_list, as_object


def read_payload(
    payload: Any, status: int, headers: Mapping[str, str], *, answer: GeminiAnswer, errors: ErrorReader
) -> CompletionResponse:
    """The answer in the JSON of a body. Raises ``ProviderError`` for an error in it, or where it holds no candidate.

    A stream that was asked for without ``alt=sse`` is a list of chunks.
    """
    others = 0
    for chunk in as_list(payload) or [payload]:
        if is_error(chunk):
            raise errors.of_payload(chunk, status=status, headers=headers, partial=arrived(answer))
        answer.add_envelope(as_object(chunk))
        answer.add(answer.candidate_of(as_object(chunk)))
        others = max(others, len(as_list(as_object(chunk).get("candidates"))) - 1)
    if not answer.has_begun:
        raise errors.unreadable("the answer holds no candidate", status=status, headers=headers)
    if failure := failure_of(answer, errors, status=status, headers=headers):
        raise failure
    if isinstance(payload, list) and not answer.is_finished:
        told: dict[str, Any] = {"status": status, "headers": headers, "partial": arrived(answer)}
        raise errors.unreadable("no end mark came", kind=IncompleteStream, **told)
    response = answer.response()
    return response.with_metadata(other_candidates=others) if others else response


def arrived(answer: GeminiAnswer) -> CompletionResponse | None:
    """What has arrived of an answer that fails; ``None`` where nothing has, or nothing that can be put together."""
    try:
        return answer.response(is_complete=False) if answer.has_begun else None
    except UNREADABLE:
        return None


def failure_of(
    answer: GeminiAnswer,
    errors: ErrorReader,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ProviderError | None:
    """The error that an answer is, if it is one: blocked, or given up by the model."""
    reason = answer.raw_finish_reason
    if answer.blocked is not None:
        told = {"code": "content_filter", "message": f"the prompt was blocked: {answer.blocked}"}
        return errors.of_payload(told, status=status, headers=headers, partial=arrived(answer))
    if (said := status_of(reason)) is not None:
        error = {"error": {"code": said, "message": f"the answer was stopped: {reason}"}}
        return errors.of_payload(error, status=status, headers=headers, partial=arrived(answer))
    problem = model_made_problem(reason)
    if problem is None or answer.calls_the_unexpected:
        return None
    return errors.unreadable(problem, status=status, headers=headers, partial=arrived(answer))
