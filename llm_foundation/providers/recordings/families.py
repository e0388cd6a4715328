"""The wire formats that a recording can be in, and who reads each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build

_SOMEWHERE: Final = "https://recorded.example/v1"
"""Stands for the address of an endpoint: answers are read, and bodies written, without any contact."""


@dataclass(frozen=True, slots=True)
class Family:
    """One wire format. An empty ``base_url`` is the adapter's own address."""

    adapter: str
    base_url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


FAMILIES: Final = {
    "chat": Family("openai_compatible", _SOMEWHERE, {"api": "chat_completions"}),
    "responses": Family("openai", _SOMEWHERE, {"api": "responses"}),
    "anthropic": Family("anthropic"),
    "gemini": Family("gemini"),
    "ollama": Family("ollama"),
}

_COLLECTED: Final = {
    "anthropic": ("anthropic", ""),
    "azure-openai-chat": ("chat", "azure"),
    "azure-openai-responses": ("responses", "azure"),
    "deepseek": ("chat", "deepseek"),
    "deepseek-responses": ("responses", "deepseek"),
    "gemini": ("gemini", "gemini"),
    "gemini-vertex": ("gemini", "vertex"),
    "groq": ("chat", "groq"),
    "mistral": ("chat", "mistral"),
    "ollama": ("ollama", ""),
    "ollama-openai": ("chat", "ollama"),
    "openai-chat": ("chat", "openai"),
    "openai-compatible": ("chat", "custom"),
    "openai-compatible-responses": ("responses", "custom"),
    "openai-responses": ("responses", "openai"),
    "openrouter": ("chat", "openrouter"),
    "openrouter-responses": ("responses", "openrouter"),
    "xai": ("chat", "xai"),
    "xai-responses": ("responses", "xai"),
}
"""Family and profile of what collections of recordings call a provider."""


def family_of(provider: str, *, default: str) -> str:
    """The format of a provider's recordings, where its name says it."""
    return _COLLECTED.get(provider, (default, ""))[0]


def profile_of(provider: str, *, family: str) -> str:
    """The profile that a name stands for in a family: one of a collection, or the profile's own."""
    named, profile = _COLLECTED.get(provider, ("", ""))
    return profile if named == family else provider


def adapter_for(
    family: str,
    *,
    profile: str = "",
    model: str = "unknown",
    base_url: str | None = None,
    options: Mapping[str, Any] | None = None,
    secret: Secret | None = None,
) -> Adapter:
    """The adapter that reads a family. Raises ``ConfigurationError`` where it knows no such profile."""
    known = FAMILIES[family]
    provider = ProviderSpec(
        name="recorded",
        adapter=known.adapter,
        base_url=known.base_url if base_url is None else base_url,
        profile=profile,
        options={**known.options, **(options or {})},
    )
    return build(provider, ModelSpec(model_id=model, supports_json_schema=True, supports_reasoning=True), secret)
