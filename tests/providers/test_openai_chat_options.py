"""Options as they stand on the wire, and those that are left out and named."""

import pytest

from llm_foundation.providers.openai.model_traits import traits_of
from tests.providers.builders import FIND, answered, chunks, completion, make_adapter, make_request, sent, streamed

SCHEMA = {"name": "order", "schema": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}}
SAMPLING = {"temperature": 0.2, "top_p": 0.9, "frequency_penalty": 0.1, "presence_penalty": 0.3}


def options_sent(adapter, **options) -> dict:
    body = sent(adapter, make_request(options=options))
    return {key: value for key, value in body.items() if key not in ("messages", "model")}


def dropped(adapter, *, tools=(), **options) -> list[str]:
    request = make_request(options=options, tools=tools)
    return answered(adapter, completion({"content": "x"}), request=request).metadata.get("dropped_options", [])


def test_what_is_not_set_is_not_sent():
    assert options_sent(make_adapter()) == {}


def test_options_have_openais_names():
    assert options_sent(make_adapter(), **SAMPLING, max_tokens=100, stop=("END",), seed=7) == {
        **SAMPLING,
        "max_completion_tokens": 100,
        "stop": ["END"],
        "seed": 7,
    }


def test_zero_is_a_value():
    assert options_sent(make_adapter(), temperature=0, seed=0) == {"temperature": 0.0, "seed": 0}


@pytest.mark.parametrize(
    ("profile", "model", "name"),
    [
        ("openai", "gpt-4o", "max_completion_tokens"),
        ("groq", "llama", "max_completion_tokens"),
        ("xai", "grok-3", "max_completion_tokens"),
        ("azure", "gpt-4o", "max_tokens"),
        ("azure", "o3-mini", "max_completion_tokens"),
        ("mistral", "mistral-small-latest", "max_tokens"),
        ("vllm", "qwen", "max_tokens"),
        ("custom", "m", "max_tokens"),
    ],
)
def test_the_length_limit_has_the_endpoints_name(profile, model, name):
    assert options_sent(make_adapter(profile, model=model), max_tokens=5) == {name: 5}


def test_more_tokens_than_the_model_can_write_are_not_asked_for():
    adapter = make_adapter(max_output_tokens=4096)
    assert options_sent(adapter, max_tokens=100_000) == {"max_completion_tokens": 4096}
    assert dropped(adapter, max_tokens=100_000) == ["max_tokens"]
    assert dropped(adapter, max_tokens=4096) == []


def test_mistral_has_a_name_of_its_own_for_the_seed():
    assert options_sent(make_adapter("mistral"), seed=7) == {"random_seed": 7}


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-mini", "gpt-5.2", "gpt-6-sol", "o1", "o3-mini", "openai/o4-mini"])
def test_reasoning_models_of_openai_refuse_sampling_and_stop(model):
    adapter = make_adapter("openrouter", model=model)
    assert options_sent(adapter, **SAMPLING, stop=("END",), seed=7) == {"seed": 7}
    assert dropped(adapter, **SAMPLING, stop=("END",)) == [*SAMPLING, "stop"]


def test_an_operator_can_say_that_a_model_takes_no_sampling():
    adapter = make_adapter("azure", model="our-deployment", supports_sampling=False)
    assert options_sent(adapter, **SAMPLING, stop=("END",)) == {"stop": ["END"]}


@pytest.mark.parametrize("model", ["gpt-oss-120b", "gpt-4.1", "oracle-7b", "gpt-4o", "omni"])
def test_names_that_only_look_like_theirs_do_not(model):
    assert dropped(make_adapter(model=model), **SAMPLING) == []


@pytest.mark.parametrize("model", ["grok-4-1-fast-non-reasoning", "grok-4.5", "grok-3-mini"])
def test_newer_models_of_xai_refuse_penalties(model):
    assert "presence_penalty" not in options_sent(make_adapter("xai", model=model), **SAMPLING)
    assert options_sent(make_adapter("xai", model=model), temperature=1) == {"temperature": 1.0}


@pytest.mark.parametrize(
    ("model", "effort", "is_taken"),
    [
        ("gpt-5", "minimal", True),
        ("gpt-5", "none", False),
        ("gpt-5-chat-latest", "low", False),
        ("gpt-5.1", "none", True),
        ("gpt-5.1", "minimal", False),
        ("gpt-5.2", "xhigh", True),
        ("o3", "high", True),
        ("o3", "minimal", False),
        ("gpt-4o", "low", False),
        ("grok-4.5", "low", True),
        ("grok-4-fast", "low", False),
    ],
)
def test_an_effort_goes_out_where_the_model_takes_it(model, effort, is_taken):
    adapter = make_adapter(model=model)
    assert options_sent(adapter, reasoning_effort=effort) == ({"reasoning_effort": effort} if is_taken else {})
    assert dropped(adapter, reasoning_effort=effort) == ([] if is_taken else ["reasoning_effort"])


