"""Recorded exchanges with real providers, where they are at hand. They are read, never copied."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from llm_foundation.providers.base import ModelSpec, ProviderSpec, Secret
from llm_foundation.providers.openai_chat import ChatCompletionsAdapter
from llm_foundation.providers.registry import build

SHARED = Path(__file__).parents[3] / "shared"
CORPUS = SHARED / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="recorded traffic (../shared/corpus) is not there")

PROFILES = {
    "openai-chat": "openai",
    "azure-openai-chat": "azure",
    "ollama-openai": "ollama",
    "openai-compatible": "custom",
}


@dataclass(frozen=True)
class Exchange:
    """One recorded exchange of the Chat Completions format, with what a second reader saw in its answer."""

    id: str
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

    def adapter(self) -> ChatCompletionsAdapter:
        provider = ProviderSpec(
            name="recorded", adapter="openai_compatible", base_url="https://llm.example/v1", profile=self.profile
        )
        model = ModelSpec(model_id=self.model, supports_json_schema=True, supports_reasoning=True)
        adapter = build(provider, model, Secret("a-key"))
        assert isinstance(adapter, ChatCompletionsAdapter)
        return adapter


@cache
def exchanges() -> tuple[Exchange, ...]:
    return tuple(_read()) if CORPUS.is_dir() else ()


def _read() -> Iterator[Exchange]:
    index = json.loads((CORPUS / "index.json").read_text())
    expected = json.loads((CORPUS / "expected.json").read_text())
    for entry in index["exchanges"]:
        if entry["family"] == "chat":
            recorded = json.loads((CORPUS / entry["file"]).read_text())
            response = recorded["response"]
            yield Exchange(
                id=entry["id"],
                profile=PROFILES.get(entry["provider"], entry["provider"]),
                model=entry["model"] or "unknown",
                request=recorded["request"]["body"],
                status=response["status"],
                headers={name.lower(): value for name, value in (response.get("headers") or {}).items()},
                body=response["body"],
                expected=expected[entry["id"]],
            )
