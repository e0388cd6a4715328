"""Whether a body is one that the official ``openai`` package would send, by its own request types."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import BaseModel, TypeAdapter, ValidationError


@cache
def _adapters() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    return TypeAdapter(CompletionCreateParamsNonStreaming), TypeAdapter(CompletionCreateParamsStreaming)


def objections(body: dict[str, Any]) -> list[str]:
    """What the types have against a body: wrong values, and keys that they do not know. Empty for a good one."""
    plain, streaming = _adapters()
    return objections_of(streaming if body.get("stream") else plain, body)


def objections_of(types: TypeAdapter[Any], body: dict[str, Any]) -> list[str]:
    """The same for any package's request types."""
    try:
        accepted = _plain(types.validate_python(body))
    except ValidationError as error:
        return [f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors()]
    return list(_lost(body, accepted, "body"))


def _plain(value: Any) -> Any:
    """Typed iterables are read lazily; reading them is what checks them."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    return [_plain(item) for item in value]


def _lost(given: Any, accepted: Any, path: str) -> Any:
    """The types pass over keys that they do not know: such a key is in what was given and not in what came back."""
    if isinstance(given, dict) and isinstance(accepted, dict):
        for key, value in given.items():
            if key not in accepted:
                yield f"{path}.{key}: unknown"
            else:
                yield from _lost(value, accepted[key], f"{path}.{key}")
    elif isinstance(given, list) and isinstance(accepted, list):
        for place, (value, kept) in enumerate(zip(given, accepted, strict=True)):
            yield from _lost(value, kept, f"{path}.{place}")
    elif given != accepted:
        yield f"{path}: read as {accepted!r}"
