"""How much the model thinks: a level, or a budget in tokens, and what both rule out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from llm_foundation.chat.conversation import complete_turns
from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatOptions
from llm_foundation.providers.anthropic.dialect import Dialect
from llm_foundation.providers.anthropic.state import THINKING, own_context

BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"

_LEVELS: Final = ("minimal", "low", "medium", "high", "xhigh", "max")
_BUDGETS: Final = dict(zip(_LEVELS, (1_024, 2_048, 8_192, 16_384, 32_768, 65_536), strict=True))
_LEAST: Final = 1_024
"""Tokens; a smaller budget is refused (llm.js#30)."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """``config`` and ``effort`` go into the body where they are set; ``is_on`` says what the model then does."""

    config: dict[str, Any] | None = None
    effort: str | None = None
    is_on: bool = False
    dropped: tuple[str, ...] = ()

    @property
    def has_budget(self) -> bool:
        return (self.config or {}).get("type") == "enabled"

    @property
    def betas(self) -> tuple[str, ...]:
        return (BINDING_BETA,) if "block_binding" in (self.config or {}) else ()


def thinking(messages: Sequence[ChatMessage], options: ChatOptions, dialect: Dialect, *, max_tokens: int) -> Thinking:
    """What the request says of thinking. What the operator wrote into ``extra`` counts before the effort."""
    if "thinking" in options.extra:
        written = _written(thaw(options.extra["thinking"]), options, dialect)
    elif options.reasoning_effort is None:
        written = Thinking(is_on=dialect.traits.thinks_unasked)
    else:
        written = _asked(options.reasoning_effort, messages, dialect, max_tokens=max_tokens)
    return _keeping_stale(written, messages, dialect)


def _written(config: Any, options: ChatOptions, dialect: Dialect) -> Thinking:
    config = config if isinstance(config, dict) else None
    kind = (config or {}).get("type")
    is_on = dialect.traits.thinks_unasked if kind is None else kind in ("enabled", "adaptive")
    effort = options.reasoning_effort
    return Thinking(config, _nearest(effort, dialect.traits.efforts) if effort and is_on else None, is_on)


def _asked(effort: str, messages: Sequence[ChatMessage], dialect: Dialect, *, max_tokens: int) -> Thinking:
    refused = Thinking(is_on=dialect.traits.thinks_unasked, dropped=("reasoning_effort",))
    if effort == "none":
        return _off(dialect)
    if not dialect.thinking:
        return refused
    level = _nearest(effort, dialect.traits.efforts)
    if dialect.thinking == "adaptive":
        config = {"type": "adaptive", "display": dialect.settings.thinking_display}
        return Thinking(config, level, is_on=True)
    if max_tokens <= _LEAST or not _may_think_now(messages, dialect):
        return refused
    budget = min(_BUDGETS[effort], max(_LEAST, max_tokens * 3 // 4))
    return Thinking({"type": "enabled", "budget_tokens": budget}, level, is_on=True)


def _off(dialect: Dialect) -> Thinking:
    """No thinking; of models that always think, the least of it."""
    word = dialect.traits.off
    if word is None:
        return Thinking(None, dialect.traits.efforts[0], is_on=True, dropped=("reasoning_effort",))
    return Thinking({"type": word} if word else None)


def _nearest(effort: str, levels: Sequence[str]) -> str | None:
    """The highest level that is not above the one asked for, else the lowest; ``None`` where there are no levels."""
    if effort == "none":
        return None
    wanted = _LEVELS.index(effort)
    fitting = [level for level in levels if _LEVELS.index(level) <= wanted] or levels[:1]
    return fitting[-1] if fitting else None


def _may_think_now(messages: Sequence[ChatMessage], dialect: Dialect) -> bool:
    """With a budget, a turn whose calls were just answered must begin with thinking: another model's does not.

    What counts is the first answer after each thing that the user said (llama_index#18834); what is said right behind
    results stands in one message with them, and does not end the turn.
    """
    spoken = [message for message in complete_turns(messages) if message.role is not Role.SYSTEM]
    turns = [message for message in spoken if message.role is Role.ASSISTANT]
    openings: list[ChatMessage] = []
    previous = Role.USER
    for message in spoken:
        if message.role is Role.USER and previous is not Role.TOOL:
            openings = []
        elif message.role is Role.ASSISTANT and previous is not Role.TOOL:
            openings.append(message)
        previous = message.role
    is_open = bool(turns and turns[-1].tool_calls)
    return not is_open or all(_begins_with_thinking(turn, dialect) for turn in openings)


def _begins_with_thinking(turn: ChatMessage, dialect: Dialect) -> bool:
    content = own_context(turn, dialect).get("content") or [{}]
    return content[0].get("type") in THINKING


def _keeping_stale(written: Thinking, messages: Sequence[ChatMessage], dialect: Dialect) -> Thinking:
    """Newer models refuse their own thinking where anything before it has changed: older turns left out to fit the
    window, another offer of tools, a new prompt. They are asked to do without such thinking instead.
    """
    behaviour = dialect.settings.stale_thinking
    config: Mapping[str, Any] = written.config or {"type": "adaptive"}
    if not (dialect.traits.preserves_thinking and written.is_on and behaviour) or "block_binding" in config:
        return written
    if not any(_has_thinking(message, dialect) for message in messages):
        return written
    bound = {**config, "block_binding": {"prefix_mismatch_behavior": behaviour}}
    return Thinking(bound, written.effort, written.is_on, written.dropped)


def _has_thinking(message: ChatMessage, dialect: Dialect) -> bool:
    content = own_context(message, dialect).get("content") or ()
    return any(block["type"] in THINKING for block in content)
