"""What an adapter reads from a recorded answer."""

from collections.abc import Callable, Iterable
from typing import Any

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatRequest
from llm_foundation.exceptions import ProviderError
from llm_foundation.providers.base import Adapter
from llm_foundation.providers.recordings.recording import Recording

Cut = Callable[[bytes], Iterable[bytes]]
Outcome = tuple[CompletionResponse | None, ProviderError | None]


def whole(stream: bytes) -> Iterable[bytes]:
    yield stream


def read_answer(
    recording: Recording, adapter: Adapter, *, cut: Cut = whole, chat_request: ChatRequest | None = None
) -> Outcome:
    """A response, an error, or both: an error after which there is something to read. ``cut`` makes pieces of a stream.

    What a model said before a refusal of status 400 or more is no answer, so there the error stands alone.
    """
    if recording.is_stream and 200 <= recording.status < 300:
        return _streamed(recording, adapter, cut, chat_request)
    try:
        raw = recording.raw
        return adapter.response(recording.status, recording.headers, raw, chat_request=chat_request), None
    except ProviderError as error:
        return error.partial if 200 <= recording.status < 300 else None, error


def _streamed(recording: Recording, adapter: Adapter, cut: Cut, chat_request: ChatRequest | None) -> Outcome:
    decoder = adapter.stream(chat_request)
    try:
        for piece in cut(recording.raw):
            decoder.feed(piece)
        return decoder.finish(), None
    except ProviderError as error:
        return decoder.partial() or error.partial, error


def described(response: CompletionResponse | None, error: Exception | None = None) -> dict[str, Any]:
    """An outcome in plain JSON. Of provider state it says only whether there is any."""
    read = response or CompletionResponse()
    return {
        "kind": "message" if error is None else "partial" if response else "error",
        "text": read.content,
        "reasoning": read.reasoning or "",
        "refusal": read.refusal,
        "tool_calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": thaw(call.arguments),
                "invalid_arguments": call.invalid_arguments,
            }
            for call in read.tool_calls
        ],
        "finish_reason": read.finish_reason.value if response else None,
        "raw_finish_reason": read.raw_finish_reason,
        "usage": read.usage.model_dump() if response else None,
        "provider_state": read.provider_state is not None,
        "error": None if error is None else described_error(error),
    }


def described_error(error: Exception) -> dict[str, Any]:
    """What happened, and whether asking again may help."""
    told = {"type": type(error).__name__, "message": str(error), "retryable": False, "retry_after": None}
    if isinstance(error, ProviderError):
        told |= {"message": error.message, "retryable": error.retryable, "retry_after": error.retry_after}
    return told
