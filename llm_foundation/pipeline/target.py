"""Who serves a configuration: the adapter, with what the call needs to know of provider and model."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from llm_foundation.chat.options import ToolDefinition
from llm_foundation.conf import settings
from llm_foundation.exceptions import ProviderError, TrustCeilingExceeded, UnusableConfiguration
from llm_foundation.models import Configuration
from llm_foundation.providers import registry
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.transport.deadlines import Deadlines
from llm_foundation.vocabulary import DataClass, TrustZone


@dataclass(frozen=True, slots=True)
class Target:
    """One candidate for a call. ``ceiling`` is the highest data class that its trust zone may see.

    ``parts`` are what the adapter was made from.
    """

    configuration: str
    provider: str
    model: str
    adapter: Adapter
    parts: tuple[ProviderSpec, ModelSpec, Secret | None]
    deadlines: Deadlines
    zone: TrustZone
    ceiling: DataClass

    def require_ceiling(self, high_water: DataClass) -> None:
        """Checked immediately before contact, since a configuration may have moved since the run began."""
        if not high_water.fits(self.ceiling):
            raise TrustCeilingExceeded(
                f"Configuration {self.configuration!r}: the conversation holds {high_water} data; provider"
                f" {self.provider!r} is declared {self.zone} and may see {self.ceiling} at most. Nothing was sent."
            )

    @property
    def calls_tools(self) -> bool:
        """Whether the model can call tools, and the wire format carries them."""
        return self.adapter.model.supports_tools and self.adapter.capabilities.tools

    def require_tools(self, offer: Iterable[ToolDefinition]) -> None:
        if any(True for _ in offer) and not self.calls_tools:
            raise UnusableConfiguration(
                f"Configuration {self.configuration!r} offers tools, but model {self.model!r} cannot call any:"
                " choose a model that can, or withdraw the tools."
            )

    def named_in_errors(self) -> AbstractContextManager[None]:
        return named_in_errors(self.provider, self.model)


@contextmanager
def named_in_errors(provider: str, model: str) -> Iterator[None]:
    """Whoever reads an error learns which provider and model it came from."""
    try:
        yield
    except ProviderError as error:
        error.provider = error.provider or provider
        error.model = error.model or model
        raise


def target_of(configuration: Configuration, *, before: Target | None = None) -> Target:
    """The named configuration's own provider and model. Raises ``ConfigurationError`` saying what to change.

    The adapter is that of the target ``before``, where nothing has changed of what that was made from.
    """
    language_model = configuration.language_model
    provider = language_model.provider
    zone = TrustZone(provider.trust_zone)
    parts = provider.spec(), language_model.spec(), configuration.secret()
    return Target(
        configuration=configuration.slug,
        provider=provider.name,
        model=language_model.model_id,
        adapter=before.adapter if before and before.parts == parts else registry.build(*parts),
        parts=parts,
        deadlines=Deadlines(**provider.timeouts()._asdict()),
        zone=zone,
        ceiling=settings.TRUST_CEILINGS[zone],
    )
