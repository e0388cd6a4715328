"""How one model behind one Ollama wants its requests: a server of one's own, or Ollama's cloud."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.exceptions import UnusableConfiguration
from llm_foundation.providers.base import ModelSpec, ProviderSpec

USUAL_ADDRESS: Final = "http://localhost:11434"
_CLOUD: Final = "ollama.com"
_PASTED: Final = re.compile(r"(/api(/chat)?|/v1(/chat/completions)?)?/*$")
"""What people leave at the end of the address; ``/v1`` is where Ollama speaks OpenAI's format instead of its own."""

Thinking = Mapping[str, bool | str]

_SWITCHED: Final[Thinking] = {
    "none": False,
    "minimal": True,
    "low": True,
    "medium": True,
    "high": True,
} | dict.fromkeys(("xhigh", "max"), True)
_LEVELS: Final[Thinking] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "max",
    "max": "max",
}
_GPT_OSS: Final[Thinking] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""These models cannot be kept from thinking (ollama#11678), and know three levels."""


@dataclass(frozen=True, slots=True)
class OllamaDialect:
    """Everything that decides about the bytes of a request, besides the request itself."""

    provider: ProviderSpec
    model: ModelSpec
    owner: StateOwner
    key: str = field(init=False, repr=False)
    """Equal for dialects in which a message has the same bytes; its owner is part of it, key and all."""
    thinking: Thinking = field(init=False)
    """``think`` for each effort that the model takes; empty for a model that does not think."""
    context: int | None = field(init=False)
    """How much context the server shall keep; ``None`` leaves that to the server.

    Without being told, it keeps a few thousand tokens, whatever the model could hold. So the record counts: a
    conversation that is fitted to the record's window would be cut otherwise. The cloud gives each model all it can.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"ollama {self.owner.model_dump_json()}")
        object.__setattr__(self, "thinking", self._thinking())
        tells = _switch(self.provider, "num_ctx", usual=not self.is_cloud)
        object.__setattr__(self, "context", self.model.context_window if tells else None)

    @property
    def is_cloud(self) -> bool:
        """Whether the model runs at Ollama's, also where a local server only passes requests on."""
        host = urlsplit(self.provider.base_url).hostname or ""
        tag = self.model.model_id.rpartition(":")[2]
        return host == _CLOUD or host.endswith(f".{_CLOUD}") or tag == "cloud" or tag.endswith("-cloud")

    @property
    def address(self) -> str:
        return f"{self.provider.base_url}/api/chat"

    def _thinking(self) -> Thinking:
        """Until 2026 servers answered 400 to a level for any model but gpt-oss (crush#2623); the cloud knows them."""
        levels = _switch(self.provider, "think_levels", usual=self.is_cloud)
        if self.model.model_id.rpartition("/")[2].lower().startswith("gpt-oss"):
            return _GPT_OSS
        if not self.model.supports_reasoning:
            return {}  # ``think`` is an error for a model that cannot (openclaude#1371)
        return _LEVELS if levels else _SWITCHED


def effective(provider: ProviderSpec) -> ProviderSpec:
    """The provider with the address that counts."""
    return replace(provider, base_url=_PASTED.sub("", provider.base_url) or USUAL_ADDRESS)


def _switch(provider: ProviderSpec, name: str, *, usual: bool) -> bool:
    chosen: Any = provider.options.get(name, usual)
    if not isinstance(chosen, bool):
        raise UnusableConfiguration(f"Provider {provider.name!r}: its option {name!r} must be true or false.")
    return chosen
