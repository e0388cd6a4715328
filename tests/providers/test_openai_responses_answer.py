"""Whole Responses answers, as OpenAI and others send them."""

import re

import pytest

from llm_foundation.chat import ChatMessage, FinishReason, Usage
from llm_foundation.exceptions import (
    ContentRefused,
    IncompleteStream,
    InvalidRequest,
    InvalidResponse,
    RateLimited,
    ServerError,
)
from tests.providers.builders import FIND, HELLO, answered, call, make_request, sent
from tests.providers.responses_builders import called, end, events, output, responses_adapter, said, thought, written

ADAPTER = responses_adapter()
OWN_ID = re.compile(r"call_[0-9a-f]{24}")


def test_a_plain_answer():
    usage = {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 5},
        "output_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 8},
        "total_tokens": 42,
    }
    response = answered(ADAPTER, output(thought(summary=("I look.", "I see.")), said("Hello!"), usage=usage))
    assert (response.content, response.reasoning) == ("Hello!", "I look.\nI see.")
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.STOP, "completed")
    assert (response.model, response.response_id) == ("gpt-5-2025-08-07", "resp_1")
    assert response.usage == Usage(
        input_tokens=30, output_tokens=12, cached_input_tokens=20, cache_write_tokens=5, reasoning_tokens=8
    )


def test_text_beside_parallel_calls():
    calls = [called("find_order", '{"number":"1"}', call_id="call_a"), called("find_order", "", call_id="call_b")]
    response = answered(ADAPTER, output(said("I look."), *calls))
    assert response.content == "I look."
    assert [(made.id, made.name, made.arguments) for made in response.tool_calls] == [
        ("call_a", "find_order", {"number": "1"}),
        ("call_b", "find_order", {}),
    ]
    assert response.finish_reason is FinishReason.TOOL_CALLS


def test_all_messages_of_an_answer_are_its_text():
    phases = [said("Let me see. ", phase="commentary"), said("It is 4.", id="msg_2", phase="final_answer")]
    assert answered(ADAPTER, output(*phases)).content == "Let me see. It is 4."


def test_reasoning_that_is_not_encrypted_is_read():
    open_thought = thought(content=[{"type": "reasoning_text", "text": "hm"}])
    assert answered(ADAPTER, output(open_thought, said("x"))).reasoning == "hm"


def test_a_message_may_be_a_plain_string():
    assert answered(ADAPTER, output({"type": "message", "role": "assistant", "content": "x"})).content == "x"


def test_what_others_said_is_not_the_answer():
    compacted = {"id": "msg_0", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    assert answered(ADAPTER, output(compacted, said("x"))).content == "x"


def test_a_refusal_is_no_text():
    refusal = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "No."}],
    }
    response = answered(ADAPTER, output(refusal))
    assert (response.content, response.refusal, response.finish_reason) == ("", "No.", FinishReason.REFUSAL)
    assert response.to_message().text == "No."


@pytest.mark.parametrize(
    ("envelope", "reason"),
    [
        ({"incomplete_details": {"reason": "max_output_tokens"}}, FinishReason.LENGTH),
        ({"incomplete_details": {"reason": "content_filter"}}, FinishReason.CONTENT_FILTER),
        ({"incomplete_details": None}, FinishReason.LENGTH),
        ({}, FinishReason.LENGTH),
    ],
)
def test_an_incomplete_answer_is_a_truncation(envelope, reason):
    response = answered(ADAPTER, output(said("half"), status="incomplete", **envelope))
    assert (response.content, response.finish_reason, response.raw_finish_reason) == ("half", reason, "incomplete")


def test_thinking_that_used_the_whole_budget_is_a_truncation():
    cut = output(thought(), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    response = answered(ADAPTER, cut)
    assert (response.content, response.finish_reason) == ("", FinishReason.LENGTH)
    assert response.metadata["incomplete_reason"] == "max_output_tokens"


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled", "heard_of_never", None])
def test_a_status_that_is_no_end_is_kept_as_it_is(status):
    response = answered(ADAPTER, output(said("x"), status=status))
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.OTHER, status)


def test_a_call_that_the_limit_cut_is_never_executed():
    whole = called("refund", '{"n":1}', call_id="a")
    cut = called("refund", '{"n":', call_id="b", status="incomplete")
    bare = called("refund", "", call_id="c", status="incomplete")
    calls = answered(ADAPTER, output(whole, cut, bare, status="incomplete")).tool_calls
    assert [made.invalid_arguments for made in calls] == [None, '{"n":', ""]


def test_free_text_is_never_read_as_json():
    [made] = answered(ADAPTER, output(written("write_sql", '{"a": 1}'))).tool_calls
    assert (made.name, made.arguments, made.invalid_arguments) == ("write_sql", {"input": '{"a": 1}'}, None)


