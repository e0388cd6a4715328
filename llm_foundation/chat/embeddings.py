"""What texts become for a search by meaning: one vector each."""

from collections.abc import Iterable, Mapping, Set
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from llm_foundation.chat.completions import Usage
from llm_foundation.chat.frozen import FrozenDict, JSONObject, Text, Value, clean_text
from llm_foundation.exceptions import InvalidMessage

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Vector = tuple[Number, ...]


class Embeddings(Value):
    """One vector for each text, in the order of the texts; all have the same length.

    Vectors of different models, or of different lengths, cannot be compared with each other.
    """

    vectors: tuple[Vector, ...] = ()
    usage: Usage = Field(default_factory=Usage)
    model: Text = ""
    metadata: JSONObject = Field(default_factory=FrozenDict)

    @property
    def dimensions(self) -> int | None:
        """How many numbers each vector has; ``None`` where there is no vector."""
        return len(self.vectors[0]) if self.vectors else None

    @model_validator(mode="after")
    def _vectors_fit_each_other(self) -> Self:
        lengths = {len(vector) for vector in self.vectors}
        if len(lengths) > 1 or 0 in lengths:
            raise ValueError("vectors must have the same length, and not be empty")
        return self


def read_texts(texts: Any) -> tuple[str, ...]:
    """What somebody wants embedded. Raises ``InvalidMessage`` that names the text by its place, as ``texts[2]``."""
    if isinstance(texts, str):
        raise InvalidMessage("must be a list of texts, not one text", field="texts")
    if isinstance(texts, bytes | bytearray | Mapping | Set) or not isinstance(texts, Iterable):
        raise InvalidMessage("must be a list of texts", field="texts")
    return tuple(_text(text, f"texts[{index}]") for index, text in enumerate(texts))


def _text(text: Any, field: str) -> str:
    if not isinstance(text, str):
        raise InvalidMessage(f"must be a text, not {type(text).__name__}", field=field)
    if not text:
        raise InvalidMessage("is empty: there is nothing to embed; leave it out", field=field)
    return clean_text(text)
