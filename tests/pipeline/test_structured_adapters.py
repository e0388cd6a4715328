"""``llm.structured`` in the wire formats other than Chat Completions."""

from typing import Any

import pytest
from pydantic import BaseModel

from llm_foundation.models import LanguageModel, Provider
from tests.loopback import answer
from tests.pipeline.parcels import GOOD, PARCEL, STRICT, ask
from tests.practice import Desk
from tests.providers import anthropic_builders, responses_builders

pytestmark = pytest.mark.django_db(transaction=True)


def claude(here: Desk, model_id: str) -> None:
    assert here.model.server is not None
    options = {"prompt_cache": "off"}
    Provider.objects.update(adapter="anthropic", profile="", base_url=here.model.server.url, options=options)
    LanguageModel.objects.update(model_id=model_id)


def test_claude_is_held_to_the_schema_by_its_output_format(here: Desk) -> None:
    claude(here, "claude-sonnet-4-5")
    here.model.says(answer(json=anthropic_builders.message(GOOD)))
    assert ask() == PARCEL
    [asked] = here.model.asked
    weight = asked["output_config"]["format"]["schema"]["properties"]["weight"]
    assert asked["output_config"]["format"]["type"] == "json_schema"
    assert weight == {"anyOf": [{"type": "number", "description": "(exclusiveMinimum: 0.0)"}, {"type": "string"}]}
    assert "tools" not in asked


class Measures(BaseModel):
    by_name: dict[str, int]


def test_a_schema_that_claude_cannot_enforce_becomes_a_call_at_once(here: Desk) -> None:
    claude(here, "claude-sonnet-4-5")
    here.model.says(answer(json=anthropic_builders.message(_given(by_name={"width": 3}), stop="tool_use")))
    assert ask(Measures) == Measures(by_name={"width": 3})
    [asked] = here.model.asked
    assert asked["tool_choice"] == {"type": "tool", "name": "give_answer"}
    assert asked["tools"] == [
        {
            "name": "give_answer",
            "description": "Give the answer. Call this once; its arguments are the whole answer.",
            "input_schema": {
                "type": "object",
                "properties": {"by_name": {"type": "object", "additionalProperties": {"type": "integer"}}},
                "required": ["by_name"],
            },
        }
    ]
    assert "output_config" not in asked


def test_an_older_claude_is_shown_its_error_as_the_result_of_its_call(here: Desk) -> None:
    claude(here, "claude-3-5-sonnet")
    wrong, right = _given(number="7", weight=-1), _given(number="7", weight=1.5)
    here.model.says(
        answer(json=anthropic_builders.message(wrong, stop="tool_use")),
        answer(json=anthropic_builders.message(right, stop="tool_use")),
    )
    assert ask() == PARCEL
    told = (
        "Error: That answer does not fit the schema:\n- weight: Input should be greater than 0\n"
        "Give the whole answer again, corrected."
    )
    assert here.model.asked[1]["messages"][1:] == [
        anthropic_builders.assistant(wrong),
        anthropic_builders.user(anthropic_builders.result("toolu_1", anthropic_builders.said(told))),
    ]


def _given(**input: Any) -> dict[str, Any]:
    return anthropic_builders.used("give_answer", **input)


def test_responses_has_a_place_of_its_own_for_the_schema(native: Desk) -> None:
    Provider.objects.update(profile="openai", options={"api": "responses"})
    native.model.says(answer(json=responses_builders.output(responses_builders.said(GOOD))))
    assert ask() == PARCEL
    assert native.model.asked == [
        {
            "model": "practice",
            "input": [{"role": "user", "content": "Which parcel?"}],
            "store": False,
            "text": {"format": {"type": "json_schema", "name": "Parcel", "schema": STRICT, "strict": True}},
        }
    ]


def test_responses_can_have_the_call_forced_too(here: Desk) -> None:
    Provider.objects.update(profile="openai", options={"api": "responses"})
    called = responses_builders.called("give_answer", '{"number": "7", "weight": 1.5}')
    here.model.says(answer(json=responses_builders.output(called)))
    assert ask() == PARCEL
    assert here.model.asked[0]["tool_choice"] == {"type": "function", "name": "give_answer"}


def test_gemini_is_held_to_the_schema_by_its_generation_config(native: Desk) -> None:
    assert native.model.server is not None
    Provider.objects.update(adapter="gemini", profile="", base_url=native.model.server.url)
    LanguageModel.objects.update(model_id="gemini-2.5-flash")
    candidate = {"content": {"role": "model", "parts": [{"text": GOOD}]}, "finishReason": "STOP"}
    native.model.says(answer(json={"candidates": [candidate]}))
    assert ask() == PARCEL
    assert native.model.asked == [
        {
            "contents": [{"role": "user", "parts": [{"text": "Which parcel?"}]}],
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseJsonSchema": {
                    "type": "object",
                    "description": "A parcel on its way.",
                    "properties": {
                        "number": {"type": "string"},
                        "weight": {"anyOf": [{"type": "number", "minimum": 0.0}, {"type": "string"}]},
                    },
                    "required": ["number", "weight"],
                },
            },
        }
    ]
