"""Newer models bind their thinking to the conversation before it: they are asked to do without what changed since."""

import pytest

from llm_foundation.chat import ChatMessage
from tests.providers.anthropic_builders import OPUS_5_5, SONNET_4_6, THOUGHT, make_claude, message, said, turn
from tests.providers.builders import HELLO, answered, make_request, sent

BOUND = make_claude(OPUS_5_5)
DROPS = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"type": "adaptive", "block_binding": DROPS}),
        ({"reasoning_effort": "low"}, {"type": "adaptive", "display": "summarized", "block_binding": DROPS}),
        (
            {"extra": {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}}},
            {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}},
        ),
    ],
)
def test_newer_models_are_asked_to_do_without_thinking_whose_conversation_changed(options, expected):
    request = make_request(HELLO, turn(BOUND, THOUGHT, said("1")), HELLO, options=options)
    assert sent(BOUND, request)["thinking"] == expected
    assert BOUND.request(request).headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"


@pytest.mark.parametrize(
    ("adapter", "spoken"),
    [
        (BOUND, ChatMessage.assistant("1")),
        (BOUND, turn(make_claude(), THOUGHT, said("1"))),
        (make_claude(SONNET_4_6), turn(make_claude(SONNET_4_6), THOUGHT, said("1"))),
        (make_claude(OPUS_5_5, options={"stale_thinking": None}), turn(BOUND, THOUGHT, said("1"))),
    ],
    ids=["no thinking", "foreign thinking", "older model", "switched off"],
)
def test_nothing_is_said_of_it_where_no_thinking_goes_back_or_nobody_asked(adapter, spoken):
    request = make_request(HELLO, spoken, HELLO)
    assert "thinking" not in sent(adapter, request)
    assert "anthropic-beta" not in adapter.request(request).headers


def test_what_the_provider_left_out_is_told():
    gone = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}]
    assert answered(BOUND, message("Tea.", input_transformations=gone)).metadata["input_transformations"] == gone
