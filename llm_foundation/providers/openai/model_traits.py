"""What models are known to refuse, by their ids. An operator says the rest with ``ModelSpec``."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Self

SAMPLING: Final = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty"})
PENALTIES: Final = frozenset({"frequency_penalty", "presence_penalty"})


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """``refuses`` names options of ``ChatOptions``; ``efforts`` are those that it takes, ``None`` says any.

    The rest is about OpenAI's Chat Completions only, where newer models can do less than on Responses:
    ``effort_beside_tools`` is the only effort with which the model takes function tools, and it has to be said;
    ``effort_or_tools`` says that it takes one of them, but not both.
    """

    reasons: bool = False
    refuses: frozenset[str] = frozenset()
    efforts: frozenset[str] | None = None
    effort_beside_tools: str | None = None
    effort_or_tools: bool = False
    tools_on_chat: bool = True
    answers_on_chat: bool = True

    def takes_on_chat(self, *, tools: bool, effort: str | None) -> bool:
        """Whether Chat Completions can carry a request with this effort, and with function tools or without."""
        if not tools or not self.answers_on_chat:
            return self.answers_on_chat
        if self.effort_beside_tools is not None:
            return effort == self.effort_beside_tools
        return self.tools_on_chat and not (self.effort_or_tools and effort not in (None, "none"))

    def on_responses(self) -> Self:
        """The same without the limits that only Chat Completions has."""
        return replace(self, effort_beside_tools=None, effort_or_tools=False, tools_on_chat=True, answers_on_chat=True)


_TO_HIGH: Final = frozenset({"low", "medium", "high"})
_FROM_LOW: Final = _TO_HIGH | {"xhigh", "max"}
_OPENAI: Final = SAMPLING | {"stop"}  # n8n-io/n8n#18149, smolagents#1893
_OPENAI_REASONING: Final = ModelTraits(reasons=True, refuses=_OPENAI)

_TRAITS: Final = (
    # OpenAI serves these by its Responses format only.
    (r"gpt-5-pro", ModelTraits(True, _OPENAI, frozenset({"high"}), answers_on_chat=False)),
    (r"gpt-5\.\d+-pro", ModelTraits(True, _OPENAI, frozenset({"medium", "high", "xhigh"}), answers_on_chat=False)),
    (r"gpt-5.*codex|codex-mini", ModelTraits(True, _OPENAI, _FROM_LOW - {"max"}, answers_on_chat=False)),
    (r"o\d.*-(pro|deep-research)", ModelTraits(True, _OPENAI, _TO_HIGH, answers_on_chat=False)),
    (r"gpt-6-astra\b", ModelTraits(True, _OPENAI, _FROM_LOW, tools_on_chat=False)),
    # These take function tools at effort "none" only, and their default is another (LibreChat#14231, litellm#34569).
    (r"gpt-6-(sol|luna)\b", ModelTraits(True, _OPENAI, effort_beside_tools="none")),
    (r"gpt-5\.6", ModelTraits(True, _OPENAI, _FROM_LOW - {"max"} | {"none"}, effort_beside_tools="none")),
    # livekit/agents#5088, pipecat#4043, Science-Discovery/Aether#1026
    (r"gpt-5\.[245]", ModelTraits(True, _OPENAI, effort_or_tools=True)),
    (r"gpt-5-chat", ModelTraits(False, _OPENAI, frozenset())),
    (r"gpt-5\.1\b", ModelTraits(True, _OPENAI, _TO_HIGH | {"none"})),
    (r"gpt-5(?!\.)", ModelTraits(True, _OPENAI, _TO_HIGH | {"minimal"})),
    (r"gpt-[56]", _OPENAI_REASONING),
    (r"o\d", ModelTraits(True, _OPENAI, _TO_HIGH)),
    # xAI: lobehub#13332, QuantumNous/new-api#6081, opencode-oci-provider v0.2.3
    (r"grok-3-mini", ModelTraits(True, PENALTIES | {"stop"})),
    (r"grok-4\.[3-9]", ModelTraits(True, PENALTIES | {"stop"})),
    (r"grok-(4|code).*non-reasoning", ModelTraits(False, PENALTIES)),
    (r"grok-(4|code)", ModelTraits(True, PENALTIES | {"stop"}, frozenset())),
)
_COMPILED: Final = tuple((re.compile(pattern), traits) for pattern, traits in _TRAITS)
_UNKNOWN: Final = ModelTraits()


@lru_cache(maxsize=256)
def traits_of(model_id: str) -> ModelTraits:
    """The traits of a model. A vendor's prefix, as in ``openai/o3`` or ``openai.gpt-5.6-luna``, does not matter."""
    name = model_id.rpartition("/")[2].lower().removeprefix("openai.")
    return next((traits for pattern, traits in _COMPILED if pattern.match(name)), _UNKNOWN)
