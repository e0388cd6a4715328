"""Streamed answers of the Messages API."""

import json

import pytest

from llm_foundation.chat import FinishReason, ToolCall, Usage
from llm_foundation.chat.stream import ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStarted
from llm_foundation.exceptions import IncompleteStream, InvalidResponse, Overloaded, ServerError
from tests.providers.anthropic_builders import (
    FOUND,
    REDACTED,
    SEARCH,
    THOUGHT,
    as_stream,
    block,
    call_block,
    end,
    event,
    make_claude,
    message,
    said,
    start,
    stream,
    text_block,
    used,
)
from tests.providers.builders import (
    FIND,
    HELLO,
    answered,
    call,
    calls_of,
    make_request,
    reasoning_of,
    streamed,
    text_of,
)

CLAUDE = make_claude()


def partial_of(adapter, data: bytes, error):
    with pytest.raises(error) as raised:
        streamed(adapter, data)
    return raised.value.partial


def test_events_tell_text_thinking_and_calls_as_they_come():
    thinking = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "I "},
        {"type": "thinking_delta", "thinking": "look."},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    calls = call_block(2, "", '{"num', 'ber":"7"}')
    events, response = streamed(
        CLAUDE, stream(start(), thinking, text_block(1, "Let me", " see."), calls, end("tool_use"))
    )
    assert events == [
        ReasoningDelta(text="I "),
        ReasoningDelta(text="look."),
        TextDelta(text="Let me"),
        TextDelta(text=" see."),
        ToolCallStarted(index=0, call_id="toolu_1", name="find_order"),
        ToolCallDelta(index=0, arguments='{"num'),
        ToolCallDelta(index=0, arguments='ber":"7"}'),
    ]
    assert response.content == "Let me see."
    assert response.reasoning == "I look."
    assert response.tool_calls == (call(id="toolu_1", number="7"),)
    assert response.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_stream_gives_what_the_whole_answer_gives(size):
    whole = message(
        THOUGHT, REDACTED, "I look für Tee.", SEARCH, FOUND, "Tea?", used(a="b"), used(id="2"), stop="tool_use"
    )
    assert streamed(CLAUDE, as_stream(whole), size=size)[1] == answered(CLAUDE, whole)


def test_parallel_calls_may_come_mixed():
    first, second = call_block(0, '{"a"', ":1}", id="1"), call_block(1, '{"b"', ":2}", id="2")
    mixed = [one for pair in zip(first, second, strict=True) for one in pair]
    events, response = streamed(CLAUDE, stream(start(), mixed, end("tool_use")))
    assert response.tool_calls == (call(id="1", a=1), call(id="2", b=2))
    assert calls_of(events) == [("1", "find_order", '{"a":1}'), ("2", "find_order", '{"b":2}')]


def test_a_call_without_any_input_has_no_arguments():
    assert streamed(CLAUDE, stream(start(), call_block(0), end("tool_use")))[1].tool_calls == (call(id="toolu_1"),)
    assert streamed(CLAUDE, stream(start(), call_block(0, ""), end("tool_use")))[1].tool_calls == (call(id="toolu_1"),)


def test_input_that_came_with_the_start_of_a_call_counts_and_is_told():
    events, response = streamed(CLAUDE, stream(start(), block(0, used(number="7")), end("tool_use")))
    assert response.tool_calls == (call(id="toolu_1", number="7"),)
    assert calls_of(events) == [("toolu_1", "find_order", '{"number": "7"}')]


@pytest.mark.parametrize(
    "pieces", [[], ['{"number":"7'], ['{"number":"7"}']], ids=["nothing", "half", "valid by chance"]
)
@pytest.mark.parametrize("stopped", [True, False])
def test_a_call_that_the_token_limit_cut_off_is_never_whole(pieces, stopped):
    calls = [*call_block(0, '{"a":1}', id="1"), *call_block(1, *pieces, id="2", stop=stopped)]
    response = streamed(CLAUDE, stream(start(), calls, end("max_tokens")))[1]
    cut = ToolCall(id="2", name="find_order", invalid_arguments="".join(pieces))
    assert response.tool_calls == (call(id="1", a=1), cut)
    assert response.finish_reason is FinishReason.LENGTH


def test_half_an_input_is_never_completed():
    response = streamed(CLAUDE, stream(start(), call_block(0, '{"number":"7'), end("tool_use")))[1]
    assert response.tool_calls == (ToolCall(id="toolu_1", name="find_order", invalid_arguments='{"number":"7'),)


def test_a_missing_end_of_a_block_does_not_matter_where_the_answer_ends_well():
    response = streamed(CLAUDE, stream(start(), call_block(0, '{"a":1}', stop=False), end("tool_use")))[1]
    assert response.tool_calls == (call(id="toolu_1", a=1),)


def test_counts_are_totals_and_the_last_one_counts():
    first = {"input_tokens": 5, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 3, "output_tokens": 1}
    last = {"input_tokens": 6, "cache_creation_input_tokens": None, "output_tokens": 9}
    response = streamed(CLAUDE, stream(start(usage=first), text_block(0, "x"), end(usage=last)))[1]
    assert response.usage == Usage(input_tokens=19, output_tokens=9, cached_input_tokens=10, cache_write_tokens=3)


def test_pings_events_of_tomorrow_and_comments_say_nothing():
    noise = stream(event("ping"), event("content_block_novelty", index=0), {"type": "novelty"})
    data = b": hi\n\n" + stream(start()) + noise + stream(text_block(0, "Tea."), end())
    assert streamed(CLAUDE, data)[1].content == "Tea."


