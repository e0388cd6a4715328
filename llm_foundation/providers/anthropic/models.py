"""What Claude models take and refuse, by family and version. An operator says the rest with ``ModelSpec``.

Facts from the migration guides on platform.claude.com and from recorded refusals.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ClaudeTraits:
    """One generation of models. The defaults are those of models that we know nothing about."""

    max_output: int = 8_192
    """Tokens that the model can write, thinking included."""
    thinking: Literal["", "enabled", "adaptive"] = ""
    """How thinking is asked for: with a budget of tokens, or left to the model; empty where there is none."""
    thinks_unasked: bool = False
    off: str | None = ""
    """The word that turns thinking off; empty where leaving it out does, ``None`` where nothing does."""
    efforts: tuple[str, ...] = ()
    """The levels of ``output_config.effort``, lowest first."""
    samples: bool = True
    one_sampler: bool = False
    """Whether temperature and top_p exclude each other."""
    json_schema: bool = False
    can_force: bool = True
    """Whether a call may be forced at all (pydantic-ai#6957)."""
    prefill: bool = True
    """Whether the conversation may end with the beginning of the answer."""
    system_turns: bool = False
    """Whether system messages may stand inside the conversation."""
    preserves_thinking: bool = False
    """Whether thinking that comes back is refused once anything before it has changed."""


_THREE: Final = ClaudeTraits(max_output=4_096)
_THREE_FIVE: Final = ClaudeTraits(max_output=8_192)
_FOUR: Final = ClaudeTraits(max_output=64_000, thinking="enabled")
_FOUR_FIVE: Final = replace(_FOUR, one_sampler=True, json_schema=True)
_FOUR_SIX: Final = replace(
    _FOUR_FIVE, max_output=128_000, thinking="adaptive", efforts=("low", "medium", "high", "max"), prefill=False
)
_FOUR_SEVEN: Final = replace(_FOUR_SIX, efforts=("low", "medium", "high", "xhigh", "max"), samples=False)
_FIVE: Final = replace(_FOUR_SEVEN, thinks_unasked=True, off="disabled", system_turns=True)
_FIVE_FIVE: Final = replace(_FIVE, preserves_thinking=True)
_ALWAYS: Final = replace(_FIVE, off=None)
_ALWAYS_BOUND: Final = replace(_ALWAYS, can_force=False, preserves_thinking=True)

_GENERATIONS: Final[dict[str, dict[Version, ClaudeTraits]]] = {
    "haiku": {(3, 0): _THREE, (3, 5): _THREE_FIVE, (4, 5): _FOUR_FIVE, (5, 5): _FIVE_FIVE},
    "sonnet": {
        (3, 0): _THREE,
        (3, 5): _THREE_FIVE,
        (3, 7): _FOUR,
        (4, 5): _FOUR_FIVE,
        (4, 6): _FOUR_SIX,
        (5, 0): _FIVE,
        (5, 5): replace(_FIVE_FIVE, off="between_tools", can_force=False),
    },
    "opus": {
        (3, 0): _THREE,
        (4, 0): replace(_FOUR, max_output=32_000),
        (4, 1): replace(_FOUR_FIVE, max_output=32_000),
        (4, 5): replace(_FOUR_FIVE, efforts=("low", "medium", "high")),
        (4, 6): _FOUR_SIX,
        (4, 7): _FOUR_SEVEN,
        (4, 8): replace(_FOUR_SEVEN, system_turns=True),
        (5, 0): _FIVE,
        (5, 5): _ALWAYS_BOUND,
    },
    "fable": {(5, 0): _ALWAYS, (5, 1): _ALWAYS_BOUND},
    "mythos": {(5, 0): _ALWAYS, (5, 1): _ALWAYS_BOUND},
}
_NEW_NAME: Final = re.compile(r"claude-(haiku|sonnet|opus|fable|mythos)-(\d)(?:[-.](\d)(?!\d))?")
_OLD_NAME: Final = re.compile(r"claude-(\d)(?:[-.](\d))?-(haiku|sonnet|opus)")
_UNKNOWN: Final = ClaudeTraits()


def traits_of(model_id: str) -> ClaudeTraits:
    """The traits of a model; what a gateway puts before or after the name does not matter."""
    family, version = _family_and_version(model_id.lower())
    known = [since for since in _GENERATIONS.get(family, {}) if since <= version]
    return _GENERATIONS[family][max(known)] if known else _UNKNOWN


def _family_and_version(name: str) -> tuple[str, Version]:
    if found := _NEW_NAME.search(name):
        return found[1], (int(found[2]), int(found[3] or 0))
    if found := _OLD_NAME.search(name):
        return found[3], (int(found[1]), int(found[2] or 0))
    return ("mythos", (5, 0)) if "claude-mythos-preview" in name else ("", (0, 0))
