"""How one Gemini model behind one address wants its requests: the Gemini API itself, or Vertex AI."""

from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote, urlsplit

from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.exceptions import UnknownAdapter, UnusableConfiguration
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.gemini.models import GeminiTraits, gemini_traits

_ADDRESSES: Final = {
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
    "vertex": "https://aiplatform.googleapis.com/v1",
}
"""The usual address of each profile. Vertex's is that of express mode, where a key stands for project and place."""

_VERTEX_HOST: Final = "aiplatform.googleapis.com"
_PUBLISHER: Final = "publishers/google"


@dataclass(frozen=True, slots=True)
class GeminiDialect:
    """Everything that decides about the bytes of a request, besides the request itself."""

    provider: ProviderSpec
    model: ModelSpec
    owner: StateOwner
    traits: GeminiTraits = field(init=False)
    key: str = field(init=False, repr=False)
    """Equal for dialects in which a message has the same bytes; its owner is part of it, key and all."""
    takes_json_schema: bool = field(init=False)
    """Whether the fields for JSON Schema exist here: the stable ``v1`` of the Gemini API has only the older ones."""

    def __post_init__(self) -> None:
        traits = gemini_traits(self.model.model_id, reasons=self.model.supports_reasoning)
        object.__setattr__(self, "traits", traits)
        object.__setattr__(self, "takes_json_schema", _takes_json_schema(self.provider))
        object.__setattr__(self, "key", f"gemini {self.takes_json_schema} {self.owner.model_dump_json()}")

    def address(self, *, stream: bool) -> str:
        """The URL of a call. It never holds the key."""
        return self.method_address("streamGenerateContent?alt=sse" if stream else "generateContent")

    def method_address(self, method: str) -> str:
        return f"{self.provider.base_url}/{quote(self.resource, safe='/@')}:{method}"

    @property
    def on_vertex(self) -> bool:
        return self.provider.profile == "vertex"

    @property
    def resource(self) -> str:
        """The model by its path."""
        return _on_vertex(self) if self.on_vertex else _on_gemini(self)


def effective(provider: ProviderSpec) -> ProviderSpec:
    """The provider with the profile and the address that count. Raises ``UnknownAdapter`` for no known profile."""
    named = provider.base_url.rstrip("/").removesuffix("/models")
    host = urlsplit(named).hostname or ""
    profile = provider.profile or ("vertex" if host.endswith(_VERTEX_HOST) else "gemini")
    if profile not in _ADDRESSES:
        known = ", ".join(_ADDRESSES)
        raise UnknownAdapter(f"Provider {provider.name!r} names the profile {profile!r}; known profiles are {known}.")
    usual = _ADDRESSES[profile]
    if named and not urlsplit(named).path:
        named += urlsplit(usual).path
    return replace(provider, base_url=named or usual, profile=profile)


def _takes_json_schema(provider: ProviderSpec) -> bool:
    usual = not provider.base_url.endswith("generativelanguage.googleapis.com/v1")
    chosen = provider.options.get("json_schema_fields", usual)
    if not isinstance(chosen, bool):
        raise UnusableConfiguration(
            f"Provider {provider.name!r}: its option 'json_schema_fields' cannot be {chosen!r}."
        )
    return chosen


def _on_gemini(dialect: GeminiDialect) -> str:
    model = dialect.model.model_id
    return model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"


def _on_vertex(dialect: GeminiDialect) -> str:
    """A plain id is one of Google's; ``publisher/model`` names another's, and a longer path is a whole resource."""
    model = dialect.model.model_id.removeprefix("models/")
    if dialect.provider.base_url.endswith(_PUBLISHER):
        return f"models/{model}"
    publisher, _, name = model.partition("/")
    if not name:
        return f"{_PUBLISHER}/models/{model}"
    return model if "/" in name else f"publishers/{publisher}/models/{name}"