def test_an_unknown_delta_of_a_known_block_says_nothing():
    odd = block(0, said(""), {"type": "novelty", "value": 1}, {"type": "text_delta", "text": "Tea."})
    assert streamed(CLAUDE, stream(start(), odd, end()))[1].content == "Tea."


def test_a_delta_of_a_block_that_never_began_is_passed_over():
    lost = event("content_block_delta", index=5, delta={"type": "text_delta", "text": "x"})
    response = streamed(CLAUDE, stream(start(), lost, event("content_block_stop", index=5), end()))[1]
    assert response.content == ""


def test_a_message_that_begins_again_goes_on_with_the_answer():
    """A gateway that tried again in the middle: the cut call is never whole, what came after it counts."""
    once = [start(), *call_block(0, '{"a":', id="1", stop=False)]
    again = [start(id="msg_2"), *call_block(0, '{"a":1}', id="2"), *end("tool_use")]
    events, response = streamed(CLAUDE, stream(once, again))
    assert response.response_id == "msg_2"
    assert response.tool_calls == (ToolCall(id="1", name="find_order", invalid_arguments='{"a":'), call(id="2", a=1))
    assert [id for id, _, _ in calls_of(events)] == ["1", "2"]


def test_half_a_character_waits_for_its_other_half():
    pieces = [{"type": "text_delta", "text": piece} for piece in ("\ud83c", "\udf75", "\ud83c")]
    events, response = streamed(CLAUDE, stream(start(), block(0, said(""), *pieces), end()))
    assert response.content == text_of(events) == "🍵�"


def test_tool_names_of_the_wire_become_ours():
    tool = FIND.model_copy(update={"name": "shop.find"})
    request = make_request(HELLO, tools=(tool,))
    wire = json.loads(CLAUDE.request(request).body)["tools"][0]["name"]
    events, response = streamed(CLAUDE, stream(start(), call_block(0, "{}", name=wire), end()), request=request)
    assert response.tool_calls[0].name == calls_of(events)[0][1] == "shop.find"


def test_a_stop_reason_without_an_end_mark_is_an_end():
    assert streamed(CLAUDE, stream(start(), text_block(0, "Tea."), end()[0]))[1].content == "Tea."


def test_what_follows_the_end_mark_is_nothing():
    assert streamed(CLAUDE, stream(start(), text_block(0, "Tea."), end(), text_block(1, "More.")))[1].content == "Tea."


def test_a_stream_without_an_end_is_incomplete_and_keeps_what_came():
    data = stream(start(), text_block(0, "Tea."), call_block(1, '{"a":1', stop=False))
    partial = partial_of(CLAUDE, data, IncompleteStream)
    assert partial.content == "Tea."
    assert partial.tool_calls == (ToolCall(id="toolu_1", name="find_order", invalid_arguments='{"a":1'),)


def test_a_call_that_was_whole_when_the_stream_broke_is_whole():
    partial = partial_of(CLAUDE, stream(start(), call_block(0, '{"a":1}')), IncompleteStream)
    assert partial.tool_calls == (call(id="toolu_1", a=1),)


@pytest.mark.parametrize("data", [b"", b"\n\n", b": hi\n\n"])
def test_a_stream_of_nothing_is_incomplete(data):
    assert partial_of(CLAUDE, data, IncompleteStream) is None


def error(kind: str, text: str = "It went wrong.") -> dict:
    return event("error", error={"type": kind, "message": text})


def test_an_overload_in_the_middle_is_one_and_keeps_what_came():
    partial = partial_of(
        CLAUDE, stream(start(), text_block(0, "Tea."), error("overloaded_error", "Overloaded")), Overloaded
    )
    assert partial.content == "Tea."


def test_an_error_before_anything_has_no_partial_answer():
    assert partial_of(CLAUDE, stream(error("api_error")), ServerError) is None


def test_an_error_comes_after_the_events_before_it():
    decoder = CLAUDE.stream()
    events = decoder.feed(stream(start(), text_block(0, "Tea."), error("overloaded_error")))
    assert text_of(events) == "Tea."
    with pytest.raises(Overloaded):
        decoder.finish()


def test_an_event_that_is_no_json_is_an_error_that_keeps_what_came():
    data = stream(start(), text_block(0, "Tea.")) + b"event: content_block_delta\ndata: {oops\n\n"
    assert partial_of(CLAUDE, data, InvalidResponse).content == "Tea."


def test_a_whole_answer_although_a_stream_was_asked_for_is_read():
    events, response = streamed(CLAUDE, json.dumps(message("Tea.", used())).encode(), size=5)
    assert events == []
    assert response == answered(CLAUDE, message("Tea.", used()))


def test_a_refusal_in_the_middle_keeps_what_came_and_says_why():
    details = {"type": "refusal", "category": "bio", "explanation": "Not that."}
    response = streamed(CLAUDE, stream(start(), text_block(0, "First,"), end("refusal", stop_details=details)))[1]
    assert (response.content, response.refusal) == ("First,", "Not that.")
    assert response.finish_reason is FinishReason.REFUSAL


def test_thinking_without_readable_text_gives_no_events():
    hidden = block(0, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "c2ln"})
    events, response = streamed(CLAUDE, stream(start(), hidden, text_block(1, "Tea."), end()))
    assert reasoning_of(events) == ""
    assert response.reasoning is None
    assert response.provider_state is not None