def test_free_text_that_may_be_cut_is_invalid():
    cut = written("write_sql", "DELETE FROM orders") | {"status": "incomplete"}
    [made] = answered(ADAPTER, output(cut, status="incomplete")).tool_calls
    assert made.invalid_arguments == "DELETE FROM orders"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [('{"n": 1}', {"n": 1}), ({"n": 1}, {"n": 1}), ("  ", {}), (None, {}), ('{"n": "a\nb"}', {"n": "a\nb"})],
)
def test_arguments_in_all_their_forms(arguments, expected):
    [made] = answered(ADAPTER, output(called(arguments=arguments))).tool_calls
    assert (made.arguments, made.invalid_arguments) == (expected, None)


def test_arguments_that_are_no_object_are_kept_as_they_came():
    [made] = answered(ADAPTER, output(called(arguments="[1"))).tool_calls
    assert (made.arguments, made.invalid_arguments) == ({}, "[1")


@pytest.mark.parametrize("id", ["", "  ", None])
def test_a_call_without_an_id_gets_one_of_ours(id):
    [made] = answered(ADAPTER, output(called() | {"call_id": id})).tool_calls
    assert OWN_ID.fullmatch(made.id)


def test_the_id_of_the_item_is_not_the_id_of_the_call():
    assert answered(ADAPTER, output(called(call_id="call_x", id="fc_9"))).tool_calls[0].id == "call_x"


def test_ids_are_unique_in_the_conversation():
    asked = make_request(HELLO, ChatMessage.assistant_tool_calls([call(id="call_0")]))
    first, second = answered(
        ADAPTER, output(called(call_id="call_0"), called(call_id="call_1")), request=asked
    ).tool_calls
    assert OWN_ID.fullmatch(first.id)
    assert second.id == "call_1"


def test_a_call_without_a_name_is_not_a_call():
    response = answered(ADAPTER, output(called(""), said("x")))
    assert (response.tool_calls, response.finish_reason) == ((), FinishReason.STOP)
    assert response.metadata["calls_without_name"] == 1


def test_our_own_names_come_back():
    tool = FIND.model_copy(update={"name": "shop.find/order"})
    wire = sent(ADAPTER, make_request(tools=(tool,)))["tools"][0]["name"]
    response = answered(ADAPTER, output(called(wire)), request=make_request(tools=(tool,)))
    assert response.tool_calls[0].name == "shop.find/order"


def test_what_built_in_tools_did_and_found_is_told_beside_the_text():
    note = {"type": "url_citation", "url": "https://shop.example", "title": "Shop", "start_index": 0, "end_index": 1}
    cited = said("x")
    cited["content"][0]["annotations"] = [note]
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search"}}
    response = answered(ADAPTER, output(search, cited))
    assert response.metadata == {"annotations": [note], "built_in_tools": ["web_search_call"]}


def test_a_failed_answer_is_an_error_that_keeps_what_came():
    failed = output(said("half"), status="failed", error={"code": "rate_limit_exceeded", "message": "Slow down."})
    with pytest.raises(RateLimited, match="Slow down") as caught:
        answered(ADAPTER, failed)
    assert caught.value.partial.content == "half"


def test_a_failure_without_a_reason_is_the_servers():
    with pytest.raises(ServerError):
        answered(ADAPTER, output(status="failed"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "no", "type": "invalid_request_error"}}, InvalidRequest),
        ({"error": {"message": "no"}}, ServerError),
        ({"error": {"message": "flagged", "code": "content_policy_violation"}}, ContentRefused),
        ({"error": {"message": "no", "code": 400}}, InvalidRequest),
        ({"message": "no"}, ServerError),
        ({}, InvalidResponse),
        ([], InvalidResponse),
        ({"choices": []}, InvalidResponse),
        (b"", InvalidResponse),
        (b"<html>", InvalidResponse),
    ],
)
def test_an_error_or_nonsense_in_an_answer_of_status_200_is_an_error(body, kind):
    with pytest.raises(kind) as caught:
        answered(ADAPTER, body)
    assert type(caught.value) is kind


def test_encrypted_context_of_somebody_else_is_a_wrong_request():
    body = b'{"error":{"message":"The encrypted content could not be verified.","code":"invalid_encrypted_content"}}'
    with pytest.raises(InvalidRequest) as caught:
        ADAPTER.response(400, {}, body)
    assert not caught.value.retryable


def test_a_stream_that_nobody_asked_for_is_read():
    assert answered(ADAPTER, events(end(said("x")))).content == "x"
    with pytest.raises(IncompleteStream):
        answered(ADAPTER, events(("created", {"response": output(status="in_progress")})))


def test_half_a_surrogate_pair_is_replaced():
    assert answered(ADAPTER, output(said("a\ud83d"))).content == "a\ufffd"
