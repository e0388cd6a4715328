"""Options of a call in the form of the Messages API, and which of them a model cannot take."""

import pytest

from llm_foundation.chat import ChatMessage
from tests.providers.anthropic_builders import (
    OPUS_4_8,
    OPUS_5_5,
    SONNET_4_5,
    SONNET_4_6,
    SONNET_5_5,
    THOUGHT,
    make_claude,
    message,
    used,
)
from tests.providers.builders import FIND, HELLO, answered, call, make_request, sent

BESIDES = {"model", "messages"}


def asked(model: str, *messages, provider=None, spec=None, tools=(), **options) -> tuple[dict, list[str]]:
    """What a request says beside its messages, and what was left out of it."""
    adapter = make_claude(model, options=provider, **(spec or {}))
    request = make_request(*messages, options=options, tools=tools)
    dropped = answered(adapter, message("x"), request=request).metadata.get("dropped_options", [])
    return {key: value for key, value in sent(adapter, request).items() if key not in BESIDES}, dropped


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-3-haiku-20240307", 4_096),
        ("claude-3-5-sonnet-20241022", 8_192),
        ("claude-opus-4-1-20250805", 32_000),
        (SONNET_4_5, 64_000),
        (OPUS_5_5, 128_000),
        ("kimi-k2", 8_192),
    ],
)
def test_a_limit_is_always_given_because_the_api_wants_one(model, expected):
    assert asked(model) == ({"max_tokens": expected}, [])


def test_the_operators_word_on_the_longest_answer_counts():
    assert asked(SONNET_4_5, spec={"max_output_tokens": 1_000}) == ({"max_tokens": 1_000}, [])
    assert asked(SONNET_4_5, spec={"max_output_tokens": 1_000}, max_tokens=50) == ({"max_tokens": 50}, [])
    assert asked(SONNET_4_5, spec={"max_output_tokens": 1_000}, max_tokens=9_999) == (
        {"max_tokens": 1_000},
        ["max_tokens"],
    )


