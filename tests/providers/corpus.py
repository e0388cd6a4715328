"""Recorded exchanges with real providers, where they are at hand. They are read, never copied."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from llm_foundation.providers.base import Adapter, ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.registry import build

SHARED = Path(__file__).parents[3] / "shared"
CORPUS = SHARED / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="recorded traffic (../shared/corpus) is not there")

PROFILES = {
    "openai-chat": "openai",
    "azure-openai-chat": "azure",
    "ollama-openai": "ollama",
    "openai-compatible": "custom",
    "openai-responses": "openai",
    "azure-openai-responses": "azure",
    "openai-compatible-responses": "custom",
    "xai-responses": "xai",
    "deepseek-responses": "deepseek",
    "openrouter-responses": "openrouter",
    "gemini-vertex": "vertex",
}


ADAPTERS = {
    "chat": "openai_compatible",
    "responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
}
"""Which adapter reads a family of the collection."""

OPTIONS = {"responses": {"api": "responses"}}
"""What has to stand in the record of a provider so that its adapter does."""


@dataclass(frozen=True)
class Exchange:
    """One recorded exchange, with what a second reader saw in its answer."""

    id: str
    family: str
    profile: str
    model: str
    request: Any
    status: int
    headers: dict[str, str]
    body: Any
    expected: dict[str, Any]

    @property
    def is_stream(self) -> bool:
        return isinstance(self.body, str)

    @property
    def raw(self) -> bytes:
        return self.body.encode() if self.is_stream else json.dumps(self.body).encode()

    def adapter(self, *, base_url: str = "https://llm.example/v1", **spec: Any) -> Adapter:
        spec = {"options": OPTIONS.get(self.family, {}), **spec}
        provider = ProviderSpec(
            name="recorded", adapter=ADAPTERS[self.family], base_url=base_url, profile=self.profile, **spec
        )
        model = ModelSpec(model_id=self.model, supports_json_schema=True, supports_reasoning=True)
        return build(provider, model, Secret("a-key"))


@cache
def exchanges(family: str = "chat") -> tuple[Exchange, ...]:
    return tuple(_read(family)) if CORPUS.is_dir() else ()


@cache
def sequences(family: str) -> dict[str, tuple[Exchange, ...]]:
    """Recordings of several steps: the exchanges of this family in each, in order, where there are at least two."""
    if not CORPUS.is_dir():
        return {}
    known = {exchange.id: exchange for exchange in exchanges(family)}
    recorded = json.loads((CORPUS / "index.json").read_text())["sequences"]
    found = {name: tuple(known[id] for id in ids if id in known) for name, ids in recorded.items()}
    return {name: steps for name, steps in found.items() if len(steps) > 1}


def _read(family: str) -> Iterator[Exchange]:
    index = json.loads((CORPUS / "index.json").read_text())
    expected = json.loads((CORPUS / "expected.json").read_text())
    for entry in index["exchanges"]:
        if entry["family"] == family:
            recorded = json.loads((CORPUS / entry["file"]).read_text())
            response = recorded["response"]
            yield Exchange(
                id=entry["id"],
                family=family,
                profile=PROFILES.get(entry["provider"], entry["provider"]),
                model=entry["model"] or "unknown",
                request=recorded["request"]["body"],
                status=response["status"],
                headers={name.lower(): value for name, value in (response.get("headers") or {}).items()},
                body=response["body"],
                expected=expected[entry["id"]],
            )
