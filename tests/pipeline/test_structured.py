"""``llm.structured`` over real HTTP: the request of each way, and which schemas can be asked for."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel, RootModel

from llm_foundation import ChatOptions, llm
from llm_foundation.chat import ChatRequest
from llm_foundation.exceptions import (
    InvalidMessage,
    UnknownConfiguration,
)
from llm_foundation.models import Configuration, Provider
from llm_foundation.providers import registry
from llm_foundation.providers.openai.adapter import OpenAICompatibleAdapter
from tests.pipeline.parcels import ASKED, GOOD, INSTRUCTION, PARCEL, STRICT, TOOL, Node, Parcel, ask
from tests.practice import Desk, calls, desk, text

pytestmark = pytest.mark.django_db(transaction=True)


# --- The three ways ---------------------------------------------------------------------------------------------------
def test_a_model_that_keeps_to_a_schema_is_given_it(native: Desk) -> None:
    native.model.says(text(GOOD))
    assert ask() == PARCEL
    assert native.model.asked == [
        {
            "model": "practice",
            "messages": [ASKED],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "Parcel", "schema": STRICT, "strict": True},
            },
        }
    ]


def test_a_model_that_only_calls_tools_has_to_call_one(here: Desk) -> None:
    here.model.says(calls("give_answer", number="7", weight=1.5))
    assert ask() == PARCEL
    assert here.model.asked == [
        {
            "model": "practice",
            "messages": [ASKED],
            "tools": [TOOL],
            "tool_choice": {"type": "function", "function": {"name": "give_answer"}},
        }
    ]


def test_any_other_model_is_told_of_the_schema_after_its_own_prompt(wordy: Desk) -> None:
    Configuration.objects.update(system_prompt="Be kind.")
    wordy.model.says(text(GOOD))
    assert ask() == PARCEL
    assert wordy.model.asked == [
        {
            "model": "practice",
            "messages": [{"role": "system", "content": f"Be kind.\n\n{INSTRUCTION}"}, ASKED],
        }
    ]


@pytest.mark.parametrize(
    ("profile", "way"),
    [
        ("openai", {"response_format"}),
        ("llama_cpp", {"response_format"}),
        ("deepseek", set()),  # it has no schemas, and while it thinks no call can be forced
    ],
)
def test_what_the_endpoint_cannot_do_is_not_tried(native: Desk, profile: str, way: set[str]) -> None:
    Provider.objects.update(profile=profile)
    native.model.says(text(GOOD))
    ask()
    assert {"response_format", "tools", "tool_choice"} & native.model.asked[0].keys() == way


def test_an_endpoint_that_cannot_force_a_call_is_asked_in_words(here: Desk) -> None:
    Provider.objects.update(profile="ollama")
    here.model.says(text(GOOD))
    assert ask() == PARCEL
    assert here.model.asked == [{"model": "practice", "messages": [{"role": "system", "content": INSTRUCTION}, ASKED]}]


def test_an_endpoint_that_forces_some_tool_but_none_by_name_is_offered_that_one_alone(here: Desk) -> None:
    Provider.objects.update(profile="lm_studio")
    here.model.says(calls("give_answer", number="7", weight=1.5))
    assert ask() == PARCEL
    assert here.model.asked[0]["tool_choice"] == "required"


def test_the_parameters_of_configuration_and_caller_hold(here: Desk) -> None:
    Configuration.objects.update(options={"temperature": 0.5, "response_schema": {"schema": {"type": "object"}}})
    here.model.says(calls("give_answer", number="7", weight=1.5))
    ask(options=ChatOptions(max_tokens=200))
    assert (here.model.asked[0]["temperature"], here.model.asked[0]["max_tokens"]) == (0.5, 200)
    assert "response_format" not in here.model.asked[0]


async def test_the_async_twin_does_the_same() -> None:
    enter = desk()
    here = await sync_to_async(enter.__enter__)()
    try:
        here.model.says(calls("give_answer", number="7"), calls("give_answer", number="7", weight=1.5))
        parcel = await llm.astructured("support", "Which parcel?", schema=Parcel)
    finally:
        await sync_to_async(enter.__exit__)(None, None, None)
    assert parcel == PARCEL
    assert len(here.model.asked) == 2


class Forgetful(OpenAICompatibleAdapter):
    """Finds out only while it reads an answer that it had to leave the schema out."""

    name = "forgetful"

    def dropped_options(self, chat_request: ChatRequest) -> tuple[str, ...]:
        return ()


def test_what_turns_out_to_have_been_dropped_is_asked_in_the_next_way(
    here: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._adapters, "forgetful", Forgetful)
    Provider.objects.update(adapter="forgetful")
    here.model.says(text("It is number 7."), calls("give_answer", number="7", weight=1.5))
    assert ask() == PARCEL
    first, second = here.model.asked
    assert first.keys() == {"model", "messages"}
    assert second["tools"] == [TOOL]


# --- Schemas ----------------------------------------------------------------------------------------------------------
def test_a_model_that_holds_itself_stands_plainly_at_the_top(native: Desk) -> None:
    native.model.says(text('{"name": "a", "children": [{"name": "b", "children": []}]}'))
    assert ask(Node) == Node(name="a", children=[Node(name="b")])
    schema = native.model.asked[0]["response_format"]["json_schema"]["schema"]
    assert (schema["type"], schema["required"]) == ("object", ["name", "children"])


class Numbers(RootModel[list[int]]):
    """All numbers."""


def test_what_is_no_object_is_asked_for_inside_one(native: Desk) -> None:
    native.model.says(text('{"value": [1, "x"]}'), text('{"value": [1, 2]}'))
    assert ask(Numbers) == Numbers([1, 2])
    assert native.model.asked[0]["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"value": {"$ref": "#/$defs/Numbers"}},
        "required": ["value"],
        "additionalProperties": False,
        "$defs": {"Numbers": {"description": "All numbers.", "type": "array", "items": {"type": "integer"}}},
    }
    assert "- value[1]: Input should be a valid integer" in native.model.asked[1]["messages"][2]["content"]


class Unsayable(BaseModel):
    callback: type[Exception] | object = Exception
    made: "NobodyKnows"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (dict, "schema: must be a pydantic model class, not the class dict"),
        ({"type": "object"}, "schema: must be a pydantic model class, not the value of type dict"),
        (PARCEL, "schema: must be a pydantic model class, not the value of type Parcel"),
        (BaseModel, "schema: must be a pydantic model class, not the class BaseModel"),
        (
            Unsayable,
            (
                "schema: Unsayable cannot be said in JSON Schema: `Unsayable` is not fully defined; you should define"
                " `NobodyKnows`, then call `Unsayable.model_rebuild()`."
            ),
        ),
    ],
)
def test_a_schema_that_cannot_be_asked_for_costs_nothing(here: Desk, schema: Any, told: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        ask(schema)
    assert str(caught.value) == told
    assert here.model.asked == []


def test_a_second_schema_in_the_options_is_refused(here: Desk) -> None:
    options = ChatOptions.model_validate({"response_schema": {"schema": {"type": "object"}}})
    with pytest.raises(InvalidMessage, match=r"options.response_schema: is made from the schema: leave it out"):
        ask(options=options)
    assert here.model.asked == []


def test_an_unknown_configuration_is_named() -> None:
    with pytest.raises(UnknownConfiguration, match="'nothing'"):
        llm.structured("nothing", "Which parcel?", schema=Parcel)
