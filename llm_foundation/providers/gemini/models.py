"""What Gemini models are known to want, by their ids: how they think, and what they refuse."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from llm_foundation.providers.openai.model_traits import PENALTIES

_VERSION: Final = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_LATEST: Final = re.compile(r"gemini-[a-z-]*latest")
_NO_THINKING: Final = re.compile(r"image|tts")

_NEWEST: Final = ("LOW", "MEDIUM", "HIGH")
_LEVELS: Final = (
    (re.compile(r"gemini-3-pro"), ("LOW", "HIGH")),
    (re.compile(r"gemini-3(\.[0-6])?-flash|gemini-3\.\d+-flash-lite"), ("MINIMAL", *_NEWEST)),
)
"""Thinking levels where they are others than those of the newest models (vellum-assistant#32687)."""

_BUDGETS: Final = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}
"""Tokens of thinking for an effort, as Google's own OpenAI face counts them."""

_PRO_BUDGETS: Final = _BUDGETS | {"none": 128, "xhigh": 32768, "max": 32768}
"""2.5 Pro thinks more, and cannot stop thinking."""


Efforts = tuple[Mapping[str, Mapping[str, Any]], frozenset[str]]

_NO_EFFORTS: Final[Efforts] = ({}, frozenset())


@dataclass(frozen=True, slots=True)
class GeminiTraits:
    """``thinking`` has, by effort, what goes into ``thinkingConfig``; empty where the model does not think.

    ``unmet`` are the efforts for which that is only the nearest the model has.
    """

    thinking: Mapping[str, Mapping[str, Any]]
    unmet: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    needs_signatures: bool = False
    """Whether a call without a signature is refused (Gemini 3: dify-official-plugins#2088)."""
    json_beside_tools: bool = True
    """Whether an answer can have a schema while tools are on offer (ai-manus#101)."""
    validates_calls: bool = True
    """Whether calls can be held to their schemas without being forced: the mode ``VALIDATED``."""
    system_instruction: bool = True
    """Gemma 3 refuses one: "Developer instruction is not enabled" (0xPlaygrounds/rig#788)."""


def gemini_traits(model_id: str, *, reasons: bool) -> GeminiTraits:
    """The traits of a model. ``reasons`` is the operator's word for it where its id says nothing."""
    name = model_id.rpartition("/")[2].lower()
    version = _version(name)
    if version is None:
        thinking, unmet = _levels(name) if reasons else _NO_EFFORTS
        return GeminiTraits(thinking, unmet, system_instruction=not name.startswith("gemma-3"))
    if version < (2, 5):
        return GeminiTraits({}, json_beside_tools=False, validates_calls=False)
    # cookbook#1290: "Penalty is not enabled for this model"
    if version < (3, 0):
        thinking, unmet = _budgets(name)
        return GeminiTraits(thinking, unmet, PENALTIES, json_beside_tools=False)
    thinking, unmet = _levels(name)
    return GeminiTraits(thinking, unmet, PENALTIES, needs_signatures=True)


def _version(name: str) -> tuple[int, int] | None:
    if _LATEST.match(name):
        return (99, 0)
    found = _VERSION.match(name)
    return (int(found[1]), int(found[2] or 0)) if found else None


def _budgets(name: str) -> Efforts:
    if _NO_THINKING.search(name):
        return _NO_EFFORTS
    is_pro = "-pro" in name
    budgets = _PRO_BUDGETS if is_pro else _BUDGETS
    thinking = {effort: {"thinkingBudget": budget} for effort, budget in budgets.items()}
    return _shown(thinking), frozenset({"none"} if is_pro else ())


def _levels(name: str) -> Efforts:
    """Levels instead of budgets; both together are refused, and no level switches thinking off (vercel/ai#22372)."""
    if _NO_THINKING.search(name) and "pro" not in name:
        return _NO_EFFORTS
    known = next((levels for pattern, levels in _LEVELS if pattern.match(name)), _NEWEST)
    by_effort = {"none": known[0], "xhigh": known[-1], "max": known[-1]} | {
        effort: effort.upper() if effort.upper() in known else _nearest(effort, known)
        for effort in ("minimal", "low", "medium", "high")
    }
    unmet = {effort for effort in ("minimal", "medium") if effort.upper() not in known}
    thinking = {effort: {"thinkingLevel": level} for effort, level in by_effort.items()}
    return _shown(thinking), frozenset({"none", *unmet})


def _nearest(effort: str, levels: tuple[str, ...]) -> str:
    return levels[0] if effort == "minimal" else levels[-1]


def _shown(thinking: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Whoever asks for thinking gets it to read as well."""
    return {
        effort: dict(config) if effort == "none" else {"includeThoughts": True, **config}
        for effort, config in thinking.items()
    }
