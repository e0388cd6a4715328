"""What holds for every run, whatever happened to it."""

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.models import Run

OPEN = {"pending", "in_doubt"}


def assert_sound(run: Run) -> None:
    """It rests where it may rest, has a reason if it has ended, and its transcript is one that providers accept."""
    run = Run.objects.get(pk=run.pk)
    states = set(run.calls.values_list("state", flat=True))
    if run.is_finished:
        assert run.termination_reason
        assert not states & {"proposed", "pending", "ready", "executing", "in_doubt"}
    elif run.status == "waiting_for_approval":
        assert "pending" in states
        assert not states & {"ready", "executing", "in_doubt"}
    else:
        assert (run.status, "in_doubt" in states) == ("in_doubt", True)
    assert_rows_fit(run)
    assert_answered(run.transcript, is_open=not run.is_finished)


def assert_rows_fit(run: Run) -> None:
    """The counters say what there is."""
    messages = list(run.messages.order_by("sequence").values_list("sequence", flat=True))
    events = list(run.events.order_by("sequence").values_list("sequence", flat=True))
    assert messages == list(range(1, run.next_message_sequence))
    assert events[-1] == run.next_event_sequence - 1
    assert len(set(events)) == len(events)
    assert (run.lease_owner, run.lease_expires_at) == ("", None)


def assert_answered(transcript: tuple[ChatMessage, ...], *, is_open: bool) -> None:
    """Each turn's results come right after it: one for each call, in the order of the calls."""
    waiting: list[str] = []
    for message in transcript:
        if message.role is Role.TOOL:
            assert waiting
            assert message.tool_call_id == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call.id for call in message.tool_calls]
    assert is_open or waiting == []
