"""``llm.structured`` over real HTTP: reading the answer, repairing it, and answers that cannot be had."""

import pytest

from llm_foundation import ChatMessage
from llm_foundation.chat import ToolCall
from llm_foundation.exceptions import (
    AnswerFiltered,
    AnswerRefused,
    AnswerTruncated,
    RateLimited,
    StructuredOutputError,
)
from tests.loopback import answer
from tests.pipeline.parcels import ASKED, GOOD, PARCEL, Node, ask
from tests.practice import Desk, calls, completion, text, turn
from tests.scripted_server import Behaviour

pytestmark = pytest.mark.django_db(transaction=True)


def refused_by(desk: Desk, *answers: Behaviour) -> StructuredOutputError:
    desk.model.says(*answers)
    with pytest.raises(StructuredOutputError) as caught:
        ask()
    return caught.value


# --- Answers ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "written",
    [
        GOOD,
        f"Here you are:\n```json\n{GOOD}\n```\nAnything else?",
        f"The form is {{number, weight}}, so:\n```\n{GOOD}\n```",
        f"I take {{number}} to be 7. {GOOD} That is all.",
    ],
)
def test_the_object_is_taken_out_of_the_words_around_it(wordy: Desk, written: str) -> None:
    wordy.model.says(text(written))
    assert ask() == PARCEL


def test_a_model_that_was_to_call_and_wrote_instead_is_read_as_well(here: Desk) -> None:
    here.model.says(text(GOOD))
    assert ask() == PARCEL


def test_arguments_with_words_around_them_are_read_as_well(here: Desk) -> None:
    here.model.says(turn(("give_answer", f"```json\n{GOOD}\n```")))
    assert ask() == PARCEL


# --- Repair -----------------------------------------------------------------------------------------------------------
def test_the_model_is_shown_its_answer_and_what_is_wrong_with_it(native: Desk) -> None:
    native.model.says(text('{"weight": "heavy"}'), text(GOOD))
    assert ask() == PARCEL
    first, second = native.model.asked
    assert second["messages"] == [
        ASKED,
        {"role": "assistant", "content": '{"weight": "heavy"}'},
        {
            "role": "user",
            "content": "That answer does not fit the schema:\n- number: is required\n"
            "- weight: Input should be a valid decimal\nGive the whole answer again, corrected.",
        },
    ]
    assert second["response_format"] == first["response_format"]


def test_a_wrong_call_gets_its_error_as_a_result(here: Desk) -> None:
    wrong = completion(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_x",
                    "type": "function",
                    "function": {"name": "give_answer", "arguments": '{"number":"7"}'},
                },
                {"id": "call_y", "type": "function", "function": {"name": "other", "arguments": "{}"}},
            ],
        },
        "tool_calls",
    )
    here.model.says(wrong, calls("give_answer", number="7", weight=1.5))
    assert ask() == PARCEL
    told = "Error: That answer does not fit the schema:\n- weight: is required\nGive the whole answer again, corrected."
    first, second = here.model.asked
    assert [call["id"] for call in second["messages"][1]["tool_calls"]] == ["call_x", "call_y"]
    assert second["messages"][2:] == [
        {"role": "tool", "content": told, "tool_call_id": "call_x"},
        {"role": "tool", "content": told, "tool_call_id": "call_y"},
    ]
    assert (second["tools"], second["tool_choice"]) == (first["tools"], first["tool_choice"])


def test_an_empty_answer_is_not_sent_back(wordy: Desk) -> None:
    wordy.model.says(text(""), text(GOOD))
    assert ask() == PARCEL
    assert wordy.model.asked[1]["messages"][1]["content"] == (
        "Which parcel?\n\nThat answer does not fit the schema:\n- (answer): is empty\n"
        "Give the whole answer again, corrected."
    )


def test_after_two_wrong_answers_the_error_has_all_of_the_second(native: Desk) -> None:
    error = refused_by(native, text('{"weight": 1}'), text('{"number": "7", "weight": 0}'))
    assert str(error) == (
        "Configuration 'support': Model 'practice' was told what is wrong, and its answer still does not fit Parcel:"
        " weight: Input should be greater than 0. Make the schema simpler, describe its fields, or choose a model that"
        " keeps to a schema."
    )
    assert error.problems == (("weight", "Input should be greater than 0"),)
    assert error.text == '{"number": "7", "weight": 0}'
    assert error.response.metadata["structured_output"] == "native"
    assert len(native.model.asked) == 2


def test_a_part_of_a_broken_answer_never_passes_for_the_whole(wordy: Desk) -> None:
    broken = '{"name": "a", "children": [{"name": "b", "children": []}, oops]}'
    wordy.model.says(text(broken), text(broken))
    with pytest.raises(StructuredOutputError) as caught:
        ask(Node)
    assert caught.value.problems == (("(answer)", "holds no complete JSON object"),)


def test_what_the_provider_says_goes_wrong_is_raised_as_it_is(here: Desk) -> None:
    here.model.says(calls("give_answer", number="7"), answer(json={"error": {"message": "slow down"}}, status=429))
    with pytest.raises(RateLimited):
        ask()


def test_a_conversation_with_calls_of_its_own_goes_on(here: Desk) -> None:
    history = [
        ChatMessage.user("Which parcel?"),
        ChatMessage.assistant_tool_calls([ToolCall(id="a", name="find_order", arguments={"number": "7"})]),
        ChatMessage.tool_result("a", "1.5 kg"),
    ]
    here.model.says(calls("give_answer", number="7", weight=1.5))
    assert ask(messages=history) == PARCEL
    assert [message["role"] for message in here.model.asked[0]["messages"]] == ["user", "assistant", "tool"]


# --- No answer --------------------------------------------------------------------------------------------------------
def test_a_truncated_answer_is_not_repaired(native: Desk) -> None:
    error = refused_by(native, completion({"role": "assistant", "content": '{"number": "7", "we'}, "length"))
    assert isinstance(error, AnswerTruncated)
    assert str(error) == (
        "Configuration 'support': Model 'practice' reached its token limit before Parcel was complete. Raise"
        " max_tokens, in the options or in the configuration, or ask for less at once."
    )
    assert error.text == '{"number": "7", "we'
    assert len(native.model.asked) == 1


def test_a_call_that_is_cut_off_is_truncated_too(here: Desk) -> None:
    cut = [{"id": "a", "type": "function", "function": {"name": "give_answer", "arguments": '{"number": "7", "we'}}]
    error = refused_by(here, completion({"role": "assistant", "content": None, "tool_calls": cut}, "length"))
    assert isinstance(error, AnswerTruncated)
    assert error.text == '{"number": "7", "we'


def test_a_refusal_is_told_in_the_models_own_words(native: Desk) -> None:
    error = refused_by(native, completion({"role": "assistant", "content": None, "refusal": "I will not."}, "stop"))
    assert isinstance(error, AnswerRefused)
    assert str(error) == (
        "Configuration 'support': Model 'practice' refused to give Parcel: I will not. Change what is asked, or choose"
        " another model."
    )
    assert len(native.model.asked) == 1


def test_a_content_filter_is_named(native: Desk) -> None:
    error = refused_by(native, completion({"role": "assistant", "content": ""}, "content_filter"))
    assert isinstance(error, AnswerFiltered)
    assert "content filter stopped model 'practice'" in str(error)
    assert len(native.model.asked) == 1