def test_an_operator_can_say_that_a_model_reasons():
    adapter = make_adapter("vllm", model="qwen3", supports_reasoning=True)
    assert options_sent(adapter, reasoning_effort="low") == {"reasoning_effort": "low"}


@pytest.mark.parametrize(("effort", "expected"), [("low", "low"), ("xhigh", "xhigh"), ("max", "xhigh")])
def test_openrouter_has_an_object_for_reasoning(effort, expected):
    adapter = make_adapter("openrouter", model="anthropic/claude", supports_reasoning=True)
    assert options_sent(adapter, reasoning_effort=effort) == {"reasoning": {"effort": expected}}


def test_deepseek_switches_thinking_beside_the_effort():
    adapter = make_adapter("deepseek", model="deepseek-v4-pro", supports_reasoning=True)
    assert options_sent(adapter, reasoning_effort="none") == {"thinking": {"type": "disabled"}}
    assert options_sent(adapter, reasoning_effort="high") == {
        "thinking": {"type": "enabled"},
        "reasoning_effort": "high",
    }


@pytest.mark.parametrize("effort", [None, "none", "high"])
def test_models_that_take_tools_only_without_reasoning_are_told_not_to_reason(effort):
    adapter = make_adapter(model="gpt-6-luna")
    request = make_request(tools=(FIND,), options={"reasoning_effort": effort})
    assert sent(adapter, request)["reasoning_effort"] == "none"
    assert dropped(adapter, tools=(FIND,), reasoning_effort=effort) == (
        ["reasoning_effort"] if effort == "high" else []
    )
    assert options_sent(adapter, reasoning_effort="high") == {"reasoning_effort": "high"}


def test_a_schema_for_the_answer_goes_out_in_the_strict_dialect():
    assert options_sent(make_adapter(), response_schema=SCHEMA) == {
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "order",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {"n": {"type": "string"}},
                    "required": ["n"],
                    "additionalProperties": False,
                },
            },
        }
    }


def test_a_schema_without_a_strict_form_goes_out_as_it_is():
    free = {"name": "any", "schema": {"type": "object", "additionalProperties": {"type": "string"}}}
    [written] = options_sent(make_adapter(), response_schema=free).values()
    assert written["json_schema"] == {"name": "any", "strict": False, "schema": free["schema"]}


@pytest.mark.parametrize("adapter", [make_adapter("deepseek"), make_adapter(supports_json_schema=False)])
def test_a_schema_that_nobody_would_enforce_is_left_out_and_named(adapter):
    assert options_sent(adapter, response_schema=SCHEMA) == {}
    assert dropped(adapter, response_schema=SCHEMA) == ["response_schema"]


def test_usage_is_asked_for_in_a_stream():
    body = sent(make_adapter(), make_request(stream=True))
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_mistral_refuses_stream_options():
    body = sent(make_adapter("mistral"), make_request(stream=True))
    assert body["stream"] is True
    assert "stream_options" not in body


def test_what_the_operator_adds_goes_out_as_it_is():
    extra = {"top_k": 40, "provider": {"order": ["a"]}, "temperature": 0.5}
    assert options_sent(make_adapter(), temperature=1, extra=extra) == extra


def test_what_the_operator_adds_cannot_replace_the_conversation():
    extra = {"messages": [], "model": "x", "stream": True, "tools": [], "user": "u"}
    body = sent(make_adapter(), make_request(options={"extra": extra}))
    assert (body["model"], len(body["messages"]), body["user"]) == ("gpt-4o", 1, "u")
    assert not {"stream", "tools"} & body.keys()
    assert dropped(make_adapter(), extra=extra) == ["extra.messages", "extra.model", "extra.stream", "extra.tools"]


def test_no_path_drops_an_option():
    everything = {"temperature": 0.2, "max_tokens": 9, "response_schema": SCHEMA}
    plain = options_sent(make_adapter(), **everything)
    request = make_request(options=everything, tools=(FIND,), stream=True)
    assert plain.items() <= sent(make_adapter(), request).items()


def test_a_streamed_answer_names_what_was_left_out_too():
    request = make_request(options={"temperature": 1}, stream=True)
    _, response = streamed(make_adapter(model="o3"), chunks({"content": "x"}), request=request)
    assert response.metadata == {"dropped_options": ["temperature"]}


def test_an_unknown_model_refuses_nothing():
    assert traits_of("some-model").refuses == frozenset()