@pytest.mark.parametrize(
    ("options", "written", "dropped"),
    [
        ({"temperature": 0.5}, {"temperature": 0.5}, []),
        ({"temperature": 1.5}, {"temperature": 1}, ["temperature"]),
        ({"top_p": 0.9}, {"top_p": 0.9}, []),
        ({"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5}, ["top_p"]),
        ({"stop": ("END", " \n")}, {"stop_sequences": ["END"]}, ["stop"]),
        ({"seed": 1}, {}, ["seed"]),
        ({"frequency_penalty": 0.1, "presence_penalty": 0.1}, {}, ["frequency_penalty", "presence_penalty"]),
        ({"parallel_tool_calls": False}, {}, []),
        ({"extra": {"top_k": 5, "metadata": {"user_id": "u"}}}, {"top_k": 5, "metadata": {"user_id": "u"}}, []),
        ({"extra": {"model": "x", "messages": [], "stream": True, "system": "x"}}, {}, [
            "extra.model", "extra.messages", "extra.stream", "extra.system",
        ]),
        ({"temperature": 0.5, "extra": {"temperature": 0.7}}, {"temperature": 0.7}, []),
    ],
)  # fmt: skip
def test_options_of_a_model_that_takes_sampling(options, written, dropped):
    assert asked(SONNET_4_5, **options) == ({"max_tokens": 64_000} | written, dropped)


def test_older_models_take_both_samplers():
    assert asked("claude-sonnet-4-20250514", temperature=0.5, top_p=0.9)[0] == {
        "max_tokens": 64_000,
        "temperature": 0.5,
        "top_p": 0.9,
    }


@pytest.mark.parametrize("model", ["claude-opus-4-7", OPUS_4_8, "claude-sonnet-5", OPUS_5_5, "claude-fable-5"])
def test_newer_models_take_no_sampling(model):
    assert asked(model, temperature=1, top_p=0.9)[1] == ["temperature", "top_p"]


def test_nor_does_any_model_by_the_newest_version_of_the_api():
    adapter = make_claude(options={"api_version": "2026-10-21"})
    assert adapter.request(make_request()).headers["anthropic-version"] == "2026-10-21"
    assert asked(SONNET_4_5, provider={"api_version": "2026-10-21"}, temperature=0.5)[1] == ["temperature"]


def test_nor_a_model_whose_operator_says_so():
    assert asked(SONNET_4_5, spec={"supports_sampling": False}, temperature=0.5)[1] == ["temperature"]


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        (SONNET_4_5, "minimal", {"thinking": {"type": "enabled", "budget_tokens": 1_024}}),
        (SONNET_4_5, "low", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
        (SONNET_4_5, "medium", {"thinking": {"type": "enabled", "budget_tokens": 8_192}}),
        (SONNET_4_5, "high", {"thinking": {"type": "enabled", "budget_tokens": 16_384}}),
        (SONNET_4_5, "max", {"thinking": {"type": "enabled", "budget_tokens": 48_000}}),
        (SONNET_4_5, "none", {}),
        ("claude-3-5-haiku-latest", "none", {}),
        (
            "claude-opus-4-5",
            "max",
            {"thinking": {"type": "enabled", "budget_tokens": 48_000}, "output_config": {"effort": "high"}},
        ),
        (SONNET_4_6, "minimal", {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
        (SONNET_4_6, "xhigh", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        (SONNET_4_6, "max", {"thinking": ADAPTIVE, "output_config": {"effort": "max"}}),
        (SONNET_4_6, "none", {}),
        (OPUS_4_8, "xhigh", {"thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}}),
        (OPUS_4_8, "none", {}),
        ("claude-sonnet-5", "none", {"thinking": {"type": "disabled"}}),
        ("claude-haiku-5-5", "none", {"thinking": {"type": "disabled"}}),
        (SONNET_5_5, "none", {"thinking": {"type": "between_tools"}}),
        (OPUS_5_5, "low", {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
    ],
)
def test_an_effort_is_a_budget_or_a_level(model, effort, expected):
    body, dropped = asked(model, reasoning_effort=effort)
    del body["max_tokens"]
    assert (body, dropped) == (expected, [])


@pytest.mark.parametrize(
    ("model", "effort"),
    [("claude-3-5-sonnet-20241022", "low"), ("kimi-k2", "low")],
)
def test_an_effort_that_the_model_cannot_take_is_left_out(model, effort):
    body, dropped = asked(model, reasoning_effort=effort)
    assert body.keys() == {"max_tokens"}
    assert dropped == ["reasoning_effort"]


@pytest.mark.parametrize("model", [OPUS_5_5, "claude-fable-5"])
def test_a_model_that_always_thinks_thinks_as_little_as_it_can(model):
    body, dropped = asked(model, reasoning_effort="none")
    assert body == {"max_tokens": 128_000, "output_config": {"effort": "low"}}
    assert dropped == ["reasoning_effort"]


def test_other_vendors_models_think_with_a_budget_where_their_operator_says_that_they_think():
    body, _ = asked("kimi-k2", spec={"supports_reasoning": True, "max_output_tokens": 32_000}, reasoning_effort="low")
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2_048}


@pytest.mark.parametrize(("limit", "budget"), [(1_025, 1_024), (2_000, 1_500), (100_000, 16_384)])
def test_a_budget_leaves_room_for_the_answer(limit, budget):
    body, _ = asked(SONNET_4_5, reasoning_effort="high", max_tokens=limit)
    assert body["thinking"]["budget_tokens"] == budget


def test_without_room_for_the_least_budget_there_is_no_thinking():
    assert asked(SONNET_4_5, reasoning_effort="high", max_tokens=1_024) == (
        {"max_tokens": 1_024},
        ["reasoning_effort"],
    )


def test_thinking_can_come_back_without_readable_text():
    body, _ = asked(OPUS_4_8, provider={"thinking_display": "omitted"}, reasoning_effort="low")
    assert body["thinking"] == {"type": "adaptive", "display": "omitted"}


def test_with_thinking_temperature_is_one_or_nothing():
    assert asked(SONNET_4_6, reasoning_effort="low", temperature=0.5, top_p=0.9)[1] == ["temperature", "top_p"]
    body, dropped = asked(SONNET_4_6, reasoning_effort="low", temperature=1)
    assert (body["temperature"], dropped) == (1, [])


def test_what_an_operator_says_of_thinking_counts_before_the_effort():
    config = {"type": "enabled", "budget_tokens": 2_000}
    body, dropped = asked(SONNET_4_6, reasoning_effort="max", temperature=0.5, extra={"thinking": config})
    assert body["thinking"] == config
    assert body["output_config"] == {"effort": "max"}
    assert dropped == ["temperature"]


def test_an_operators_output_settings_join_ours():
    body, _ = asked(SONNET_4_6, reasoning_effort="low", extra={"output_config": {"effort": "max", "task_budget": 1}})
    assert body["output_config"] == {"effort": "max", "task_budget": 1}


def foreign_turn() -> list[ChatMessage]:
    return [HELLO, ChatMessage.assistant_tool_calls([call(id="1")]), ChatMessage.tool_result("1", "x")]


def own_turn(*content) -> list[ChatMessage]:
    turn = answered(make_claude(), message(*content)).to_message()
    return [turn, *(ChatMessage.tool_result(made.id, "x") for made in turn.tool_calls)]


@pytest.mark.parametrize(
    ("messages", "thinks"),
    [
        (foreign_turn(), False),
        ([*foreign_turn(), ChatMessage.assistant("Done."), HELLO], True),
        ([*foreign_turn(), HELLO], False),
        ([HELLO, *own_turn(THOUGHT, used(id="1"))], True),
        ([HELLO, *own_turn(THOUGHT, used(id="1")), *own_turn(used(id="2"))], True),
        ([HELLO, *own_turn(used(id="1")), *own_turn(THOUGHT, used(id="2"))], False),
        ([HELLO, *own_turn(THOUGHT, used(id="1")), HELLO, *own_turn(used(id="2"))], False),
        ([*foreign_turn(), ChatMessage.assistant("Done."), HELLO, *own_turn(THOUGHT, used(id="2"))], True),
    ],
    ids=[
        "foreign call",
        "foreign call, answered",
        "user spoke beside the results",
        "own",
        "own, then bare",
        "bare, then own",
        "own, user, bare",
        "closed, then own",
    ],
)
def test_a_budget_is_given_only_where_an_open_turn_begins_with_thinking(messages, thinks):
    body, dropped = asked(SONNET_4_5, *messages, tools=(FIND,), reasoning_effort="low")
    assert ("thinking" in body) is thinks
    assert dropped == ([] if thinks else ["reasoning_effort"])


def test_a_level_does_not_care_how_an_open_turn_begins():
    body, dropped = asked(SONNET_4_6, *foreign_turn(), tools=(FIND,), reasoning_effort="low")
    assert (body["thinking"], dropped) == (ADAPTIVE, [])


PERSON = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


def test_an_answer_in_a_schema_uses_the_format_of_the_api():
    body, dropped = asked(SONNET_4_5, response_schema={"schema": PERSON})
    assert body["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"age": {"type": "integer", "description": "(minimum: 0)"}},
                "required": ["age"],
                "additionalProperties": False,
            },
        }
    }
    assert dropped == []


def test_format_and_effort_stand_side_by_side():
    body, _ = asked(OPUS_4_8, response_schema={"schema": PERSON}, reasoning_effort="max")
    assert body["output_config"].keys() == {"effort", "format"}


@pytest.mark.parametrize(
    ("model", "schema"),
    [
        ("claude-sonnet-4-20250514", PERSON),
        (SONNET_4_5, {"type": "object", "additionalProperties": {"type": "string"}}),
        (SONNET_4_5, {"type": "object", "properties": {str(n): {"type": "string"} for n in range(25)}}),
        (SONNET_4_5, {"type": "array", "items": PERSON}),
    ],
    ids=["older model", "free map", "too many optional keys", "no object"],
)
def test_a_schema_that_the_api_would_not_enforce_is_left_out(model, schema):
    body, dropped = asked(model, response_schema={"schema": schema})
    assert "output_config" not in body
    assert dropped == ["response_schema"]


def test_an_operator_may_say_that_an_unknown_model_keeps_to_a_schema():
    body, _ = asked("kimi-k2", spec={"supports_json_schema": True}, response_schema={"schema": PERSON})
    assert body["output_config"]["format"]["type"] == "json_schema"
