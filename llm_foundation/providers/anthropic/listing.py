"""``/v1/models`` of the Messages API."""

from typing import Any, Final
from urllib.parse import urlencode

from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.wire_json import as_count, as_object, as_text

PAGE_SIZE: Final = 1000
"""The most that Anthropic gives at once."""


def address(base_url: str, page: str) -> str:
    after = {"after_id": page} if page else {}
    return f"{base_url}/v1/models?{urlencode({'limit': PAGE_SIZE} | after)}"


def read_models(payload: Any) -> ModelPage:
    """Raises ``ValueError`` for what is no list of models. Retired models are listed too, but answer no more."""
    envelope = as_object(payload)
    listed = envelope.get("data")
    if not isinstance(listed, list):
        raise ValueError("no list of models")
    entries = [entry for entry in map(as_object, listed) if as_text(entry.get("id"))]
    usable = tuple(_model(entry) for entry in entries if entry.get("lifecycle") != "retired")
    return ModelPage(usable, as_text(envelope.get("last_id")) if envelope.get("has_more") is True else "")


def _model(entry: dict[str, Any]) -> FoundModel:
    able = as_object(entry.get("capabilities"))
    return FoundModel(
        model_id=entry["id"],
        display_name=as_text(entry.get("display_name")) or None,
        context_window=as_count(entry.get("max_input_tokens")) or None,
        max_output_tokens=as_count(entry.get("max_tokens")) or None,
        supports_vision=_supported(able, "image_input"),
        supports_json_schema=_supported(able, "structured_outputs"),
        supports_reasoning=_supported(able, "thinking"),
    )


def _supported(able: dict[str, Any], name: str) -> bool | None:
    said = as_object(able.get(name)).get("supported")
    return said if isinstance(said, bool) else None
