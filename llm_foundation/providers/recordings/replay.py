"""A recorded conversation, gone through again: each later request as our adapter would send it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatRequest
from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.exceptions import LLMFoundationError
from llm_foundation.providers.recordings import anthropic, chat, gemini, ollama, responses
from llm_foundation.providers.recordings.answers import read_answer
from llm_foundation.providers.recordings.recording import NotARecording, Recording
from llm_foundation.providers.wire_json import from_json

READERS: Final[Mapping[str, Callable[[Recording, StateOwner], ChatRequest]]] = {
    "chat": chat.read_request,
    "responses": responses.read_request,
    "anthropic": anthropic.read_request,
    "gemini": gemini.read_request,
    "ollama": ollama.read_request,
}

_MISSHAPEN: Final = (LookupError, TypeError, AttributeError, ValueError, RecursionError, LLMFoundationError)
"""What comes of a request that is none of its family, or that we have no words for."""


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange of a conversation: the request as ours, its body, and what was answered."""

    request: ChatRequest
    body: Any
    answer: CompletionResponse | None


def replayed(recordings: Iterable[Recording | NotARecording]) -> Iterator[Any | NotARecording]:
    """For each recording after the first the body that our adapter would send, or why there is none.

    The assistant's turns in it are those that we read from the earlier answers, as stored and read again. What the
    recorded client added (results, questions) is taken from its request, and so is a turn that no answer gave.
    """
    for step in islice(gone_through(recordings), 1, None):
        yield step.body if isinstance(step, Step) else step


def gone_through(recordings: Iterable[Recording | NotARecording]) -> Iterator[Step | NotARecording]:
    """Each recording as a step that follows the ones before it, or why it is none."""
    steps: list[Step] = []
    for recording in recordings:
        try:
            steps.append(_step(recording, steps))
        except NotARecording as problem:
            yield problem
        else:
            yield steps[-1]


def _step(recording: Recording | NotARecording, before: Sequence[Step]) -> Step:
    if isinstance(recording, NotARecording):
        raise recording
    try:
        adapter = recording.adapter()
        request = request_after(recording, adapter.owner, before)
        body = from_json((adapter.request(request).body or b"").decode())
        answer, _ = read_answer(recording, adapter, chat_request=request)
    except _MISSHAPEN as problem:
        raise NotARecording(f"no request can be built: {_told(recording, problem)}") from problem
    return Step(request, body, answer)


def _told(recording: Recording, problem: Exception) -> str:
    if recording.request is None:
        return "the recording holds the answer only"
    known = isinstance(problem, LLMFoundationError | NotARecording)
    return str(problem) if known else f"the recorded one is none of the family {recording.family!r}"


def request_after(recording: Recording, owner: StateOwner, before: Sequence[Step]) -> ChatRequest:
    """The recorded request as ours, with the turns that we read ourselves in the place of the recorded ones."""
    request = READERS[recording.family](recording, owner)
    remembered = _remembered(recording, request, before)
    messages = with_answers((*remembered, *request.messages), before)
    return request.model_copy(update={"messages": messages})


def _remembered(recording: Recording, request: ChatRequest, before: Sequence[Step]) -> tuple[ChatMessage, ...]:
    """What the provider was to remember of earlier steps: we send all of a conversation."""
    if not any(recording.request.get(key) for key in responses.SERVERS_MEMORY) or not before:
        return ()
    named = recording.request.get("previous_response_id")
    step = next((step for step in before if step.answer and step.answer.response_id == named), before[-1])
    answer = () if step.answer is None else (step.answer.to_message(),)
    return (*(message for message in step.request.messages if message not in request.messages), *answer)


def with_answers(messages: Iterable[ChatMessage], before: Iterable[Step]) -> tuple[ChatMessage, ...]:
    """The conversation with each answer in the place of the turn that says the same; results follow their calls."""
    waiting = [step for step in before if step.answer is not None]
    renamed: dict[str | None, str] = {}
    kept: list[ChatMessage] = []
    for message in messages:
        if message.role is Role.ASSISTANT:
            recorded, message = message, _turn(message, kept, waiting)
            pairs = zip(recorded.tool_calls, message.tool_calls, strict=True)
            renamed |= {theirs.id: ours.id for theirs, ours in pairs}
        elif message.tool_call_id in renamed:
            message = message.model_copy(update={"tool_call_id": renamed[message.tool_call_id]})
        kept.append(message)
    return tuple(kept)


def _turn(recorded: ChatMessage, earlier: list[ChatMessage], waiting: list[Step]) -> ChatMessage:
    """The answer that is this turn, taken out of those that wait; or the turn as it was recorded.

    One recording may hold several conversations in which a model says the same: the newest answer to just what was said
    until here comes first.
    """
    same = [step for step in waiting if _is_same(recorded, _message(step))]
    to_this = [step for step in same if _said(step.request.messages) == _said(earlier)]
    chosen = to_this[-1] if to_this else next(iter(same), None)
    if chosen is None:
        return recorded
    waiting.remove(chosen)
    return ChatMessage.from_dict(_message(chosen).to_transcript())


def _message(step: Step) -> ChatMessage:
    return (step.answer or CompletionResponse()).to_message()


def _said(messages: Iterable[ChatMessage]) -> list[tuple[str, str]]:
    """What was said to the model; its own turns are what is to be found."""
    return [(message.role.value, message.text) for message in messages if message.role in (Role.USER, Role.TOOL)]


def _is_same(recorded: ChatMessage, answer: ChatMessage) -> bool:
    """Whether a client gives back this answer. Clients drop the text beside calls, blanks at its ends, and ids."""
    if len(recorded.tool_calls) != len(answer.tool_calls):
        return False
    if not recorded.tool_calls:
        return recorded.text.strip() == answer.text.strip()
    pairs = list(zip(recorded.tool_calls, answer.tool_calls, strict=True))
    is_named_so = all(theirs.name == ours.name for theirs, ours in pairs)
    same_ids = all(theirs.id == ours.id for theirs, ours in pairs)
    return is_named_so and (same_ids or all(theirs.wire_arguments() == ours.wire_arguments() for theirs, ours in pairs))
