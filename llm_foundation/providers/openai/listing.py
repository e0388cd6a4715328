"""``/models``: OpenAI tells ids and no more; others add what their models can do, each in words of its own."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import quote

from llm_foundation.providers.base import ProviderSpec
from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.openai.endpoint_quirks import AZURE_API_VERSION
from llm_foundation.providers.openai.endpoints import EndpointProfile
from llm_foundation.providers.wire_json import as_count, as_list, as_object, as_text

_WINDOWS: Final = ("context_length", "context_window", "max_context_length", "max_model_len")
"""OpenRouter, Together and Fireworks; Groq; Mistral and LM Studio; vLLM."""

_CHATS: Final = ("completion_chat", "chat_completion")
"""Mistral; Azure."""

_MILLION: Final = Decimal(1_000_000)
_LONGEST_PRICE: Final = 40


def address(provider: ProviderSpec, profile: EndpointProfile) -> str:
    """Azure lists the models that a resource may deploy, not its deployments: those are told by its management API."""
    base = provider.base_url.removesuffix("/chat/completions").removesuffix("/embeddings")
    if profile.name != "azure" or base.endswith("/openai/v1"):
        return f"{base}/models"
    version = quote(str(provider.options.get("api_version") or AZURE_API_VERSION), safe="")
    return f"{base.removesuffix('/models').removesuffix('/openai')}/openai/models?api-version={version}"


def read_models(payload: Any) -> ModelPage:
    """Together sends the list bare. Raises ``ValueError`` for what is no list of models."""
    listed = payload if isinstance(payload, list) else as_object(payload).get("data")
    if not isinstance(listed, list):
        raise ValueError("no list of models")
    entries = (as_object(entry) for entry in listed)
    return ModelPage(tuple(_model(entry) for entry in entries if as_text(entry.get("id"))))


def _model(entry: dict[str, Any]) -> FoundModel:
    parameters = set(filter(lambda name: isinstance(name, str), as_list(entry.get("supported_parameters"))))

    def takes(parameter: str) -> bool | None:
        """What OpenRouter says of a model by the parameters that it takes."""
        return parameter in parameters if parameters else None

    able = as_object(entry.get("capabilities"))
    longest = as_object(entry.get("top_provider")).get("max_completion_tokens", entry.get("max_completion_tokens"))
    return FoundModel(
        model_id=entry["id"],
        display_name=as_text(entry.get("display_name") or entry.get("name")) or None,
        context_window=_window(entry),
        max_output_tokens=as_count(longest) or None,
        supports_chat=_first(*map(able.get, _CHATS), entry.get("supports_chat"), _is_kind(entry, "chat")),
        supports_embeddings=_first(able.get("embeddings"), _is_kind(entry, "embedding")),
        supports_tools=_first(able.get("function_calling"), entry.get("supports_tools"), takes("tools")),
        supports_vision=_first(able.get("vision"), entry.get("supports_image_input"), _reads_images(entry)),
        supports_json_schema=takes("structured_outputs"),
        supports_sampling=takes("temperature"),
        supports_reasoning=_first(able.get("reasoning"), takes("reasoning")),
        **_prices(as_object(entry.get("pricing"))),
    )


def _is_kind(entry: dict[str, Any], kind: str) -> bool | None:
    """What Together calls a model; that one is something else says nothing of what it can do beside."""
    return True if entry.get("type") == kind else None


def _window(entry: dict[str, Any]) -> int | None:
    trained = as_object(entry.get("meta")).get("n_ctx_train")  # llama.cpp
    return next(filter(None, map(as_count, [*(entry.get(name) for name in _WINDOWS), trained])), None)


def _reads_images(entry: dict[str, Any]) -> bool | None:
    modalities = as_list(as_object(entry.get("architecture")).get("input_modalities") or entry.get("input_modalities"))
    return "image" in modalities if modalities else None


def _prices(pricing: dict[str, Any]) -> dict[str, Decimal | None]:
    """OpenRouter gives dollars per token, as text; Together dollars per million, and 0 where it sells none."""
    if "prompt" in pricing:
        names = {"input": "prompt", "output": "completion", "cached_input": "input_cache_read"}
        names["cache_write"] = "input_cache_write"
        return {f"{name}_price": _price(pricing.get(key), _MILLION) for name, key in names.items()}
    named = ((name, _price(pricing.get(name), Decimal(1))) for name in ("input", "output"))
    return {f"{name}_price": price for name, price in named if price}


def _price(value: Any, factor: Decimal) -> Decimal | None:
    """A price below zero says that it depends."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or len(str(value)) > _LONGEST_PRICE:
        return None
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        return None
    return (price * factor).normalize() + 0 if price.is_finite() and 0 <= price < _MILLION else None


def _first(*values: Any) -> bool | None:
    return next(_said(values), None)


def _said(values: tuple[Any, ...]) -> Iterator[bool]:
    yield from (value for value in values if isinstance(value, bool))
