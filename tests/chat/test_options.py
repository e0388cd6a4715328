"""What is asked of a model beside the conversation."""

import json

import pytest
from pydantic import ValidationError

from llm_foundation.chat import ChatMessage, ChatOptions, ChatRequest, NamedTool, ResponseSchema, ToolDefinition

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}}


def test_what_is_not_said_is_left_to_the_provider():
    assert ChatOptions().temperature is None
    assert ChatOptions().model_fields_set == set()


def test_the_later_options_win_where_they_say_something():
    merged = ChatOptions(temperature=0.2, max_tokens=100, seed=1).merged(ChatOptions(temperature=0.9, seed=None))
    assert merged == ChatOptions(temperature=0.9, max_tokens=100, seed=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 3},
        {"temperature": float("nan")},
        {"top_p": 0},
        {"max_tokens": 0},
        {"reasoning_effort": "extreme"},
        {"extra": {"n": float("inf")}},
        {"seed": 10**5000},
        {"temprature": 1},
    ],
)
def test_an_option_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        ChatOptions(**wrong)


def test_options_survive_storage_as_json():
    options = ChatOptions(
        temperature=0.5,
        stop=("END",),
        response_schema=ResponseSchema(name="invoice", schema=SCHEMA),
        extra={"service_tier": "flex"},
    )
    stored = json.loads(json.dumps(options.model_dump(exclude_unset=True)))
    assert stored["response_schema"] == {"name": "invoice", "schema": SCHEMA}
    assert ChatOptions.model_validate(stored) == options


def test_a_tool_without_parameters_takes_an_empty_object():
    assert ToolDefinition(name="ping").parameters == {"type": "object", "properties": {}}


def test_a_request_holds_at_least_one_message():
    with pytest.raises(ValidationError):
        ChatRequest(messages=())


def test_a_request_takes_the_values_as_they_are():
    message, definition = ChatMessage.user("hi"), ToolDefinition(name="ping")
    request = ChatRequest(messages=[message], tools=[definition], tool_choice=NamedTool(name="ping"))
    assert request.messages[0] is message
    assert request.tools[0] is definition
    assert request.tool_choice.name == "ping"
