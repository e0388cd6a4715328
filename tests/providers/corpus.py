"""Recorded exchanges with real providers, where they are at hand. They are read, never copied."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from llm_foundation.providers.base import Adapter, Secret
from llm_foundation.providers.recordings.recording import Recording

SHARED = Path(__file__).parents[3] / "shared"
CORPUS = SHARED / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="recorded traffic (../shared/corpus) is not there")


@dataclass(frozen=True, kw_only=True)
class Exchange(Recording):
    """One recorded exchange, with what a second reader saw in its answer."""

    id: str
    expected: dict[str, Any]

    def adapter(self, *, base_url: str | None = "https://llm.example/v1", **changed: Any) -> Adapter:
        return super().adapter(base_url=base_url, **{"secret": Secret("a-key"), **changed})


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
            recorded = Recording.read(json.loads((CORPUS / entry["file"]).read_text()), family=family)
            read = {field.name: getattr(recorded, field.name) for field in fields(recorded)}
            yield Exchange(
                **{**read, "model": entry["model"] or read["model"]}, id=entry["id"], expected=expected[entry["id"]]
            )
