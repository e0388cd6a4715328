"""Options of a call in the Chat Completions form, and which of them the model cannot take."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatOptions, ResponseSchema
from llm_foundation.providers.json_schema import strict_schema
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai.model_traits import SAMPLING

RESERVED: Final = frozenset({"messages", "model", "stream", "tools"})
"""What ``extra`` cannot replace: the rest of the system relies on it."""

Parameters = dict[str, Any]
Writer = Callable[[Any, Dialect], Parameters]


def parameters(options: ChatOptions, dialect: Dialect, *, beside_tools: bool) -> tuple[Parameters, tuple[str, ...]]:
    """What goes into the body, and the names of the options that the model or the endpoint cannot take."""
    written, dropped = taken(options, dialect, _WRITERS, beside_tools=beside_tools)
    if beside_tools and dialect.traits.effort_beside_tools:
        written |= dialect.profile.effort(dialect.traits.effort_beside_tools)
    written |= {key: thaw(value) for key, value in options.extra.items() if key not in RESERVED}
    return written, (*dropped, *(f"extra.{key}" for key in options.extra if key in RESERVED))


def taken(
    options: ChatOptions, dialect: Dialect, writers: Mapping[str, Writer], *, beside_tools: bool
) -> tuple[Parameters, list[str]]:
    """The options by themselves, written down; and the names of those that are not taken, or have no writer."""
    written: Parameters = {}
    dropped = []
    for name in OPTIONS:
        value = getattr(options, name)
        if value is None or value == ():
            continue
        if name in writers and _is_taken(name, value, dialect, beside_tools=beside_tools):
            written |= writers[name](value, dialect)
        else:
            dropped.append(name)
    if limit(options.max_tokens, dialect) != options.max_tokens:
        dropped.append("max_tokens")
    return written, dropped


def _is_taken(name: str, value: Any, dialect: Dialect, *, beside_tools: bool) -> bool:
    if name in dialect.profile.refuses or name in dialect.traits.refuses:
        return False
    if name in SAMPLING:
        return dialect.model.supports_sampling
    if name == "response_schema":
        return dialect.profile.json_schema and dialect.model.supports_json_schema
    if name == "reasoning_effort":
        return _takes_effort(value, dialect, beside_tools=beside_tools)
    return True


def _takes_effort(effort: str, dialect: Dialect, *, beside_tools: bool) -> bool:
    only = dialect.traits.effort_beside_tools
    if beside_tools and only is not None:
        return effort == only
    if beside_tools and dialect.traits.effort_or_tools and dialect.profile.is_openai:
        return False
    return dialect.reasons and (dialect.traits.efforts is None or effort in dialect.traits.efforts)


def limit(asked: int | None, dialect: Dialect) -> int | None:
    """No more than the model can write: asking for more is an error at most providers."""
    most = dialect.model.max_output_tokens
    return asked if asked is None or most is None else min(asked, most)


def described(schema: ResponseSchema) -> Parameters:
    """A schema for the answer with its name, in the strict subset where it has a form there."""
    strict = strict_schema(schema.schema_) if schema.strict else None
    return {"name": schema.name, "schema": strict or thaw(schema.schema_), "strict": strict is not None}


def _response_format(schema: ResponseSchema, dialect: Dialect) -> Parameters:
    return {"response_format": {"type": "json_schema", "json_schema": described(schema)}}


_WRITERS: Final[dict[str, Writer]] = {
    "temperature": lambda value, dialect: {"temperature": value},
    "top_p": lambda value, dialect: {"top_p": value},
    "frequency_penalty": lambda value, dialect: {"frequency_penalty": value},
    "presence_penalty": lambda value, dialect: {"presence_penalty": value},
    "max_tokens": lambda value, dialect: {dialect.profile.max_tokens(dialect.model): limit(value, dialect)},
    "stop": lambda value, dialect: {"stop": list(value)},
    "seed": lambda value, dialect: {dialect.profile.seed: value},
    "reasoning_effort": lambda value, dialect: dialect.profile.effort(value),
    "response_schema": _response_format,
}

OPTIONS: Final = tuple(_WRITERS)
"""The options that go into a body, all but ``parallel_tool_calls``, which goes with the tools."""
