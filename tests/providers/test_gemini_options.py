"""Options as Gemini's generationConfig, and those that are left out, or changed, and named."""

import pytest

from tests.providers.builders import FIND, answered, make_request, sent, streamed
from tests.providers.gemini_builders import (
    FLASH_2,
    FLASH_2_5,
    FLASH_3,
    PRO_2_5,
    PRO_3_1,
    answer,
    make_gemini,
    said,
    stream_of,
)

SCHEMA = {"name": "order", "schema": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}}


def config(adapter, *, tools=(), **options):
    return sent(adapter, make_request(options=options, tools=tools)).get("generationConfig")


def dropped(adapter, *, tools=(), **options) -> list[str]:
    request = make_request(options=options, tools=tools)
    return answered(adapter, answer(said("x")), request=request).metadata.get("dropped_options", [])


def test_what_is_not_set_is_not_sent():
    assert config(make_gemini()) is None


def test_options_have_googles_names():
    options = {
        "temperature": 0.2,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ("END",),
        "seed": 7,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.3,
    }
    assert config(make_gemini(FLASH_2), **options) == {
        "temperature": 0.2,
        "topP": 0.9,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "seed": 7,
        "frequencyPenalty": 0.1,
        "presencePenalty": 0.3,
    }
    assert dropped(make_gemini(FLASH_2), **options) == []


@pytest.mark.parametrize("model", [FLASH_2_5, PRO_2_5, FLASH_3, "gemini-flash-latest"])
def test_newer_models_know_no_penalties(model):
    options = {"temperature": 1, "frequency_penalty": 0.1, "presence_penalty": 0.3}
    assert config(make_gemini(model), **options) == {"temperature": 1}
    assert dropped(make_gemini(model), **options) == ["frequency_penalty", "presence_penalty"]


def test_a_model_without_sampling_is_not_sent_any():
    adapter = make_gemini(supports_sampling=False)
    assert config(adapter, temperature=1, top_p=0.5) is None
    assert dropped(adapter, temperature=1, top_p=0.5) == ["temperature", "top_p"]


def test_what_would_be_refused_is_cut_to_what_is_taken_and_named():
    adapter = make_gemini(max_output_tokens=50)
    assert config(adapter, max_tokens=100, stop=tuple("abcdef")) == {
        "maxOutputTokens": 50,
        "stopSequences": ["a", "b", "c", "d", "e"],
    }
    assert dropped(adapter, max_tokens=100, stop=tuple("abcdef")) == ["max_tokens", "stop"]


@pytest.mark.parametrize("seed", [2**31, -(2**31) - 1])
def test_a_seed_has_32_bits(seed):
    assert config(make_gemini(), seed=seed) is None
    assert dropped(make_gemini(), seed=seed) == ["seed"]
    assert config(make_gemini(), seed=-(2**31)) == {"seed": -(2**31)}


