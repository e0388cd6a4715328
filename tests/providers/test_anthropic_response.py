"""Whole answers of the Messages API."""

import pytest

from llm_foundation.chat import ChatMessage, FinishReason, ToolCall, Usage
from llm_foundation.exceptions import InvalidResponse, ProviderError
from tests.providers.anthropic_builders import (
    FOUND,
    REDACTED,
    SEARCH,
    THOUGHT,
    as_stream,
    make_claude,
    message,
    said,
    used,
)
from tests.providers.builders import HELLO, answered, call, make_request

CLAUDE = make_claude()


def test_a_plain_answer():
    response = answered(CLAUDE, message("Tea."))
    assert response.content == "Tea."
    assert response.finish_reason is FinishReason.STOP
    assert response.raw_finish_reason == "end_turn"
    assert (response.model, response.response_id) == ("claude", "msg_1")
    assert (response.reasoning, response.refusal, response.provider_state) == (None, None, None)
    assert response.metadata == {}


def test_text_calls_and_thinking_in_their_order():
    response = answered(CLAUDE, message(THOUGHT, REDACTED, "I look. ", used(number="7"), "Wait.", used(id="toolu_2")))
    assert response.content == "I look. Wait."
    assert response.reasoning == "I look."
    assert response.tool_calls == (call(id="toolu_1", number="7"), call(id="toolu_2"))
    assert response.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("tool_use", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("pause_turn", FinishReason.PAUSE),
        ("refusal", FinishReason.REFUSAL),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("of_tomorrow", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_why_an_answer_without_calls_ended(stop, expected):
    response = answered(CLAUDE, message("Tea.", stop=stop))
    assert (response.finish_reason, response.raw_finish_reason) == (expected, stop)


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "tool_use", "pause_turn", "of_tomorrow", None])
def test_the_calls_decide_whether_a_turn_has_calls(stop):
    assert answered(CLAUDE, message(used(), stop=stop)).finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_a_last_call_that_a_limit_may_have_cut_off_is_never_whole(stop):
    response = answered(CLAUDE, message(used(id="1", number="7"), used(id="2", number="8"), stop=stop))
    assert response.tool_calls == (
        call(id="1", number="7"),
        ToolCall(id="2", name="find_order", invalid_arguments='{"number": "8"}'),
    )


def test_a_call_before_text_that_a_limit_cut_off_is_whole():
    response = answered(CLAUDE, message(used(number="7"), "I wa", stop="max_tokens"))
    assert response.tool_calls == (call(id="toolu_1", number="7"),)
    assert response.finish_reason is FinishReason.LENGTH


def test_what_is_no_object_is_an_invalid_call():
    response = answered(CLAUDE, message({"type": "tool_use", "id": "1", "name": "a", "input": [7]}))
    assert response.tool_calls == (ToolCall(id="1", name="a", invalid_arguments="[7]"),)


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_no_input_means_no_arguments(nothing):
    response = answered(CLAUDE, message({"type": "tool_use", "id": "1", "name": "a", "input": nothing}))
    assert response.tool_calls == (ToolCall(id="1", name="a"),)


def test_a_call_without_a_name_is_none():
    response = answered(CLAUDE, message("Tea.", {"type": "tool_use", "id": "1", "input": {"a": 1}}))
    assert response.tool_calls == ()
    assert response.metadata == {"calls_without_name": 1}


def test_missing_blank_and_repeated_ids_become_ours():
    request = make_request(HELLO, ChatMessage.assistant_tool_calls([call(id="taken")]))
    calls = [
        {"type": "tool_use", "name": "a", "input": {}},
        used("b", id=" "),
        used("c", id="taken"),
        used("d", id="1"),
    ]
    ids = [made.id for made in answered(CLAUDE, message(*calls), request=request).tool_calls]
    assert len(set(ids)) == 4
    assert [id.startswith("call_") for id in ids] == [True, True, True, False]


def test_a_refusal_says_why_where_the_provider_does():
    details = {"type": "refusal", "category": "cyber", "explanation": "Not that."}
    response = answered(CLAUDE, message(stop="refusal", stop_details=details))
    assert (response.refusal, response.content) == ("Not that.", "")
    assert response.metadata == {"stop_details": details}
    assert response.to_message().text == "Not that."
    assert answered(CLAUDE, message(stop="refusal", stop_details=None)).refusal is None


def test_a_stop_sequence_is_told():
    response = answered(CLAUDE, message("Tea", stop="stop_sequence", stop_sequence="END"))
    assert response.metadata == {"stop_sequence": "END"}


def test_what_text_cites_and_what_server_tools_were_used_for_is_told():
    cited = {"type": "web_search_result_location", "url": "https://tea.example", "cited_text": "Tea"}
    usage = {
        "input_tokens": 5,
        "output_tokens": 7,
        "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
    }
    text = {"type": "text", "text": "Tea.", "citations": [cited]}
    response = answered(CLAUDE, message(SEARCH, FOUND, text, usage=usage))
    assert response.metadata == {"citations": [cited], "server_tool_use": {"web_search_requests": 1}}


def test_input_holds_what_the_cache_gave_and_took():
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
    }
    assert answered(CLAUDE, message("Tea.", usage=usage)).usage == Usage(
        input_tokens=125, output_tokens=7, cached_input_tokens=100, cache_write_tokens=20, reasoning_tokens=3
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"output_tokens": 7}, Usage(output_tokens=7)),
        ({"input_tokens": None, "cache_read_input_tokens": 4}, Usage(cached_input_tokens=4)),
        ({"input_tokens": 0, "output_tokens": 0}, Usage(input_tokens=0, output_tokens=0)),
        ({"input_tokens": "5", "output_tokens": -1}, Usage()),
        ({"input_tokens": True, "output_tokens": 7.0}, Usage(output_tokens=7)),
    ],
)
def test_what_is_not_counted_is_not_zero(usage, expected):
    assert answered(CLAUDE, message("Tea.", usage=usage)).usage == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"no json",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'{"type":"message"}',
        b'{"content":"Tea."}',
        b'{"content":null}',
    ],
)
def test_a_body_without_sense_is_an_invalid_response(body):
    with pytest.raises(InvalidResponse):
        answered(CLAUDE, body)


def test_white_space_and_a_mark_before_the_body_do_not_matter():
    assert answered(CLAUDE, b"\xef\xbb\xbf \n" + b'{"content":[{"type":"text","text":"Tea."}]}').content == "Tea."


def test_a_stream_that_nobody_asked_for_is_read():
    assert answered(CLAUDE, as_stream(message("Tea.", used()))) == answered(CLAUDE, message("Tea.", used()))


def test_an_error_in_an_answer_of_status_200_is_an_error():
    with pytest.raises(ProviderError, match="went wrong"):
        answered(CLAUDE, {"type": "error", "error": {"type": "api_error", "message": "It went wrong."}})


def test_blocks_that_have_no_shape_are_passed_over():
    odd = [
        None,
        7,
        "text",
        {},
        {"type": None},
        {"type": ["text"]},
        {"type": "text"},
        {"type": "thinking", "thinking": 3},
    ]
    assert (
        answered(CLAUDE, message(*[entry for entry in odd if not isinstance(entry, str)], said("Tea."))).content
        == "Tea."
    )
