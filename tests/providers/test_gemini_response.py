"""Whole Gemini answers, as Google really sends them."""

import json

import pytest

from llm_foundation.chat import FinishReason, Usage
from llm_foundation.exceptions import (
    ContentRefused,
    IncompleteStream,
    InvalidRequest,
    InvalidResponse,
    Overloaded,
    PermissionRefused,
    RateLimited,
)
from tests.providers.builders import answered
from tests.providers.gemini_builders import answer, called, make_gemini, read, said, stream_of

ADAPTER = make_gemini()


def usage(**counts) -> Usage:
    return read(ADAPTER, said("x"), usageMetadata=counts).usage


def test_a_plain_answer():
    response = read(
        ADAPTER,
        said("12 × 12 …", thought=True),
        said("Hello"),
        said("!"),
        usageMetadata={
            "promptTokenCount": 12,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 20,
            "cachedContentTokenCount": 4,
            "totalTokenCount": 35,
        },
    )
    assert (response.content, response.reasoning) == ("Hello!", "12 × 12 …")
    assert response.tool_calls == ()
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.STOP, "STOP")
    assert response.usage == Usage(input_tokens=12, output_tokens=23, cached_input_tokens=4, reasoning_tokens=20)
    assert (response.model, response.response_id) == ("gemini-3", "r-1")
    assert (response.refusal, response.provider_state) == (None, None)
    assert response.metadata == {}


def test_calls_have_their_names_arguments_and_ids():
    response = read(ADAPTER, said("I look."), called(id="fc-1", number="1138"), called("refund", id="fc-2"))
    assert response.content == "I look."
    assert [(made.id, made.name, made.arguments) for made in response.tool_calls] == [
        ("fc-1", "find_order", {"number": "1138"}),
        ("fc-2", "refund", {}),
    ]
    assert response.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("id", [None, "", "  "])
def test_a_call_without_an_id_gets_one_of_ours(id):
    first, second = read(ADAPTER, called(id=id), called(id=id)).tool_calls
    assert first.id.startswith("call_")
    assert first.id != second.id


@pytest.mark.parametrize("args", [None, {}, ""])
def test_no_arguments_are_an_empty_object(args):
    [made] = read(ADAPTER, {"functionCall": {"name": "ping", "args": args}}).tool_calls
    assert (made.arguments, made.invalid_arguments) == ({}, None)
    [made] = read(ADAPTER, {"functionCall": {"name": "ping"}}).tool_calls
    assert (made.arguments, made.invalid_arguments) == ({}, None)


@pytest.mark.parametrize(("args", "raw"), [("{", "{"), ([1], "[1]"), (7, "7"), ("x", "x")])
def test_arguments_that_are_no_object_make_the_call_invalid(args, raw):
    [made] = read(ADAPTER, {"functionCall": {"name": "ping", "args": args}}).tool_calls
    assert (made.arguments, made.invalid_arguments) == ({}, raw)


def test_arguments_as_text_are_read():
    [made] = read(ADAPTER, {"functionCall": {"name": "ping", "args": '{"n": 1}'}}).tool_calls
    assert made.arguments == {"n": 1}


def test_a_call_without_a_name_is_not_a_call():
    response = read(ADAPTER, {"functionCall": {"args": {"a": 1}}}, {"functionCall": {}}, said("x"))
    assert response.tool_calls == ()
    assert response.metadata == {"calls_without_name": 1}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", FinishReason.STOP),
        (1, FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        (2, FinishReason.LENGTH),
        ("CONTINUATION", FinishReason.LENGTH),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        (3, FinishReason.CONTENT_FILTER),
        ("RECITATION", FinishReason.CONTENT_FILTER),
        ("PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
        ("SPII", FinishReason.CONTENT_FILTER),
        ("MODEL_ARMOR", FinishReason.CONTENT_FILTER),
        (10, FinishReason.CONTENT_FILTER),
        ("OTHER", FinishReason.OTHER),
        (5, FinishReason.OTHER),
        (0, FinishReason.OTHER),
        (99, FinishReason.OTHER),
        ("SOMETHING_NEW", FinishReason.OTHER),
    ],
)
def test_reasons_keep_their_own_words_or_numbers(raw, reason):
    response = read(ADAPTER, said("x"), finish=raw)
    assert (response.finish_reason, response.raw_finish_reason) == (reason, str(raw))


