"""What a provider tells about its models."""

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One model of a provider's own list. ``None`` is what the provider does not say, which is not "no".

    Sizes are in tokens, prices in US dollars per million tokens. Names are those of a language model's record.
    """

    model_id: str
    display_name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    supports_chat: bool | None = None
    supports_embeddings: bool | None = None
    supports_tools: bool | None = None
    supports_vision: bool | None = None
    supports_json_schema: bool | None = None
    supports_sampling: bool | None = None
    supports_reasoning: bool | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    cached_input_price: Decimal | None = None
    cache_write_price: Decimal | None = None

    def facts(self) -> dict[str, Any]:
        """All that is known, by name, the id left out."""
        named = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A part of the list. ``next_page`` is the provider's word for the part that follows, empty at the end."""

    models: tuple[FoundModel, ...]
    next_page: str = ""
