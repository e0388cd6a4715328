"""Errors for the person who has to act: what happened, to what, and what to do; never a key."""

import copy
import pickle
from datetime import UTC, datetime

import pytest

from llm_foundation import exceptions
from llm_foundation.chat import ChatMessage, CompletionResponse, ToolCall
from llm_foundation.exceptions import (
    AlreadyDecided,
    AnswerTruncated,
    AuthenticationFailed,
    ConnectionFailed,
    ContextLengthExceeded,
    DecisionExpired,
    DecisionNotPermitted,
    IncompleteStream,
    InvalidArguments,
    InvalidEdit,
    InvalidInput,
    InvalidMessage,
    InvalidProviderState,
    InvalidResponse,
    LLMFoundationError,
    ProviderError,
    ProviderStateError,
    RateLimited,
    TimedOut,
    ToolApprovalRequired,
)

FACTS = {"provider": "openai-prod", "model": "gpt-5", "status": 429, "request_id": "req_1"}


def every_error():
    values = vars(exceptions).values()
    return [value for value in values if isinstance(value, type) and issubclass(value, Exception)]


def provider_errors():
    return sorted((kind for kind in every_error() if issubclass(kind, ProviderError)), key=lambda kind: kind.__name__)


def test_one_except_catches_all_that_is_raised_on_purpose():
    assert [kind for kind in every_error() if not issubclass(kind, LLMFoundationError)] == []


def test_the_tree_at_the_top_of_the_file_names_every_error():
    assert [kind.__name__ for kind in every_error() if kind.__name__ not in exceptions.__doc__] == []


def test_an_invalid_message_names_its_field():
    error = InvalidMessage("must be a string", field="content")
    assert str(error) == "content: must be a string"
    assert isinstance(error, ValueError)


def test_the_path_grows_from_the_inside_out():
    error = InvalidMessage("is missing", field="text").inside("content[0]").inside("messages[2]")
    assert error.field == "messages[2].content[0].text"
    assert InvalidMessage("is missing", field="[3]").inside("content").field == "content[3]"


def test_provider_state_errors_have_one_text():
    assert str(ProviderStateError()) == (
        "The stored provider context of this conversation cannot be replayed; nothing was sent."
    )
    error = InvalidProviderState(field="provider_state")
    assert isinstance(error, InvalidMessage)
    assert isinstance(error, ProviderStateError)
    assert str(error) == f"provider_state: {ProviderStateError()}"


@pytest.mark.parametrize("kind", provider_errors())
def test_a_provider_error_says_provider_model_status_and_request(kind):
    error = kind("too many", **FACTS)
    for fact in ("'openai-prod'", "'gpt-5'", "429", "req_1", "too many", kind.what):
        assert fact in str(error)
    assert (error.provider, error.model, error.status, error.request_id) == ("openai-prod", "gpt-5", 429, "req_1")
    assert isinstance(error.retryable, bool)
    assert isinstance(error.fallback, bool)


def test_a_provider_error_reads_as_a_sentence():
    assert str(RateLimited("Slow down!", **FACTS)) == (
        "Provider 'openai-prod' asks to slow down (model 'gpt-5', status 429, request req_1): Slow down!"
    )
    assert str(AuthenticationFailed(provider="openai-prod")) == "Provider 'openai-prod' did not accept the key."
    assert str(ProviderError()) == "The provider gave no answer."


@pytest.mark.parametrize("kind", provider_errors())
def test_every_kind_of_provider_error_says_something_of_its_own(kind):
    inherited = {parent.what for parent in kind.__mro__[1:] if issubclass(parent, ProviderError)}
    assert kind is ProviderError or kind.what not in inherited


def test_the_providers_text_is_one_short_printable_line():
    error = ProviderError("first\r\nsecond\x1b[31m\u202e\ud800 " + "x" * 10_000, request_id="a\nb")
    assert error.message.startswith("first second [31m x")
    assert len(error.message) <= 500
    assert str(error).isprintable()


@pytest.mark.parametrize("carried", ["headers", "body", "key", "request"])
def test_a_provider_error_has_no_place_for_what_could_hold_a_key(carried):
    with pytest.raises(TypeError):
        ProviderError("refused", **{carried: "sk-secret"})


def test_what_may_be_retried_and_what_another_provider_may_answer():
    kinds = provider_errors()
    assert [kind.__name__ for kind in kinds if kind.retryable] == [
        "ConnectionFailed",
        "IncompleteStream",
        "InvalidResponse",
        "Overloaded",
        "RateLimited",
        "ServerError",
        "TimedOut",
    ]
    assert [kind.__name__ for kind in kinds if not kind.fallback] == ["ContentRefused", "InvalidRequest"]
    assert ContextLengthExceeded.fallback


def test_a_connection_error_says_whether_anything_was_sent():
    assert ConnectionFailed(provider="p").sent is False
    assert TimedOut(provider="p", sent=True).sent is True


def test_half_an_answer_is_kept_on_the_error():
    partial = CompletionResponse(content="On its w")
    assert IncompleteStream(partial=partial).partial is partial
    assert InvalidResponse().partial is None


def test_invalid_arguments_say_which_field_and_why():
    error = InvalidArguments("refund_order", [("amount", "must be positive"), ("number", "is missing")])
    assert str(error) == "Invalid arguments for refund_order: amount: must be positive; number: is missing"


@pytest.mark.parametrize("kind", [InvalidEdit, InvalidInput])
def test_what_people_filled_in_wrongly_is_named_and_not_repeated(kind):
    error = kind("It does not fit.", problems={"pin": ["hunter2 is too short."], "a\u202e\nb": ["No such field."]})
    assert str(error) == "It does not fit. (pin, a b)"
    assert error.problems["pin"] == ["hunter2 is too short."]


def test_approval_required_says_what_waits_and_what_to_do():
    call = ToolCall(id="a", name="refund_order")
    error = ToolApprovalRequired([call], messages=[ChatMessage.user("hi")])
    assert error.pending == (call,)
    assert error.messages == (ChatMessage.user("hi"),)
    assert "refund_order" in str(error)
    assert "llm.run()" in str(error)


@pytest.mark.parametrize(
    "error",
    [
        InvalidMessage("is missing", field="role"),
        InvalidProviderState(field="provider_state"),
        ProviderStateError(),
        RateLimited("Slow down!", retry_after=1.5, **FACTS),
        IncompleteStream("cut", partial=CompletionResponse(content="On")),
        TimedOut(sent=True),
        InvalidArguments("f", [("a", "b")]),
        ToolApprovalRequired([ToolCall(id="a", name="f")]),
        AnswerTruncated(
            configuration="support", model="gpt-5", schema="Parcel", response=CompletionResponse(content="{"), text="{"
        ),
        DecisionNotPermitted("no", rule="four_eyes"),
        AlreadyDecided("too late", state="denied", decider="Ada"),
        DecisionExpired("too late", expired_at=datetime(2026, 1, 2, tzinfo=UTC)),
        InvalidEdit("They do not fit.", problems={"amount": ["Enter a number."]}),
        InvalidInput("It does not fit.", problems={"pin": ["Too short."]}),
    ],
)
def test_an_error_survives_the_way_to_another_process(error):
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is type(error)
        assert str(copied) == str(error)
        assert vars(copied) == vars(error)
