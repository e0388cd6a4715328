import pytest

from llm_foundation.exceptions import ConfigurationError, UnknownAdapter
from llm_foundation.providers import registry
from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.openai.adapter import OpenAIAdapter, OpenAICompatibleAdapter

MODEL = ModelSpec(model_id="m")


@pytest.fixture(autouse=True)
def unchanged_registry(monkeypatch):
    monkeypatch.setattr(registry, "_adapters", dict(registry._adapters))


def provider(adapter: str, **fields: str) -> ProviderSpec:
    return ProviderSpec(name="shop", adapter=adapter, base_url=fields.pop("base_url", ""), **fields)


def test_adapters_are_found_by_the_name_of_a_provider_record():
    assert isinstance(registry.build(provider("openai"), MODEL, Secret("k")), OpenAIAdapter)
    compatible = registry.build(provider("openai_compatible", profile="groq"), MODEL, None)
    assert isinstance(compatible, OpenAICompatibleAdapter)


def test_an_unknown_adapter_is_told_with_those_that_are_known():
    with pytest.raises(UnknownAdapter, match=r"no adapter 'grok'; known adapters are [\w, ]*openai, openai_compatible"):
        registry.build(provider("grok"), MODEL, None)


def test_a_registered_class_serves_its_name():
    registry.register("own", OpenAICompatibleAdapter)
    assert registry.adapter_class("own") is OpenAICompatibleAdapter
    assert "own" in registry.names()


def test_a_dotted_path_is_imported_when_it_is_first_used():
    registry.register("own", "no.such.module.Adapter")
    with pytest.raises(ConfigurationError, match=r"'own' cannot be loaded from 'no.such.module.Adapter'"):
        registry.adapter_class("own")


@pytest.mark.parametrize("path", ["json.nothing", "nodots", "json.loads", "builtins.dict"])
def test_a_path_that_leads_to_no_adapter_is_a_configuration_error(path):
    registry.register("own", path)
    with pytest.raises(ConfigurationError, match="'own'"):
        registry.adapter_class("own")


def test_an_unknown_profile_is_told_with_those_that_are_known():
    with pytest.raises(UnknownAdapter, match="'shop' names the profile 'acme'; known profiles are openai, azure"):
        registry.build(provider("openai_compatible", profile="acme"), MODEL, None)


def test_a_custom_endpoint_needs_an_address():
    with pytest.raises(ConfigurationError, match="'shop' needs a base URL"):
        registry.build(provider("openai_compatible"), MODEL, None)