def test_a_filtered_answer_keeps_the_text_before_it_and_what_google_said():
    body = answer(said("half"), finish="SAFETY")
    body["candidates"][0]["finishMessage"] = "Hate speech."
    response = answered(ADAPTER, body)
    assert (response.content, response.finish_reason) == ("half", FinishReason.CONTENT_FILTER)
    assert response.metadata == {"finish_message": "Hate speech."}


def test_a_filtered_answer_may_have_no_content_at_all():
    response = answered(ADAPTER, {"candidates": [{"finishReason": "MODEL_ARMOR"}]})
    assert (response.content, response.finish_reason) == ("", FinishReason.CONTENT_FILTER)


def test_thinking_that_used_up_the_tokens_is_truncated_not_ended():
    body = {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}
    response = answered(ADAPTER, body | {"usageMetadata": {"promptTokenCount": 15, "thoughtsTokenCount": 2}})
    assert (response.content, response.finish_reason) == ("", FinishReason.LENGTH)
    assert response.usage == Usage(input_tokens=15, output_tokens=2, reasoning_tokens=2)


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "SAFETY"])
def test_a_call_at_which_the_answer_was_cut_off_is_never_executed(finish):
    response = read(ADAPTER, called(number="1138"), called("refund", amount=1), finish=finish)
    first, second = response.tool_calls
    assert (first.arguments, first.invalid_arguments) == ({"number": "1138"}, None)
    assert (second.arguments, second.invalid_arguments) == ({}, '{"amount": 1}')


def test_a_call_that_something_follows_was_whole_when_the_answer_was_cut_off():
    [made] = read(ADAPTER, called(number="1138"), said("And n"), finish="MAX_TOKENS").tool_calls
    assert made.arguments == {"number": "1138"}


@pytest.mark.parametrize("finish", ["UNEXPECTED_TOOL_CALL", 15])
def test_a_call_of_a_tool_that_is_not_on_offer_can_be_answered(finish):
    response = read(ADAPTER, called("list_files"), finish=finish)
    assert [made.name for made in response.tool_calls] == ["list_files"]
    assert response.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("finish", "problem"),
    [
        ("MALFORMED_FUNCTION_CALL", "made a call that cannot be read"),
        (9, "made a call that cannot be read"),
        ("MALFORMED_RESPONSE", "made an answer that cannot be read"),
        ("UNEXPECTED_TOOL_CALL", "called a tool that was not on offer"),
        ("TOO_MANY_TOOL_CALLS", "did not come to an end"),
    ],
)
def test_what_the_model_got_wrong_is_an_answer_that_cannot_be_read(finish, problem):
    body = answer(said("I will"), finish=finish, usageMetadata={"promptTokenCount": 3})
    body["candidates"][0]["finishMessage"] = "Malformed function call: print(default_api.x("
    with pytest.raises(InvalidResponse, match=problem) as caught:
        answered(ADAPTER, body)
    assert caught.value.retryable
    partial = caught.value.partial
    assert (partial.content, partial.finish_reason, partial.usage.input_tokens) == ("I will", FinishReason.ERROR, 3)
    assert partial.metadata == {"finish_message": "Malformed function call: print(default_api.x("}


def test_an_answer_that_fails_and_cannot_be_put_together_either_is_told_without_it():
    with pytest.raises(InvalidResponse, match="a call that cannot be read") as caught:
        read(ADAPTER, called(n=10**4000), finish="MALFORMED_FUNCTION_CALL")
    assert caught.value.partial is None


@pytest.mark.parametrize(
    ("finish", "kind"), [("MISSING_THOUGHT_SIGNATURE", InvalidRequest), ("PUP_LIMITED_DISABLED", PermissionRefused)]
)
def test_reasons_that_are_errors_are_raised_as_those(finish, kind):
    with pytest.raises(kind, match=finish):
        read(ADAPTER, finish=finish)


@pytest.mark.parametrize("candidates", [{}, {"candidates": []}])
def test_a_prompt_that_was_blocked_is_content_that_was_refused(candidates):
    body = {
        "promptFeedback": {"blockReason": "MODEL_ARMOR", "blockReasonMessage": "Prompt injection."},
        "usageMetadata": {"promptTokenCount": 9},
        **candidates,
    }
    with pytest.raises(ContentRefused, match=r"the prompt was blocked: MODEL_ARMOR Prompt injection\.") as caught:
        answered(ADAPTER, body)
    partial = caught.value.partial
    assert (partial.finish_reason, partial.raw_finish_reason) == (FinishReason.CONTENT_FILTER, "blocked:MODEL_ARMOR")
    assert partial.usage.input_tokens == 9


