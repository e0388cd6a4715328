"""Adapters by the name that a provider record gives. Each is imported when it is first used."""

from importlib import import_module

from llm_foundation.exceptions import ConfigurationError, UnknownAdapter
from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret

_adapters: dict[str, str | type[Adapter]] = {
    "anthropic": "llm_foundation.providers.anthropic.adapter.AnthropicAdapter",
    "gemini": "llm_foundation.providers.gemini.adapter.GeminiAdapter",
    "ollama": "llm_foundation.providers.ollama.adapter.OllamaAdapter",
    "openai": "llm_foundation.providers.openai.adapter.OpenAIAdapter",
    "openai_compatible": "llm_foundation.providers.openai.adapter.OpenAICompatibleAdapter",
}


def register(name: str, adapter: str | type[Adapter]) -> None:
    """Make an adapter known: its class, or the dotted path to it. A later registration of a name replaces it."""
    _adapters[name] = adapter


def names() -> list[str]:
    """The names of all known adapters, in order."""
    return sorted(_adapters)


def adapter_class(name: str) -> type[Adapter]:
    """The class behind a name. Raises ``UnknownAdapter``; ``ConfigurationError`` where its path leads nowhere."""
    if name not in _adapters:
        raise UnknownAdapter(f"There is no adapter {name!r}; known adapters are {', '.join(names())}.")
    adapter = _adapters[name]
    if isinstance(adapter, str):
        adapter = _adapters[name] = _imported(name, adapter)
    return adapter


def build(provider: ProviderSpec, model: ModelSpec, secret: Secret | None = None) -> Adapter:
    """An adapter for one model of one provider. Raises ``ConfigurationError`` where the records cannot work."""
    return adapter_class(provider.adapter)(provider, model, secret)


def _imported(name: str, path: str) -> type[Adapter]:
    module, _, attribute = path.rpartition(".")
    try:
        adapter = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"Adapter {name!r} cannot be loaded from {path!r}: {error}.") from error
    if not (isinstance(adapter, type) and issubclass(adapter, Adapter)):
        raise ConfigurationError(f"Adapter {name!r}: {path!r} is no subclass of llm_foundation.providers.base.Adapter.")
    return adapter
