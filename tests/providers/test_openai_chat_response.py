"""Whole answers, as providers really send them."""

import json

import pytest

from llm_foundation.chat import FinishReason, Usage
from llm_foundation.exceptions import ContentRefused, InvalidResponse, Overloaded, RateLimited, ServerError
from tests.providers.builders import answered, completion, function, make_adapter

ADAPTER = make_adapter()


def read(message, **kwargs):
    return answered(ADAPTER, completion(message, **kwargs))


def usage(**counts) -> Usage:
    return read({"content": "x"}, usage=counts).usage


def test_a_plain_answer():
    response = read(
        {"content": "Hello!", "refusal": None},
        usage={
            "prompt_tokens": 12,
            "completion_tokens": 30,
            "total_tokens": 42,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
    )
    assert response.content == "Hello!"
    assert response.tool_calls == ()
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.STOP, "stop")
    assert response.usage == Usage(input_tokens=12, output_tokens=30, cached_input_tokens=4, reasoning_tokens=20)
    assert (response.model, response.response_id) == ("gpt-4o", "c-1")
    assert (response.reasoning, response.refusal, response.provider_state) == (None, None, None)
    assert response.metadata == {}


def test_leading_white_space_is_padding_of_a_slow_gateway():
    body = b" \n \n\n" + json.dumps(completion({"content": "x"})).encode()
    assert answered(ADAPTER, body).content == "x"


def test_a_byte_order_mark_is_no_content():
    assert answered(ADAPTER, b"\xef\xbb\xbf" + json.dumps(completion({"content": "x"})).encode()).content == "x"


@pytest.mark.parametrize("content", ["", None])
def test_an_answer_may_be_empty(content):
    assert read({"content": content}).content == ""


def test_content_may_be_a_list_of_chunks():
    response = read(
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "12 × 12 "}, {"type": "text", "text": "…"}]},
                {"type": "text", "text": "14"},
                {"type": "reference", "reference_ids": [1]},
                {"type": "text", "text": "4"},
            ]
        }
    )
    assert (response.content, response.reasoning) == ("144", "12 × 12 …")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_has_several_names(field):
    assert read({"content": "x", field: "hm"}).reasoning == "hm"


def test_thinking_that_is_said_twice_counts_once():
    details = [{"type": "reasoning.text", "text": "hm", "index": 0}]
    assert read({"content": "x", "reasoning": "hm", "reasoning_details": details}).reasoning == "hm"


def test_thinking_that_stands_in_details_only_can_be_read():
    details = [{"type": "reasoning.summary", "summary": "I think"}, {"type": "reasoning.encrypted", "data": "gAAA"}]
    assert read({"content": "x", "reasoning": None, "reasoning_details": details}).reasoning == "I think"


def test_a_refusal_is_no_content():
    response = read({"content": None, "refusal": "I will not."})
    assert (response.content, response.refusal, response.finish_reason) == ("", "I will not.", FinishReason.REFUSAL)
    assert response.to_message().content == "I will not."


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("eos", FinishReason.STOP),
        ("end_turn", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("model_length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("insufficient_system_resource", FinishReason.ERROR),
        ("tool_calls", FinishReason.STOP),
        ("something_new", FinishReason.OTHER),
        ("", FinishReason.OTHER),
    ],
)
def test_reasons_keep_their_own_words(raw, reason):
    response = read({"content": "x"}, finish=raw)
    assert (response.finish_reason, response.raw_finish_reason) == (reason, raw)


def test_a_reason_may_be_a_number_or_missing():
    assert read({"content": "x"}, finish=1).raw_finish_reason == "1"
    assert read({"content": "x"}, finish=None).raw_finish_reason is None


@pytest.mark.parametrize("raw", ["stop", "tool_calls", "function_call", "", None])
def test_the_calls_decide_whether_a_turn_has_calls(raw):
    response = read({"content": None, "tool_calls": [function("find_order", "{}", id="a")]}, finish=raw)
    assert response.finish_reason is FinishReason.TOOL_CALLS
    assert response.has_tool_calls


def test_thinking_that_used_up_the_tokens_is_truncated_not_ended():
    response = read({"content": "", "reasoning_content": "hm, so"}, finish="length")
    assert (response.content, response.finish_reason) == ("", FinishReason.LENGTH)


