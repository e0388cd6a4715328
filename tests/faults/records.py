"""What is wrong with the record of one run that has ended: its transcript, and its timeline."""

import json
from collections import Counter
from collections.abc import Iterator

from llm_foundation.chat.messages import ChatMessage
from llm_foundation.loop.states import CallState
from llm_foundation.models import Run
from tests.faults.plans import call_id, plan_of

Transcript = tuple[ChatMessage, ...]

DELTAS = ("model.text", "model.reasoning", "tool.progress")


def unanswered(transcript: Transcript) -> Iterator[str]:
    """Calls that do not have exactly one result, in their order, right behind their turn."""
    for place, message in enumerate(transcript):
        calls = [call.id for call in message.tool_calls or ()]
        behind = [result.tool_call_id for result in transcript[place + 1 : place + 1 + len(calls)]]
        answered = [*behind, *[None] * len(calls)]
        yield from (call for call, result in zip(calls, answered, strict=False) if call != result)
    results = Counter(message.tool_call_id for message in transcript if message.role == "tool")
    yield from (str(call) for call, count in results.items() if count > 1)


def is_as_planned(transcript: Transcript, seed: int) -> bool:
    """Whether a completed run did all that it was told, once and in order."""
    number = json.loads(str(transcript[0].content))["number"]
    planned = ["user"]
    for turn, calls in enumerate(plan_of(seed, number)):
        ids = [call_id(number, turn, index) for index in range(len(calls))]
        planned += [",".join(ids), *ids]
    return shape(transcript) == [*planned, "assistant"]


def shape(transcript: Transcript) -> list[str]:
    return [
        message.tool_call_id or ",".join(call.id for call in message.tool_calls or ()) or message.role
        for message in transcript
    ]


def timeline_faults(run: Run, transcript: Transcript) -> Iterator[str]:
    """What somebody who follows the run would miss, see twice, or see although it was to be forgotten."""
    events = list(run.events.order_by("sequence"))
    kinds = Counter(event.kind for event in events)
    yield from (f"{kinds[delta]} × {delta} are left" for delta in DELTAS if kinds[delta])
    if kinds["run.finished"] != 1 or kinds["run.started"] != 1:
        yield f"started {kinds['run.started']} times, finished {kinds['run.finished']} times"
    if run.next_event_sequence != events[-1].sequence + 1:
        yield f"the next event is {run.next_event_sequence}, the last was {events[-1].sequence}"
    told = [event.message_sequence for event in events if event.kind == "model.answered"]
    answers = [place + 1 for place, message in enumerate(transcript) if message.role == "assistant"]
    if told != answers:
        yield f"answers {answers} were announced as {told}"
    ends = Counter(event.tool_call_id for event in events if _ends_call(event.kind, event.payload))
    for call in run.calls.all():
        expected = int(call.state != CallState.DENIED)
        if ends[call.pk] != expected:
            yield f"the end of {call.tool_name} ({call.state}) was told {ends[call.pk]} times"


def _ends_call(kind: str, payload: dict[str, str]) -> bool:
    """Not a denial: that is told as a decision."""
    if kind == "call.resolved":
        return payload["verdict"] != "did_not_happen"
    return kind == "call.refused" or (kind == "call.settled" and payload["state"] != "in_doubt")
