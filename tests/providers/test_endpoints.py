"""Addresses, keys and headers of the endpoints."""

import pytest

from llm_foundation.chat import ChatMessage
from llm_foundation.exceptions import SecretUnavailable, UnusableConfiguration
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.openai.endpoints import PROFILES, profile_for
from llm_foundation.providers.registry import build
from tests.providers.builders import call, make_adapter, make_request, messages_sent, sent


def url(profile: str, base_url: str = "", **fields) -> str:
    return make_adapter(profile, base_url=base_url, **fields).request(make_request()).url


def test_every_vendor_that_the_design_names_has_a_profile():
    assert list(PROFILES) == [
        "openai",
        "azure",
        "openrouter",
        "groq",
        "mistral",
        "deepseek",
        "xai",
        "together",
        "fireworks",
        "ollama",
        "vllm",
        "llama_cpp",
        "lm_studio",
        "custom",
    ]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("openai", "https://api.openai.com/v1/chat/completions"),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions"),
        ("groq", "https://api.groq.com/openai/v1/chat/completions"),
        ("mistral", "https://api.mistral.ai/v1/chat/completions"),
        ("deepseek", "https://api.deepseek.com/chat/completions"),
        ("xai", "https://api.x.ai/v1/chat/completions"),
        ("ollama", "http://localhost:11434/v1/chat/completions"),
    ],
)
def test_a_vendor_has_its_usual_address(profile, expected):
    assert url(profile) == expected


@pytest.mark.parametrize(
    "base", ["https://llm.example/v1", "https://llm.example/v1/", "https://llm.example/v1/chat/completions"]
)
def test_an_address_is_taken_as_people_paste_it(base):
    assert url("custom", base) == "https://llm.example/v1/chat/completions"


def test_azure_puts_deployment_and_version_into_the_address():
    address = url(
        "azure", "https://res.openai.azure.com", options={"deployment": "my gpt", "api_version": "2025-01-01-preview"}
    )
    assert address == (
        "https://res.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2025-01-01-preview"
    )


def test_azure_takes_the_model_as_deployment_where_none_is_named():
    assert url("azure", "https://res.openai.azure.com/openai/") == (
        "https://res.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    )


def test_azure_model_inference_has_no_deployment():
    address = url("azure", "https://res.services.ai.azure.com/models", options={"api_version": "2024-05-01-preview"})
    assert address == "https://res.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview"


def test_azure_v1_has_neither_deployment_nor_version():
    assert url("azure", "https://res.openai.azure.com/openai/v1") == (
        "https://res.openai.azure.com/openai/v1/chat/completions"
    )


def test_the_key_goes_out_as_a_bearer():
    headers = make_adapter("openai", key=" sk-1234\n").request(make_request()).headers
    assert headers == {
        "authorization": "Bearer sk-1234",
        "content-type": "application/json",
        "accept": "application/json",
    }


def test_azure_has_a_header_of_its_own_for_the_key():
    headers = make_adapter("azure", key="1234").request(make_request()).headers
    assert headers["api-key"] == "1234"
    assert "authorization" not in headers


def test_a_server_without_a_key_gets_none():
    assert "authorization" not in make_adapter("ollama", key=None).request(make_request()).headers


def test_a_stream_is_asked_for_as_one():
    assert make_adapter().request(make_request(stream=True)).headers["accept"] == "text/event-stream"


def test_a_provider_may_name_headers_of_its_own_but_not_replace_the_key():
    options = {"headers": {"HTTP-Referer": "https://shop.example", "Authorization": "Bearer other"}}
    headers = make_adapter("openrouter", key="mine", options=options).request(make_request()).headers
    assert headers["http-referer"] == "https://shop.example"
    assert headers["authorization"] == "Bearer mine"


@pytest.mark.parametrize("headers", [{"x": "a\r\ny: b"}, {"x": 1}, {"ü": "a"}, ["x"]])
def test_headers_that_cannot_be_sent_are_refused(headers):
    with pytest.raises(UnusableConfiguration, match="'shop': its option 'headers'"):
        make_adapter(options={"headers": headers})


@pytest.mark.parametrize("key", ["sk-1\r\nx-evil: 1", "sk-“1”"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with pytest.raises(SecretUnavailable) as caught:
        make_adapter(key=key)
    assert "'shop'" in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_the_key_shows_in_no_repr():
    adapter = make_adapter(key="sk-very-secret")
    assert "very-secret" not in f"{adapter.request(make_request())!r} {adapter.chat.dialect!r} {adapter.owner!r}"


def test_options_adjust_a_profile_where_an_endpoint_fits_none_quite():
    adapter = make_adapter("custom", options={"empty_content": "", "stream_options": False})
    turn = ChatMessage.assistant_tool_calls([call()])
    assert messages_sent(adapter, turn)[0]["content"] == ""
    assert "stream_options" not in sent(adapter, make_request(stream=True))


def test_an_adjustment_of_the_wrong_kind_is_refused():
    provider = ProviderSpec(name="shop", adapter="x", base_url="", options={"stream_options": "no"})
    with pytest.raises(UnusableConfiguration, match="'shop': its option 'stream_options' cannot be 'no'"):
        profile_for(provider, default="custom")


def test_owner_names_the_address_that_counts_and_not_the_key():
    provider = ProviderSpec(name="shop", adapter="openai", base_url="")
    owner = build(provider, ModelSpec(model_id="gpt-4o"), None).owner
    assert (owner.adapter, owner.base_url, owner.model_family) == ("openai", "https://api.openai.com/v1", "gpt-4o")
    assert owner.credential_fingerprint == ""


def test_a_profile_that_enforces_no_schema_says_so():
    assert make_adapter("deepseek").capabilities.json_schema is False
    assert make_adapter("openai").capabilities.json_schema is True