def test_a_choice_without_a_message_is_what_the_filter_left():
    body = {"choices": [{"index": 0, "finish_reason": "content_filter", "content_filter_results": {}}]}
    response = answered(ADAPTER, body)
    assert (response.content, response.finish_reason) == ("", FinishReason.CONTENT_FILTER)


def test_of_several_choices_the_first_counts_and_the_others_are_counted():
    body = completion({"content": "first"})
    body["choices"].append({"index": 1, "message": {"content": "second"}, "finish_reason": "stop"})
    response = answered(ADAPTER, body)
    assert (response.content, response.metadata) == ("first", {"other_choices": 1})


def test_sources_are_kept_beside_the_answer():
    cited = [{"type": "url_citation", "url_citation": {"url": "https://shop.example"}}]
    response = read({"content": "x", "annotations": cited}, citations=["https://shop.example"])
    assert response.metadata == {"annotations": cited, "citations": ["https://shop.example"]}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, Usage()),
        ({"prompt_tokens": None, "completion_tokens": None}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(input_tokens=0, output_tokens=0)),
        ({"prompt_tokens": 5.0, "completion_tokens": "7"}, Usage(input_tokens=5)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 9, "cached_tokens": 3}, Usage(input_tokens=9, cached_input_tokens=3)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 3}, Usage(input_tokens=9, cached_input_tokens=3)),
        (
            {"prompt_tokens": 9, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2},
            Usage(input_tokens=9, cached_input_tokens=3, cache_write_tokens=2),
        ),
        ({"input_tokens": 9, "output_tokens": 2}, Usage(input_tokens=9, output_tokens=2)),
    ],
)
def test_usage_has_many_forms_and_not_reported_is_not_zero(counts, expected):
    assert usage(**counts) == expected


def test_thinking_that_is_counted_beside_the_completion_joins_the_output():
    thought = {"completion_tokens_details": {"reasoning_tokens": 290}}
    assert usage(prompt_tokens=12, completion_tokens=1, total_tokens=303, **thought).output_tokens == 291
    assert usage(prompt_tokens=12, completion_tokens=300, total_tokens=312, **thought).output_tokens == 300


@pytest.mark.parametrize(
    "body", [b"", b"  \n", b"null", b"[]", b"{}", b"[1]", b'"text"', b"7", b"{", b'{"choices":[]}']
)
def test_a_body_without_an_answer_is_a_typed_error(body):
    with pytest.raises(InvalidResponse):
        answered(ADAPTER, body)


def test_an_html_page_with_status_200_is_a_typed_error():
    with pytest.raises(InvalidResponse, match="no answer in this format"):
        answered(ADAPTER, b"<html><body>Welcome</body></html>")


def test_endless_nesting_is_a_typed_error():
    with pytest.raises(InvalidResponse):
        answered(ADAPTER, b"[" * 200_000)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "slow down", "code": 429}}, RateLimited),
        ({"error": {"message": "busy", "code": "503"}, "choices": []}, Overloaded),
        ({"error": {"message": "filtered", "status": 400, "code": "content_filter"}}, ContentRefused),
        ({"error": "something broke"}, ServerError),
        ({"object": "error", "message": "something broke"}, ServerError),
        ([{"error": {"message": "x", "status": "RESOURCE_EXHAUSTED", "code": 429}}], RateLimited),
    ],
)
def test_a_200_that_holds_an_error_is_an_error(body, kind):
    with pytest.raises(kind):
        answered(ADAPTER, body)


def test_an_empty_error_beside_an_answer_is_none():
    assert read({"content": "x"}, error=None).content == "x"


def test_an_error_in_the_choice_is_an_error():
    body = completion({"content": "half an ans"}, finish="error")
    body["choices"][0]["error"] = {"code": 502, "message": "upstream broke"}
    with pytest.raises(ServerError, match=r"status 502.*upstream broke"):
        answered(ADAPTER, body)


def test_a_finish_reason_error_keeps_the_text():
    with pytest.raises(InvalidResponse, match="stopped with an error") as caught:
        read({"content": "half an ans"}, finish="error")
    assert caught.value.partial is not None
    assert caught.value.partial.content == "half an ans"


def test_a_server_that_streams_unasked_is_read():
    body = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    assert answered(ADAPTER, body).content == "x"


def test_lone_surrogates_are_replaced():
    assert read({"content": "a\ud83d"}).content == "a\ufffd"
