"""How one Claude model behind one endpoint wants the Messages API."""

from dataclasses import dataclass, field
from typing import Any, Final

from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.providers.anthropic.models import ClaudeTraits, traits_of
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.headers import fits_header

BASE_URL: Final = "https://api.anthropic.com"
API_VERSION: Final = "2023-06-01"
"""The version that gateways know too. Newer ones take the same requests, apart from sampling (``WITHOUT_SAMPLING``)."""
WITHOUT_SAMPLING: Final = "2026-10-21"

_CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    "prompt_cache": ("auto", "always", "off"),
    "cache_ttl": ("5m", "1h"),
    "thinking_display": ("summarized", "omitted"),
    "stale_thinking": ("drop_block", "error", None),
    "key_header": ("x-api-key", "authorization"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``ProviderSpec.options`` may set for this adapter."""

    api_version: str = API_VERSION
    betas: tuple[str, ...] = ()
    prompt_cache: str = "auto"
    """``auto`` marks what a next step of the same conversation will send again; ``always`` and ``off`` say it all."""
    cache_ttl: str = "5m"
    thinking_display: str = "summarized"
    """Whether thinking comes back as text that people can read."""
    stale_thinking: str | None = "drop_block"
    """What the provider does with thinking whose conversation has changed since; ``None`` leaves that to it."""
    key_header: str = "x-api-key"

    @classmethod
    def of(cls, provider: ProviderSpec) -> "Settings":
        """Read the options. Raises ``UnusableConfiguration`` with the option and what it may be."""
        given = {name: provider.options[name] for name in _CHOICES if name in provider.options}
        for name, value in given.items():
            if value not in _CHOICES[name]:
                known = ", ".join(map(repr, _CHOICES[name]))
                raise UnusableConfiguration(f"Provider {provider.name!r}: its option {name!r} must be one of {known}.")
        return cls(api_version=_version(provider), betas=_betas(provider), **given)

    @property
    def cache_control(self) -> dict[str, str]:
        return {"type": "ephemeral"} | ({"ttl": self.cache_ttl} if self.cache_ttl != "5m" else {})


def _version(provider: ProviderSpec) -> str:
    version = provider.options.get("api_version") or API_VERSION
    if not fits_header(version):
        raise UnusableConfiguration(f"Provider {provider.name!r}: its option 'api_version' must be a date in text.")
    return str(version)


def _betas(provider: ProviderSpec) -> tuple[str, ...]:
    betas = provider.options.get("betas") or ()
    if not isinstance(betas, list | tuple) or not all(map(fits_header, betas)):
        raise UnusableConfiguration(f"Provider {provider.name!r}: its option 'betas' must be a list of names.")
    return tuple(betas)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Everything that decides about the bytes of a request, besides the request itself."""

    provider: ProviderSpec
    model: ModelSpec
    owner: StateOwner
    settings: Settings
    traits: ClaudeTraits = field(init=False)
    key: str = field(init=False, repr=False)
    """Equal for dialects in which a message has the same bytes; its owner is part of it, key and all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "traits", traits_of(self.model.model_id))
        object.__setattr__(self, "key", f"anthropic {self.owner.model_dump_json()}")

    @property
    def is_anthropics_own(self) -> bool:
        return self.provider.base_url == BASE_URL

    @property
    def max_output(self) -> int:
        return self.model.max_output_tokens or self.traits.max_output

    @property
    def thinking(self) -> str:
        """How thinking is asked for. Other vendors' models take a budget, where they think at all."""
        return self.traits.thinking or ("enabled" if self.model.supports_reasoning else "")

    @property
    def samples(self) -> bool:
        takes = self.model.supports_sampling and self.traits.samples
        return takes and self.settings.api_version < WITHOUT_SAMPLING

    @property
    def json_schema(self) -> bool:
        return self.traits.json_schema or self.model.supports_json_schema
