"""Options of a call in the form of the Messages API, and which of them the model cannot take."""

from collections.abc import Iterator
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatOptions, ResponseSchema
from llm_foundation.providers.anthropic.dialect import Dialect
from llm_foundation.providers.anthropic.schema import Allowance, EnforcedSchema, enforced_schema
from llm_foundation.providers.anthropic.thinking import Thinking
from llm_foundation.providers.memo import Memo

RESERVED: Final = frozenset({"messages", "model", "stream", "system"})
"""What ``extra`` cannot replace: the rest of the system relies on it."""
ELSEWHERE: Final = frozenset({"tools", "thinking", "betas", "output_config", "cache_control"})
"""What ``extra`` adds to in its own way."""
_UNKNOWN: Final = ("seed", "frequency_penalty", "presence_penalty")

_ENFORCED: Final[Memo[ResponseSchema, EnforcedSchema | None]] = Memo()

Parameters = dict[str, Any]


def max_tokens(options: ChatOptions, dialect: Dialect) -> int:
    """The limit, which must be given here: what was asked for, no more than the model can write; else that."""
    most = dialect.model.max_output_tokens
    if options.max_tokens is None:
        return dialect.max_output
    return options.max_tokens if most is None else min(options.max_tokens, most)


def parameters(
    options: ChatOptions, dialect: Dialect, thinks: Thinking, allowance: Allowance
) -> tuple[Parameters, tuple[str, ...]]:
    """What goes into the body, and the names of the options that the model cannot take."""
    written: Parameters = {"max_tokens": max_tokens(options, dialect)}
    sampling = _sampling(options, dialect, thinks)
    stops = [stop for stop in options.stop if stop.strip()]
    written |= sampling | ({"stop_sequences": stops} if stops else {})
    written |= {"thinking": thinks.config} if thinks.config else {}
    output = _output(options, dialect, thinks, allowance)
    written |= {"output_config": output} if output else {}
    extra = {key: thaw(value) for key, value in options.extra.items()}
    if extra.get("cache_control"):
        written["cache_control"] = extra["cache_control"]
    written |= {key: value for key, value in extra.items() if key not in RESERVED | ELSEWHERE}
    return written, (*thinks.dropped, *_dropped(options, written))


def _sampling(options: ChatOptions, dialect: Dialect, thinks: Thinking) -> Parameters:
    """Temperature ends at 1 here, and with thinking it is 1 (attune-ai#730)."""
    asked = {"temperature": options.temperature, "top_p": options.top_p}
    taken = {name: min(value, 1) for name, value in asked.items() if value is not None and dialect.samples}
    if thinks.is_on:
        taken = {name: value for name, value in taken.items() if name == "temperature" and value == 1}
    if dialect.traits.one_sampler and len(taken) > 1:
        del taken["top_p"]
    return taken


def _output(options: ChatOptions, dialect: Dialect, thinks: Thinking, allowance: Allowance) -> Parameters:
    output: Parameters = {"effort": thinks.effort} if thinks.effort else {}
    if options.response_schema is not None and dialect.json_schema:
        enforced = _ENFORCED.get(options.response_schema, "anthropic", lambda new: enforced_schema(new.schema_))
        if allowance.grants(enforced) and enforced is not None:
            output["format"] = {"type": "json_schema", "schema": enforced.schema}
    extra = thaw(options.extra.get("output_config"))
    return output | extra if isinstance(extra, dict) else output


def _dropped(options: ChatOptions, written: Parameters) -> Iterator[str]:
    yield from (name for name in _UNKNOWN if getattr(options, name) is not None)
    for name in ("temperature", "top_p", "max_tokens"):
        asked = getattr(options, name)
        if asked is not None and written.get(name) != asked and name not in options.extra:
            yield name
    if any(not stop.strip() for stop in options.stop):
        yield "stop"
    if options.response_schema is not None and "format" not in written.get("output_config", {}):
        yield "response_schema"
    yield from (f"extra.{key}" for key in options.extra if key in RESERVED)
