"""Options of a Responses request, and where it goes."""

import pytest

from tests.providers.builders import FIND, make_request, sent
from tests.providers.responses_builders import dropped, options_sent, responses_adapter

ADAPTER = responses_adapter()
PLAIN = responses_adapter(model="gpt-4o")
SCHEMA = {"name": "order", "schema": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}}
STRICT = {
    "type": "object",
    "properties": {"n": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_options_have_their_own_words_here():
    assert options_sent(PLAIN, temperature=0.5, top_p=0.9, max_tokens=100) == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 100,
    }
    assert options_sent(ADAPTER, reasoning_effort="high") == {"reasoning": {"effort": "high"}}
    assert options_sent(responses_adapter("openrouter", model="gpt-6-sol"), reasoning_effort="max") == {
        "reasoning": {"effort": "xhigh"}
    }


def test_options_that_the_format_has_no_word_for_are_dropped_and_named():
    refused = {"stop": ("END",), "seed": 1, "frequency_penalty": 0.5, "presence_penalty": 0.5}
    assert options_sent(PLAIN, **refused) == {}
    assert sorted(dropped(PLAIN, **refused)) == sorted(refused)


def test_options_that_the_model_refuses_are_dropped_and_named():
    assert options_sent(ADAPTER, temperature=0.5, top_p=0.5, reasoning_effort="xhigh") == {}
    assert dropped(ADAPTER, temperature=0.5, top_p=0.5, reasoning_effort="xhigh") == [
        "temperature",
        "top_p",
        "reasoning_effort",
    ]
    assert dropped(PLAIN, reasoning_effort="high") == ["reasoning_effort"]


def test_fewer_tokens_than_openai_can_write_become_the_fewest():
    assert options_sent(PLAIN, max_tokens=1) == {"max_output_tokens": 16}
    assert dropped(PLAIN, max_tokens=1) == ["max_tokens"]
    assert options_sent(responses_adapter(max_output_tokens=50), max_tokens=100) == {"max_output_tokens": 50}


def test_effort_and_tools_go_together_here():
    adapter = responses_adapter(model="gpt-6-sol")
    request = make_request(tools=(FIND,), options={"reasoning_effort": "high"})
    assert sent(adapter, request)["reasoning"] == {"effort": "high"}
    assert dropped(adapter, request=request) == []
    assert "reasoning" not in sent(adapter, make_request(tools=(FIND,)))


def test_a_schema_for_the_answer_goes_out_in_the_strict_dialect():
    assert options_sent(ADAPTER, response_schema=SCHEMA) == {
        "text": {"format": {"type": "json_schema", "name": "order", "strict": True, "schema": STRICT}}
    }
    assert dropped(responses_adapter(supports_json_schema=False), response_schema=SCHEMA) == ["response_schema"]


def test_what_an_operator_adds_joins_what_stands_there():
    extra = {
        "reasoning": {"summary": "auto"},
        "text": {"verbosity": "low"},
        "include": ["web_search_call.action.sources", "reasoning.encrypted_content"],
        "prompt_cache_key": "shop",
    }
    body = sent(ADAPTER, make_request(options={"reasoning_effort": "low", "response_schema": SCHEMA, "extra": extra}))
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"]["name"] == "order"
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert body["prompt_cache_key"] == "shop"


def test_what_an_operator_sets_comes_last_and_null_takes_ours_away():
    extra = {"store": True, "include": None, "reasoning": {"effort": "none"}, "max_output_tokens": 5}
    body = sent(ADAPTER, make_request(options={"reasoning_effort": "low", "max_tokens": 100, "extra": extra}))
    assert (body["store"], body["reasoning"], body["max_output_tokens"]) == (True, {"effort": "none"}, 5)
    assert "include" not in body


def test_nobody_sets_what_the_rest_relies_on():
    extra = dict.fromkeys(
        ("input", "model", "stream", "tools", "previous_response_id", "conversation", "background"), "x"
    )
    body = sent(ADAPTER, make_request(options={"extra": extra}))
    assert body == sent(ADAPTER, make_request())
    assert dropped(ADAPTER, extra=extra) == [f"extra.{key}" for key in extra]


def test_words_of_chat_completions_are_translated_or_named():
    assert options_sent(ADAPTER, extra={"reasoning_effort": "low", "verbosity": "low"}) == {
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low"},
    }
    assert options_sent(ADAPTER, extra={"n": 2, "logit_bias": {}}) == {}
    assert dropped(ADAPTER, extra={"n": 2, "logit_bias": {}}) == ["extra.n", "extra.logit_bias"]


# --- Addresses --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("profile", "base_url", "url"),
    [
        ("openai", "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("openai", "https://api.openai.com/v1/responses", "https://api.openai.com/v1/responses"),
        ("xai", "https://api.x.ai/v1/", "https://api.x.ai/v1/responses"),
        ("deepseek", "https://api.deepseek.com", "https://api.deepseek.com/responses"),
        ("azure", "https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/responses"),
        ("azure", "https://r.openai.azure.com/openai", "https://r.openai.azure.com/openai/v1/responses"),
        ("azure", "https://r.openai.azure.com/openai/v1", "https://r.openai.azure.com/openai/v1/responses"),
        ("azure", "https://r.services.ai.azure.com/models", "https://r.services.ai.azure.com/openai/v1/responses"),
    ],
)
def test_addresses(profile, base_url, url):
    assert responses_adapter(profile, base_url=base_url).request(make_request()).url == url


def test_azure_names_the_deployment_in_the_body_and_the_key_in_its_own_header():
    adapter = responses_adapter("azure", model="gpt-5", options={"deployment": "my gpt"})
    request = adapter.request(make_request(stream=True))
    assert sent(adapter, make_request())["model"] == "my gpt"
    assert request.headers == {
        "api-key": "a-key",
        "content-type": "application/json",
        "accept": "text/event-stream",
    }
