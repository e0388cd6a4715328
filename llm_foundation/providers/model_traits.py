"""What models are known to refuse, by their ids. An operator says the rest with ``ModelSpec``."""

import re
from dataclasses import dataclass
from typing import Final

SAMPLING: Final = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty"})
PENALTIES: Final = frozenset({"frequency_penalty", "presence_penalty"})


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """``refuses`` names options of ``ChatOptions``; ``efforts`` are those that it takes, ``None`` says any.

    ``effort_beside_tools`` is the only effort with which the model takes function tools on Chat Completions.
    """

    reasons: bool = False
    refuses: frozenset[str] = frozenset()
    efforts: frozenset[str] | None = None
    effort_beside_tools: str | None = None


_OPENAI: Final = SAMPLING | {"stop"}  # n8n-io/n8n#18149, smolagents#1893
_OPENAI_REASONING: Final = ModelTraits(reasons=True, refuses=_OPENAI)

_TRAITS: Final = (
    # Reasoning models of OpenAI take function tools only at effort "none" here; their default is another.
    (r"gpt-6-(sol|luna)\b", ModelTraits(reasons=True, refuses=_OPENAI, effort_beside_tools="none")),
    (r"gpt-5-chat", ModelTraits(False, _OPENAI, frozenset())),
    (r"gpt-5\.1\b", ModelTraits(True, _OPENAI, frozenset({"none", "low", "medium", "high"}))),
    (r"gpt-5(?!\.)", ModelTraits(True, _OPENAI, frozenset({"minimal", "low", "medium", "high"}))),
    (r"gpt-[56]", _OPENAI_REASONING),
    (r"o\d", ModelTraits(True, _OPENAI, frozenset({"low", "medium", "high"}))),
    # xAI: lobehub#13332, QuantumNous/new-api#6081, opencode-oci-provider v0.2.3
    (r"grok-3-mini", ModelTraits(True, PENALTIES | {"stop"})),
    (r"grok-4\.[3-9]", ModelTraits(True, PENALTIES | {"stop"})),
    (r"grok-(4|code).*non-reasoning", ModelTraits(False, PENALTIES)),
    (r"grok-(4|code)", ModelTraits(True, PENALTIES | {"stop"}, frozenset())),
)
_COMPILED: Final = tuple((re.compile(pattern), traits) for pattern, traits in _TRAITS)
_UNKNOWN: Final = ModelTraits()


def traits_of(model_id: str) -> ModelTraits:
    """The traits of a model. A vendor's prefix, as gateways put it before the id (``openai/o3``), does not matter."""
    name = model_id.rpartition("/")[2].lower()
    return next((traits for pattern, traits in _COMPILED if pattern.match(name)), _UNKNOWN)
