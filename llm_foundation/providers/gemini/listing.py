"""``models`` of the Gemini API, and what Google publishes on Vertex AI."""

from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from llm_foundation.providers.base import ProviderSpec
from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.wire_json import as_count, as_list, as_object, as_text

PAGE_SIZE: Final = {"gemini": 1000, "vertex": 100}

_CHAT: Final = "generateContent"
_EMBEDDINGS: Final = frozenset({"embedContent", "batchEmbedContents", "asyncBatchEmbedContent"})


def address(provider: ProviderSpec, page: str) -> str:
    """Vertex has its list of Google's models in ``v1beta1`` only, whatever project and place the address names."""
    base = provider.base_url
    if provider.profile == "vertex":
        parts = urlsplit(base)
        base = f"{parts.scheme}://{parts.netloc}/v1beta1/publishers/google"
    after = {"pageToken": page} if page else {}
    return f"{base}/models?{urlencode({'pageSize': PAGE_SIZE[provider.profile]} | after)}"


def read_models(payload: Any) -> ModelPage:
    """Raises ``ValueError`` for what is no list of models. JSON of Google leaves empty lists out."""
    envelope = as_object(payload)
    if not isinstance(payload, dict) or (envelope and not envelope.keys() & {"models", "publisherModels"}):
        raise ValueError("no list of models")
    entries = map(as_object, as_list(envelope.get("models") or envelope.get("publisherModels")))
    found = tuple(_model(entry) for entry in entries if as_text(entry.get("name")))
    return ModelPage(found, as_text(envelope.get("nextPageToken")))


def _model(entry: dict[str, Any]) -> FoundModel:
    methods = {method for method in as_list(entry.get("supportedGenerationMethods")) if isinstance(method, str)}
    chats = _CHAT in methods if methods else None
    return FoundModel(
        model_id=entry["name"].removeprefix("models/").removeprefix("publishers/google/models/"),
        display_name=as_text(entry.get("displayName")) or None,
        context_window=as_count(entry.get("inputTokenLimit")) or None,
        # A model of vectors has a limit too, of one token.
        max_output_tokens=(as_count(entry.get("outputTokenLimit")) or None) if chats else None,
        supports_chat=chats,
        supports_embeddings=bool(methods & _EMBEDDINGS) if methods else None,
        # Left out where it is false, and where nobody has filled it in.
        supports_reasoning=True if entry.get("thinking") is True else None,
    )
