"""Embeddings of the Gemini API, and of Vertex AI, which has two forms of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llm_foundation.chat.completions import Usage
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.providers.embedding_limits import EmbeddingLimits
from llm_foundation.providers.gemini.usage import read_usage
from llm_foundation.providers.wire_json import as_count, as_list, as_object, to_json

GEMINI: Final = EmbeddingLimits(texts=100)
VERTEX_PREDICT: Final = EmbeddingLimits(texts=250, tokens=20_000, text_tokens=2_048)
"""What Google's older models on Vertex AI take: ``text-embedding-005`` and so on."""
VERTEX_PARTNERS: Final = EmbeddingLimits(texts=1)
"""Models that others made, and Google serves: one text a request."""

BATCH: Final = "batchEmbedContents"
SINGLE: Final = "embedContent"
PREDICT: Final = "predict"

RESERVED: Final = frozenset({"content", "model"})
"""What ``extra`` cannot replace."""
_OF_THE_TEXT: Final = {"taskType": "task_type", "title": "title"}
"""What stands beside each text in a prediction, and its name there."""
_UNCUT: Final = {"autoTruncate": False}
"""Vertex AI cuts a text that is too long, and says little about it; the Gemini API cannot be asked not to."""


def method(model_id: str, *, on_vertex: bool, count: int) -> str:
    """Which of the three forms carries this many texts for this model."""
    name = model_id.rpartition("/")[2]
    if not on_vertex:
        return BATCH
    if "gemini" in name or "maas" in name:
        return BATCH if count > 1 else SINGLE
    return PREDICT


def limits(model_id: str, *, on_vertex: bool) -> EmbeddingLimits:
    if "maas" in model_id and on_vertex:
        return VERTEX_PARTNERS
    return VERTEX_PREDICT if method(model_id, on_vertex=on_vertex, count=1) == PREDICT else GEMINI


def body(texts: Sequence[str], extra: Mapping[str, Any], *, method: str, resource: str, on_vertex: bool) -> bytes:
    """``extra`` goes where each form wants it: ``taskType``, ``title``, ``outputDimensionality``, ``autoTruncate``."""
    added = {key: value for key, value in extra.items() if key not in RESERVED}
    if method == PREDICT:
        return to_json(_prediction(texts, added))
    config = {"embedContentConfig": _UNCUT | added} if on_vertex else {"model": resource} | added
    requests = [{**config, "content": {"parts": [{"text": text}]}} for text in texts]
    return to_json(requests[0] if method == SINGLE else {"requests": requests})


def _prediction(texts: Sequence[str], extra: Mapping[str, Any]) -> dict[str, Any]:
    about = {name: extra[key] for key, name in _OF_THE_TEXT.items() if key in extra}
    rest = {key: value for key, value in extra.items() if key not in _OF_THE_TEXT}
    return {"instances": [{"content": text} | about for text in texts], "parameters": _UNCUT | rest}


def read_embeddings(payload: Any, *, model: str) -> Embeddings:
    """Raises ``ValueError`` for what holds no vectors. Texts that were cut are named in the metadata."""
    envelope = as_object(payload)
    entries = _entries(envelope)
    if not entries:
        raise ValueError("no vectors")
    statistics = [as_object(entry.get("statistics")) for entry in entries]
    cut = [index for index, told in enumerate(statistics) if (told or envelope).get("truncated") is True]
    return Embeddings.model_validate(
        {
            "vectors": [as_list(entry.get("values")) for entry in entries],
            "usage": _usage(envelope, [told.get("token_count", told.get("tokenCount")) for told in statistics]),
            "model": model,
            "metadata": {"truncated_texts": cut} if cut else {},
        }
    )


def _entries(envelope: dict[str, Any]) -> list[dict[str, Any]]:
    if "predictions" in envelope:
        return [as_object(as_object(one).get("embeddings")) for one in as_list(envelope["predictions"])]
    if "embedding" in envelope:
        return [as_object(envelope["embedding"])]
    return [as_object(one) for one in as_list(envelope.get("embeddings"))]


def _usage(envelope: dict[str, Any], counts: list[Any]) -> Usage:
    read = read_usage(envelope.get("usageMetadata")) or Usage()
    counted = [count for count in map(as_count, counts) if count is not None]
    if read.input_tokens is None and len(counted) == len(counts):
        read = Usage(input_tokens=sum(counted))
    return read if read.input_tokens is None else read.model_copy(update={"output_tokens": 0})