@pytest.mark.parametrize(
    ("model", "effort", "expected", "is_named"),
    [
        (FLASH_2_5, "none", {"thinkingBudget": 0}, False),
        (FLASH_2_5, "minimal", {"includeThoughts": True, "thinkingBudget": 512}, False),
        (FLASH_2_5, "low", {"includeThoughts": True, "thinkingBudget": 1024}, False),
        (FLASH_2_5, "medium", {"includeThoughts": True, "thinkingBudget": 8192}, False),
        (FLASH_2_5, "high", {"includeThoughts": True, "thinkingBudget": 24576}, False),
        (FLASH_2_5, "max", {"includeThoughts": True, "thinkingBudget": 24576}, False),
        ("gemini-2.5-flash-lite", "minimal", {"includeThoughts": True, "thinkingBudget": 512}, False),
        (PRO_2_5, "none", {"thinkingBudget": 128}, True),
        (PRO_2_5, "xhigh", {"includeThoughts": True, "thinkingBudget": 32768}, False),
        (FLASH_3, "none", {"thinkingLevel": "MINIMAL"}, True),
        (FLASH_3, "minimal", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}, False),
        (FLASH_3, "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}, False),
        (FLASH_3, "max", {"includeThoughts": True, "thinkingLevel": "HIGH"}, False),
        ("gemini-3.6-flash", "minimal", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}, False),
        ("gemini-3.5-flash-lite", "minimal", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}, False),
        ("gemini-3.7-flash", "minimal", {"includeThoughts": True, "thinkingLevel": "LOW"}, True),
        ("gemini-3.8-flash", "none", {"thinkingLevel": "LOW"}, True),
        ("gemini-3-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "HIGH"}, True),
        ("gemini-3-pro-preview", "minimal", {"includeThoughts": True, "thinkingLevel": "LOW"}, True),
        (PRO_3_1, "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}, False),
        (PRO_3_1, "low", {"includeThoughts": True, "thinkingLevel": "LOW"}, False),
        ("gemini-4", "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}, False),
        (
            "publishers/google/models/gemini-flash-latest",
            "low",
            {"includeThoughts": True, "thinkingLevel": "LOW"},
            False,
        ),
    ],
)
def test_an_effort_is_a_budget_or_a_level_by_the_models_generation(model, effort, expected, is_named):
    assert config(make_gemini(model), reasoning_effort=effort) == {"thinkingConfig": expected}
    assert dropped(make_gemini(model), reasoning_effort=effort) == (["reasoning_effort"] if is_named else [])


@pytest.mark.parametrize(
    "model",
    [FLASH_2, "gemini-1.5-pro", "gemma-3-27b-it", "gemini-2.5-flash-image", "gemini-3.1-flash-image", "learnlm"],
)
def test_a_model_that_does_not_think_is_not_told_to(model):
    assert config(make_gemini(model), reasoning_effort="high") is None
    assert dropped(make_gemini(model), reasoning_effort="high") == ["reasoning_effort"]


def test_of_a_model_that_nobody_knows_the_operator_says_whether_it_thinks():
    adapter = make_gemini("tunedModels/shop-1", supports_reasoning=True)
    assert config(adapter, reasoning_effort="low") == {
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"}
    }


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"thinkingBudget": 5}, {"includeThoughts": True, "thinkingBudget": 5}),
        ({"thinkingLevel": "LOW"}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ({"includeThoughts": False}, {"includeThoughts": False, "thinkingLevel": "HIGH"}),
    ],
)
def test_budget_and_level_exclude_each_other_and_the_operators_counts(extra, expected):
    options = {"reasoning_effort": "high", "extra": {"generationConfig": {"thinkingConfig": extra}}}
    assert config(make_gemini(), **options) == {"thinkingConfig": expected}


def test_an_answer_can_have_a_schema():
    assert config(make_gemini(), response_schema=SCHEMA) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]},
    }


def test_where_the_field_for_json_schema_is_missing_the_older_one_serves():
    adapter = make_gemini(options={"json_schema_fields": False})
    assert config(adapter, response_schema=SCHEMA) == {
        "responseMimeType": "application/json",
        "responseSchema": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]},
    }


@pytest.mark.parametrize(("model", "is_taken"), [(FLASH_2, False), (FLASH_2_5, False), (FLASH_3, True)])
def test_a_schema_beside_tools_is_for_newer_models(model, is_taken):
    sent_config = config(make_gemini(model), tools=(FIND,), response_schema=SCHEMA)
    assert ("responseJsonSchema" in (sent_config or {})) is is_taken
    assert dropped(make_gemini(model), tools=(FIND,), response_schema=SCHEMA) == (
        [] if is_taken else ["response_schema"]
    )
    assert dropped(make_gemini(model), response_schema=SCHEMA) == []


def test_a_model_that_knows_no_schemas_is_not_sent_one():
    adapter = make_gemini(supports_json_schema=False)
    assert config(adapter, response_schema=SCHEMA) is None
    assert dropped(adapter, response_schema=SCHEMA) == ["response_schema"]


def test_what_extra_cannot_replace_is_named_in_streams_too():
    request = make_request(options={"extra": {"contents": [], "model": "x"}}, stream=True)
    _, response = streamed(make_gemini(), stream_of(answer(said("x"))), request=request)
    assert response.metadata == {"dropped_options": ["extra.contents", "extra.model"]}
