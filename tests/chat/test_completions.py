"""What one completion gives back, and the sums of what it cost."""

import pytest
from pydantic import ValidationError

from llm_foundation.chat import (
    ChatMessage,
    CompletionResponse,
    FinishReason,
    ProviderState,
    StateOwner,
    StreamCompleted,
    TextDelta,
    ToolCall,
    ToolCallStarted,
    Usage,
)

OWNER = StateOwner(adapter="openai", base_url="https://a.example", model_family="m", credential_fingerprint="f")


def calls(*ids):
    return tuple(ToolCall(id=call_id, name="ping") for call_id in ids)


# Usage


def test_not_reported_is_not_zero():
    assert Usage().input_tokens is None
    assert Usage() != Usage(input_tokens=0)


def test_usage_adds_what_was_reported():
    total = Usage(input_tokens=10, output_tokens=5, cached_input_tokens=0) + Usage(input_tokens=1, reasoning_tokens=2)
    assert total == Usage(input_tokens=11, output_tokens=5, cached_input_tokens=0, reasoning_tokens=2)
    assert total.cache_write_tokens is None
    assert Usage() + Usage() == Usage()


def test_usage_sums_from_an_empty_one():
    assert sum([Usage(input_tokens=1), Usage(input_tokens=2)], Usage()) == Usage(input_tokens=3)


def test_the_total_is_known_only_where_both_sides_are():
    assert Usage(input_tokens=2, output_tokens=3).total_tokens == 5
    assert Usage(input_tokens=2, output_tokens=0).total_tokens == 2
    assert Usage(input_tokens=2).total_tokens is None


@pytest.mark.parametrize("count", [-1, 1.5, "many", True, "12"])
def test_a_count_of_tokens_is_a_whole_number(count):
    with pytest.raises(ValidationError):
        Usage(input_tokens=count)


# The response


def test_the_finish_reasons_are_these():
    assert [reason.name for reason in FinishReason] == [
        "STOP",
        "TOOL_CALLS",
        "LENGTH",
        "CONTENT_FILTER",
        "REFUSAL",
        "PAUSE",
        "ERROR",
        "OTHER",
    ]


def test_the_calls_decide_whether_a_turn_has_calls():
    assert CompletionResponse(tool_calls=calls("a"), finish_reason=FinishReason.STOP).has_tool_calls
    assert not CompletionResponse(finish_reason=FinishReason.TOOL_CALLS).has_tool_calls


def test_tool_calls_are_typed():
    with pytest.raises(ValidationError):
        CompletionResponse(tool_calls=("call_1",))


def test_an_answer_becomes_an_assistant_message():
    assert CompletionResponse(content="hi").to_message() == ChatMessage.assistant("hi")
    assert CompletionResponse().to_message() == ChatMessage.assistant("")


def test_a_refusal_stands_in_the_transcript_as_what_the_model_said():
    assert CompletionResponse(refusal="I cannot.").to_message() == ChatMessage.assistant("I cannot.")


def test_calls_text_and_provider_state_go_into_the_message():
    state = ProviderState(owner=OWNER, items=())
    response = CompletionResponse(content="Let me look.", tool_calls=calls("a"), provider_state=state)
    assert response.to_message() == ChatMessage.assistant_tool_calls(calls("a"), "Let me look.", state)
    silent = CompletionResponse(content="hi", provider_state=state)
    assert silent.to_message().provider_state == state


def test_reasoning_is_not_visible_text():
    assert CompletionResponse(reasoning="They ask …").to_message().text == ""


def test_metadata_is_added_to():
    response = CompletionResponse(metadata={"a": 1}).with_metadata(dropped_options=["seed"])
    assert response.metadata == {"a": 1, "dropped_options": ["seed"]}


def test_metadata_that_is_not_json_is_refused():
    with pytest.raises(ValueError, match="not JSON"):
        CompletionResponse().with_metadata(when=object())


# Ids


def test_a_response_whose_ids_are_new_stays_as_it_is():
    response = CompletionResponse(tool_calls=calls("a", "b"))
    assert response.with_unique_call_ids({"c"}) is response


def test_an_id_that_the_conversation_has_is_replaced():
    response = CompletionResponse(tool_calls=calls("a", "b")).with_unique_call_ids(["a"])
    first, second = response.tool_calls
    assert first.id not in ("a", "b")
    assert second.id == "b"
    assert first.name == "ping"


def test_an_id_repeated_in_the_very_turn_is_replaced():
    response = CompletionResponse(tool_calls=calls("a", "a", "a")).with_unique_call_ids(())
    assert response.tool_calls[0].id == "a"
    assert len({call.id for call in response.tool_calls}) == 3


def test_the_binding_follows_the_replaced_id():
    state = ProviderState(owner=OWNER, tool_call_bindings={"a": "native-a", "b": "native-b"})
    response = CompletionResponse(tool_calls=calls("a", "b"), provider_state=state).with_unique_call_ids({"a"})
    renamed = response.tool_calls[0].id
    assert response.provider_state.tool_call_bindings == {renamed: "native-a", "b": "native-b"}


def test_of_two_calls_with_one_id_the_first_keeps_the_binding():
    state = ProviderState(owner=OWNER, tool_call_bindings={"a": "native-a"})
    kept = CompletionResponse(tool_calls=calls("a", "a"), provider_state=state).with_unique_call_ids(())
    assert kept.provider_state.tool_call_bindings == {"a": "native-a"}
    moved = CompletionResponse(tool_calls=calls("a", "a"), provider_state=state).with_unique_call_ids({"a"})
    assert moved.provider_state.tool_call_bindings == {moved.tool_calls[0].id: "native-a"}


# Stream events


def test_the_last_event_carries_the_very_response():
    response = CompletionResponse(content="hi", usage=Usage(output_tokens=1))
    assert StreamCompleted(response=response).response is response


def test_events_tell_their_type():
    assert TextDelta(text="a").type == "text_delta"
    assert ToolCallStarted(index=0, call_id="a", name="f").model_dump() == {
        "type": "tool_call_started",
        "index": 0,
        "call_id": "a",
        "name": "f",
    }


def test_a_piece_of_text_carries_no_lone_surrogates():
    assert TextDelta(text="\ud83d").text == "\ufffd"
