"""What is outside the database and survives every crash: what tools did, what the model says, the mail, and time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, NamedTuple

from django.db import connection, transaction
from django.db.models import F

from llm_foundation.chat.completions import CompletionResponse, FinishReason, Usage
from llm_foundation.chat.messages import ChatMessage
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.exceptions import AuthenticationFailed, RateLimited
from llm_foundation.models import Run, RunToolCall

AGES: Final = 3_600.0
"""Seconds after which every lease and every deadline is over."""


class Planned(NamedTuple):
    """A call that the model will make, and how it ends. ``id`` as the provider gives it."""

    tool: str
    ending: str = "well"
    id: str | None = None


class Start(NamedTuple):
    """A tool has begun. How its row stands in that moment: ``state``, ``repeat`` and ``attempt``."""

    call: str
    tool: str
    key: str
    state: str
    repeat: int
    attempt: int


@dataclass
class World:
    """``script`` holds the model's turns; ``mood`` says whether it follows it. ``passed`` counts the seconds that went
    by for everybody, ``has_jumped`` says that the database's clock alone was set forward.
    """

    script: Sequence[Sequence[Planned]]
    mood: str = "planned"
    passed: float = 0.0
    has_jumped: bool = False
    has_mail: bool = True
    mail: list[str] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How often a tool that reaches outside has taken effect, by call."""
    _longest: int = 0

    def post(self, run_id: str) -> None:
        if not self.has_mail:
            raise ConnectionError("The broker is down.")
        self.mail.append(run_id)

    # --- The model ----------------------------------------------------------------------------------------------------
    def is_new(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether the model is asked this for the first time; only then does it show what it is about to say."""
        known, self._longest = self._longest, max(self._longest, len(messages))
        return len(messages) > known

    def answer(self, messages: Iterable[ChatMessage]) -> CompletionResponse:
        """A function of the transcript and the mood."""
        turn = sum(bool(message.tool_calls) for message in messages)
        match self.mood:
            case "busy":
                raise RateLimited("later", retry_after=20)
            case "locked":
                raise AuthenticationFailed("no such key")
            case "pausing":
                return self._says("Let me think.", FinishReason.PAUSE)
            case "wordy":
                return self._says("Enough.", FinishReason.STOP)
        if turn >= len(self.script):
            return self._says("Done.", FinishReason.STOP)
        calls = tuple(_call(turn, index, planned) for index, planned in enumerate(self.script[turn]))
        return self._says(f"Turn {turn}.", FinishReason.TOOL_CALLS, calls)

    def _says(self, content: str, reason: FinishReason, calls: tuple[ToolCall, ...] = ()) -> CompletionResponse:
        usage = Usage(input_tokens=10, output_tokens=5)
        return CompletionResponse(
            content=content, tool_calls=calls, finish_reason=reason, usage=usage, model="practice"
        )

    # --- Time ---------------------------------------------------------------------------------------------------------
    def let_pass(self, seconds: float) -> None:
        """Time goes by, for the database and on every host."""
        shift(seconds)
        self.passed += seconds

    def jump(self, seconds: float) -> None:
        """Somebody sets the database's clock."""
        shift(seconds)
        self.has_jumped |= seconds > 0


def _call(turn: int, index: int, planned: Planned) -> ToolCall:
    call_id = f"call_{turn}_{index}" if planned.id is None else planned.id
    if planned.ending == "garbled":
        return ToolCall(id=call_id, name=planned.tool, arguments={}, invalid_arguments="{not JSON")
    return ToolCall(id=call_id, name=planned.tool, arguments={"ending": planned.ending})


def shift(seconds: float) -> None:
    """What is to come comes so much sooner, and what was is so much longer ago."""
    gone = timedelta(seconds=seconds)
    with transaction.atomic():
        Run.objects.update(**{column: F(column) - gone for column in _OF_RUNS})
        free = RunToolCall.objects.all()
        if (
            connection.features.has_select_for_update_skip_locked
        ):  # a transactional tool that is held has its call's row
            locked = free.select_for_update(skip_locked=True).values_list("pk", flat=True)
            free = free.filter(pk__in=list(locked))
        free.update(**{column: F(column) - gone for column in _OF_CALLS})


_OF_RUNS: Final = ("lease_expires_at", "not_before", "enqueued_at", "cancel_requested_at")
_OF_CALLS: Final = ("deadline_at", "started_at", "pending_since")
