"""Options of a call as Gemini's ``generationConfig``, and which of them the model cannot take."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatOptions, ResponseSchema
from llm_foundation.providers.gemini.dialect import GeminiDialect
from llm_foundation.providers.gemini.schema import gemini_schema, openapi_schema
from llm_foundation.providers.openai.model_traits import SAMPLING

_MOST_STOPS: Final = 5

Parameters = dict[str, Any]


def generation_config(
    options: ChatOptions, dialect: GeminiDialect, *, beside_tools: bool
) -> tuple[Parameters, tuple[str, ...]]:
    """What the model is told, and the names of the options that it cannot take, or not quite as they were asked."""
    written: Parameters = {}
    dropped = []
    for name, write in _WRITERS.items():
        value = getattr(options, name)
        if value is None or value == ():
            continue
        if _is_taken(name, value, dialect, beside_tools=beside_tools):
            written |= write(value, dialect)
        else:
            dropped.append(name)
    return written, (*dropped, *_not_quite(options, dialect))


def _is_taken(name: str, value: Any, dialect: GeminiDialect, *, beside_tools: bool) -> bool:
    if name in dialect.traits.refuses or (name in SAMPLING and not dialect.model.supports_sampling):
        return False
    if name == "response_schema":
        return dialect.model.supports_json_schema and (dialect.traits.json_beside_tools or not beside_tools)
    if name == "reasoning_effort":
        return value in dialect.traits.thinking
    return name != "seed" or -(2**31) <= value < 2**31


def _not_quite(options: ChatOptions, dialect: GeminiDialect) -> tuple[str, ...]:
    """What is sent, but not as it was asked: the nearest that the model can do."""
    changes = {
        "max_tokens": options.max_tokens is not None and _limit(options.max_tokens, dialect) != options.max_tokens,
        "stop": len(options.stop) > _MOST_STOPS,
        "reasoning_effort": bool(dialect.traits.thinking) and options.reasoning_effort in dialect.traits.unmet,
    }
    return tuple(name for name, is_changed in changes.items() if is_changed)


def _limit(asked: int, dialect: GeminiDialect) -> int:
    """No more than the model can write: asking for more is an error."""
    most = dialect.model.max_output_tokens
    return asked if most is None else min(asked, most)


def _response_format(schema: ResponseSchema, dialect: GeminiDialect) -> Parameters:
    mime_type = {"responseMimeType": "application/json"}
    if dialect.takes_json_schema:
        return mime_type | {"responseJsonSchema": gemini_schema(schema.schema_)}
    return mime_type | {"responseSchema": openapi_schema(schema.schema_)}


_WRITERS: Final[dict[str, Callable[[Any, GeminiDialect], Parameters]]] = {
    "temperature": lambda value, dialect: {"temperature": value},
    "top_p": lambda value, dialect: {"topP": value},
    "max_tokens": lambda value, dialect: {"maxOutputTokens": _limit(value, dialect)},
    "stop": lambda value, dialect: {"stopSequences": list(value[:_MOST_STOPS])},
    "seed": lambda value, dialect: {"seed": value},
    "frequency_penalty": lambda value, dialect: {"frequencyPenalty": value},
    "presence_penalty": lambda value, dialect: {"presencePenalty": value},
    "reasoning_effort": lambda value, dialect: {"thinkingConfig": dict(dialect.traits.thinking[value])},
    "response_schema": _response_format,
}


def joined(written: Parameters, extra: Mapping[str, Any]) -> Parameters:
    """What we wrote with what the operator adds: objects are joined, everything else is replaced.

    A thinking budget and a level exclude each other, so the operator's takes the place of ours.
    """
    result = dict(written)
    for key, value in extra.items():
        ours = result.get(key)
        if isinstance(ours, dict) and isinstance(value, Mapping):
            result[key] = joined(_without_rival(ours, value), value)
        else:
            result[key] = thaw(value)
    return result


def _without_rival(ours: Parameters, extra: Mapping[str, Any]) -> Parameters:
    rivals = {"thinkingBudget": "thinkingLevel", "thinkingLevel": "thinkingBudget"}
    return {key: value for key, value in ours.items() if rivals.get(key) not in extra}
