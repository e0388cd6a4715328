"""Ollama's ``/api/tags``, which tells the names of the models that are there, and ``/api/show`` about one of them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from llm_foundation.providers.discovery import FoundModel, ModelPage
from llm_foundation.providers.wire_json import as_count, as_list, as_object, as_text

_NUM_CTX: Final = re.compile(r"^num_ctx\s+([1-9]\d{0,8})\s*$", re.MULTILINE)


def read_models(payload: Any) -> ModelPage:
    """Raises ``ValueError`` for what is no list of models; a server without models sends null."""
    envelope = as_object(payload)
    if "models" not in envelope:
        raise ValueError("no list of models")
    names = [as_text(entry.get("model") or entry.get("name")) for entry in map(as_object, as_list(envelope["models"]))]
    return ModelPage(tuple(FoundModel(name) for name in names if name))


def _window(told: Mapping[str, Any]) -> int | None:
    """What the server keeps of a conversation, not what the model could hold: a window on the record is asked of the
    server, which would set aside memory for all of it. Only what runs elsewhere costs no memory here.
    """
    if told.get("remote_host"):
        about = as_object(told.get("model_info"))
        return as_count(about.get(f"{as_text(about.get('general.architecture'))}.context_length")) or None
    set_by_the_model = _NUM_CTX.search(as_text(told.get("parameters")))
    return int(set_by_the_model[1]) if set_by_the_model else None


def read_details(payload: Any, *, found: FoundModel) -> FoundModel:
    """Servers older than 0.6.4 do not say what a model can do."""
    told = as_object(payload)
    able = {name for name in as_list(told.get("capabilities")) if isinstance(name, str)}

    def can(capability: str) -> bool | None:
        return capability in able if able else None

    return replace(
        found,
        context_window=_window(told),
        supports_chat=can("completion"),
        supports_embeddings=can("embedding"),
        supports_tools=can("tools"),
        supports_vision=can("vision"),
        supports_reasoning=can("thinking"),
    )
