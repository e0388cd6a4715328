"""``/embeddings``, as OpenAI has it and others after it."""

import struct
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from llm_foundation.chat.completions import Usage
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai.endpoints import EndpointProfile
from llm_foundation.providers.openai.usage import read_usage
from llm_foundation.providers.openai_responses.request import model_name
from llm_foundation.providers.wire_json import as_count, as_list, as_object, as_text, to_json

RESERVED: Final = frozenset({"input", "model"})
"""What ``extra`` cannot replace."""


def address(provider: ProviderSpec, profile: EndpointProfile, model: ModelSpec) -> str:
    """``/embeddings`` beside ``/chat/completions``, below the same deployment and version where Azure has those."""
    path, mark, query = profile.address(provider, model).partition("?")
    return f"{path.removesuffix('/chat/completions').removesuffix('/embeddings')}/embeddings{mark}{query}"


def body(texts: Sequence[str], dialect: Dialect, extra: Mapping[str, Any]) -> bytes:
    """OpenAI is asked for base64, in which vectors are a quarter as long; who else takes that is not known."""
    encoding = {"encoding_format": "base64"} if dialect.profile.is_openai else {}
    added = {key: value for key, value in extra.items() if key not in RESERVED}
    model = model_name(dialect.provider, dialect.profile, dialect.model)
    return to_json({"model": model, "input": list(texts)} | encoding | added)


def read_embeddings(payload: Any) -> Embeddings:
    """Raises ``ValueError`` for what holds no vectors, or not each one exactly once."""
    envelope = as_object(payload)
    entries = [as_object(entry) for entry in as_list(envelope.get("data"))]
    if not entries:
        raise ValueError("no vectors")
    return Embeddings(
        vectors=tuple(_vector(entry.get("embedding")) for entry in _in_order(entries)),
        usage=_usage(envelope.get("usage")),
        model=as_text(envelope.get("model")),
    )


def _in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By their index where they have one; without, they come in the order of the texts."""
    if all(entry.get("index") is None for entry in entries):
        return entries
    by_index = {as_count(entry.get("index")): entry for entry in entries}
    if by_index.keys() != set(range(len(entries))):
        raise ValueError("not one vector for each text")
    return [by_index[index] for index in range(len(entries))]


def _vector(embedding: Any) -> Any:
    """The numbers; base64 of 32-bit floats where it was asked for."""
    if not isinstance(embedding, str):
        return as_list(embedding)
    raw = b64decode(embedding, validate=True)
    if len(raw) % 4:
        raise ValueError("half a number")
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def _usage(raw: Any) -> Usage:
    """Nothing is written here: where a total is all that is told, it is the input."""
    told = as_object(raw)
    read = read_usage({"prompt_tokens": told.get("total_tokens")} | told) or Usage()
    return read if read.input_tokens is None else read.model_copy(update={"output_tokens": 0})
