"""Ollama's ``/api/embed``."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llm_foundation.chat.completions import Usage
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.providers.ollama.dialect import OllamaDialect
from llm_foundation.providers.wire_json import as_count, as_list, as_object, as_text, to_json

RESERVED: Final = frozenset({"input", "model"})
"""What ``extra`` cannot replace."""


def body(texts: Sequence[str], dialect: OllamaDialect, extra: Mapping[str, Any]) -> bytes:
    """Ollama cuts what does not fit, and says nothing of it, unless it is told not to."""
    added = {key: value for key, value in extra.items() if key not in RESERVED}
    size = {} if dialect.context is None else {"num_ctx": dialect.context}
    options = size | as_object(added.pop("options", None))
    rest = {"truncate": False} | added | ({"options": options} if options else {})
    return to_json({"model": dialect.model.model_id, "input": list(texts)} | rest)


def read_embeddings(payload: Any) -> Embeddings:
    """Raises ``ValueError`` for what holds no vectors."""
    envelope = as_object(payload)
    vectors = as_list(envelope.get("embeddings"))
    if not vectors:
        raise ValueError("no vectors")
    counted = as_count(envelope.get("prompt_eval_count"))
    return Embeddings(
        vectors=tuple(map(as_list, vectors)),  # type: ignore[arg-type]  # read as vectors, whatever they are
        usage=Usage() if counted is None else Usage(input_tokens=counted, output_tokens=0),
        model=as_text(envelope.get("model")),
    )
