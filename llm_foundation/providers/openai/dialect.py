"""How one model behind one endpoint wants its requests, in either of OpenAI's wire formats."""

from dataclasses import dataclass, field

from llm_foundation.chat.provider_state import StateOwner
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.openai.endpoints import EndpointProfile
from llm_foundation.providers.openai.model_traits import ModelTraits, traits_of


@dataclass(frozen=True, slots=True)
class Dialect:
    """Everything that decides about the bytes of a request, besides the request itself."""

    provider: ProviderSpec
    profile: EndpointProfile
    model: ModelSpec
    owner: StateOwner
    is_responses: bool = False
    """Whether requests go out in the Responses form; else in that of Chat Completions."""
    traits: ModelTraits = field(init=False)
    key: str = field(init=False, repr=False)
    """Equal for dialects in which a message has the same bytes; its owner is part of it, key and all."""

    def __post_init__(self) -> None:
        traits = traits_of(self.model.model_id)
        object.__setattr__(self, "traits", traits.on_responses() if self.is_responses else traits)
        object.__setattr__(self, "key", f"{self.profile!r} {self.owner.model_dump_json()}")

    @property
    def reasons(self) -> bool:
        return self.model.supports_reasoning or self.traits.reasons
