"""Whole answers of Ollama, and its errors."""

import json

import pytest

from llm_foundation.chat import FinishReason, Usage
from llm_foundation.exceptions import (
    AuthenticationFailed,
    ContextLengthExceeded,
    IncompleteStream,
    InvalidRequest,
    InvalidResponse,
    ModelNotFound,
    Overloaded,
    PermissionRefused,
    RateLimited,
    ServerError,
)
from tests.providers.builders import HELLO, answered, make_request
from tests.providers.ollama_builders import QWEN, called, line, make_ollama, read
from tests.providers.ollama_builders import assistant as spoken_by

OLLAMA = make_ollama()


def failing(status, body, headers=None):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the type is what is asserted
        OLLAMA.response(status, headers or {}, body if isinstance(body, bytes) else json.dumps(body).encode())
    return caught.value


def test_a_plain_answer():
    response = read(OLLAMA, "Hi", thinking="hm", prompt_eval_count=10, eval_count=5, prompt_eval_cached_count=8)
    assert (response.content, response.reasoning, response.model) == ("Hi", "hm", QWEN)
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.STOP, "stop")
    assert response.usage == Usage(input_tokens=10, output_tokens=5, cached_input_tokens=8)


def test_what_is_not_reported_is_not_zero():
    assert read(OLLAMA, "Hi").usage == Usage()


def test_calls_have_their_ids_or_ours_and_decide_about_the_reason():
    response = read(OLLAMA, "Let me see", calls=[called(id="call_a", n=1), called(), called(id=" ")])
    assert [call.arguments for call in response.tool_calls] == [{"n": 1}, {}, {}]
    first, second, third = (call.id for call in response.tool_calls)
    assert first == "call_a"
    assert second.startswith("call_")
    assert len({first, second, third}) == 3
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_CALLS, "stop")


@pytest.mark.parametrize(
    ("arguments", "decoded", "invalid"),
    [
        ({"a": 1}, {"a": 1}, None),
        ('{"a":1}', {"a": 1}, None),
        ("", {}, None),
        (None, {}, None),
        ("{", {}, "{"),
        ([1], {}, "[1]"),
    ],
)
def test_arguments_in_whatever_form(arguments, decoded, invalid):
    entry = {"function": {"name": "find_order", "arguments": arguments}}
    [call] = read(OLLAMA, calls=[entry]).tool_calls
    assert (call.arguments, call.invalid_arguments) == (decoded, invalid)


def test_an_id_that_the_conversation_has_already_is_replaced():
    asked = make_request(HELLO, read(OLLAMA, calls=[called(id="call_0")]).to_message())
    [again] = answered(OLLAMA, line(calls=[called(id="call_0")], done=True), request=asked).tool_calls
    assert again.id != "call_0"


def test_a_call_without_a_name_is_none_but_is_told():
    response = read(OLLAMA, "x", calls=[called(""), {"function": None}, 3])
    assert (response.tool_calls, response.finish_reason) == ((), FinishReason.STOP)
    assert response.metadata["calls_without_name"] == 3


def test_a_last_call_that_the_limit_may_have_cut_is_never_executed():
    response = read(OLLAMA, calls=[called(id="a", n=1), called(id="b", n=2)], reason="length")
    assert response.finish_reason is FinishReason.LENGTH
    assert [(call.arguments, call.invalid_arguments) for call in response.tool_calls] == [
        ({"n": 1}, None),
        ({}, '{"n": 2}'),
    ]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        (None, FinishReason.STOP),
        ("", FinishReason.STOP),
        ("tool_calls", FinishReason.STOP),
        ("quota", FinishReason.OTHER),
    ],
)
def test_why_it_stopped(reason, kind):
    response = read(OLLAMA, "x", reason=reason)
    assert (response.finish_reason, response.raw_finish_reason) == (kind, reason)


@pytest.mark.parametrize("reason", ["load", "unload"])
def test_an_answer_of_a_model_that_was_only_loaded_is_an_error(reason):
    assert "memory" in str(failing(200, line(done=True, reason=reason)))


def test_an_answer_that_is_not_done_is_incomplete():
    error = failing(200, line("half"))
    assert type(error) is IncompleteStream
    assert error.partial.content == "half"


def test_a_look_alike_need_not_say_that_it_is_done():
    assert answered(OLLAMA, {"message": spoken_by("Hi")}).content == "Hi"


def test_half_a_surrogate_pair_is_made_clean():
    assert read(OLLAMA, "a\ud83d").content == "a�"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (404, "model 'qwen9' not found", ModelNotFound),
        (400, "registry.ollama.ai/library/gemma2:2b does not support tools", InvalidRequest),
        (400, '"llama3.1:8b" does not support thinking', InvalidRequest),
        (400, "the input length exceeds the context length", ContextLengthExceeded),
        (400, "illegal base64 data at input byte 0", InvalidRequest),
        (401, "unauthorized", AuthenticationFailed),
        (403, "this model requires a subscription, upgrade for access", PermissionRefused),
        (429, "you've reached your hourly usage limit", RateLimited),
        (503, "server busy, please try again.  maximum pending requests exceeded", Overloaded),
        (500, "model runner has unexpectedly stopped, this may be due to resource limitations", ServerError),
        (500, "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input", InvalidResponse),
        (502, "upstream error", ServerError),
    ],
)
def test_errors_have_their_types(status, message, kind):
    error = failing(status, {"error": message})
    assert type(error) is kind
    assert message[:20] in str(error)
    assert (error.status, error.provider, error.model) == (status, "shop", QWEN)


def test_the_runners_own_error_inside_an_error_is_read():
    said = "request (2622 tokens) exceeds the available context size (512 tokens), try increasing it"
    inner = {"error": {"code": 400, "message": said, "type": "exceed_context_size_error", "n_ctx": 512}}
    error = failing(400, {"error": json.dumps(inner)})
    assert type(error) is ContextLengthExceeded
    assert error.message == said
    image = {"error": {"code": 400, "message": "Multimodal data provided", "type": "invalid_request_error"}}
    assert type(failing(400, {"error": json.dumps(image)})) is InvalidRequest


@pytest.mark.parametrize(
    "body",
    [b"", b"<html><title>502</title></html>", b"[]", b"3", b"null", b'{"done":true', b"{}", b'{"model":"x"}'],
)
def test_a_body_without_an_answer_is_an_error(body):
    assert isinstance(failing(200, body), InvalidResponse)


def test_an_error_with_status_200_is_an_error():
    assert type(failing(200, {"error": "model 'x' not found"})) is ModelNotFound


def test_no_error_holds_the_key():
    adapter = make_ollama(key="secret-key-123")
    with pytest.raises(AuthenticationFailed) as caught:
        adapter.response(401, {}, b'{"error":"bad key secret-key-123"}')
    assert "secret-key-123" not in str(caught.value)