def test_feedback_beside_an_answer_is_no_block():
    assert read(ADAPTER, said("x"), promptFeedback={"blockReason": "SAFETY"}).content == "x"
    assert read(ADAPTER, said("x"), promptFeedback={"safetyRatings": []}).content == "x"


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, Usage()),
        ({"trafficType": "ON_DEMAND"}, Usage()),
        ({"promptTokenCount": 0}, Usage(input_tokens=0)),
        ({"promptTokenCount": 9, "toolUsePromptTokenCount": 5}, Usage(input_tokens=14)),
        ({"candidatesTokenCount": 2}, Usage(output_tokens=2)),
        ({"thoughtsTokenCount": 7}, Usage(output_tokens=7, reasoning_tokens=7)),
        ({"candidatesTokenCount": -3, "thoughtsTokenCount": 7}, Usage(output_tokens=7, reasoning_tokens=7)),
        ({"promptTokenCount": "9", "candidatesTokenCount": True}, Usage()),
    ],
)
def test_thinking_joins_the_output_and_what_tools_fed_back_the_input(counts, expected):
    assert usage(**counts) == expected


def test_of_several_candidates_the_first_counts_and_the_others_are_counted():
    body = answer(said("first"))
    body["candidates"].append({"index": 1, "content": {"parts": [said("second")]}, "finishReason": "STOP"})
    response = answered(ADAPTER, body)
    assert (response.content, response.metadata) == ("first", {"other_candidates": 1})


def test_sources_are_kept_beside_the_answer():
    body = answer(said("x"))
    body["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["tea"]}
    assert answered(ADAPTER, body).metadata == {"groundingMetadata": {"webSearchQueries": ["tea"]}}


def test_what_is_no_text_is_told_of():
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    output = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}
    assert read(ADAPTER, code, output, said("2")).metadata == {"other_parts": ["executableCode", "codeExecutionResult"]}


@pytest.mark.parametrize(
    "part",
    [
        {},
        7,
        None,
        {"text": 7},
        {"text": "x", "functionCall": {"name": "y"}},
        {"functionCall": "x"},
        {"functionCall": {"name": 7}},
        {"functionCall": {"name": "x", "id": 7}},
        {"text": "x", "thoughtSignature": 7},
        {"text": "x", "thought": "yes"},
        {"somethingNew": {}},
        {"functionResponse": {"name": "x", "response": {}}},
    ],
)
def test_what_is_no_part_is_passed_over_and_counted(part):
    response = read(ADAPTER, part, said("fine"))
    assert (response.content, response.tool_calls, response.metadata) == ("fine", (), {"unread_parts": 1})


def test_a_stream_that_came_as_a_list_of_chunks_is_read():
    body = [answer(said("Hel"), finish=None), answer(said("lo"), usageMetadata={"promptTokenCount": 3})]
    response = answered(ADAPTER, body)
    assert (response.content, response.usage.input_tokens) == ("Hello", 3)


def test_a_list_of_chunks_without_an_end_is_incomplete():
    with pytest.raises(IncompleteStream) as caught:
        answered(ADAPTER, [answer(said("Hel"), called(n=1), finish=None)])
    assert caught.value.partial.content == "Hel"
    assert caught.value.partial.tool_calls[0].invalid_arguments == '{"n": 1}'


def test_an_error_in_a_list_of_chunks_keeps_what_came_before():
    body = [answer(said("Hel"), finish=None), {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]
    with pytest.raises(Overloaded) as caught:
        answered(ADAPTER, body)
    assert caught.value.partial.content == "Hel"


def test_a_server_that_streams_unasked_is_read():
    assert answered(ADAPTER, stream_of(answer(said("x")))).content == "x"


@pytest.mark.parametrize(
    "body",
    [b"", b" \n", b"null", b"[]", b"{}", b"[1]", b'"text"', b"7", b"{", b'{"candidates":[]}', b'{"candidates":[{}]}'],
)
def test_a_body_without_an_answer_is_a_typed_error(body):
    with pytest.raises(InvalidResponse):
        answered(ADAPTER, body)


def test_numbers_that_json_cannot_say_are_a_typed_error():
    with pytest.raises(InvalidResponse):
        answered(ADAPTER, json.dumps(answer(called(n=float("nan")))).encode())


def test_a_200_that_holds_an_error_is_an_error():
    with pytest.raises(RateLimited):
        answered(ADAPTER, {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}})
