"""Options of a call in the Responses form, and which of them the model cannot take."""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatOptions
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai_chat.options import Parameters, Writer, described, limit, taken
from llm_foundation.providers.wire_json import as_list

ONLY_ON_RESPONSES: Final = frozenset(
    {"context_management", "include", "instructions", "max_output_tokens", "max_tool_calls", "prompt", "reasoning"}
    | {"text", "truncation"}
)
"""Words that ``extra`` may hold and OpenAI's Chat Completions does not know."""

_NEVER: Final = {"background", "conversation", "input", "model", "previous_response_id", "stream", "tools"}
"""What ``extra`` cannot set: the rest of the system relies on it, and that a conversation is sent whole."""

_ONLY_ON_CHAT: Final = (
    {"audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens"}
    | {"max_tokens", "messages", "modalities", "n", "prediction", "presence_penalty", "response_format", "seed", "stop"}
    | {"stream_options", "web_search_options"}
)
_TRANSLATED: Final = {"reasoning_effort": ("reasoning", "effort"), "verbosity": ("text", "verbosity")}
"""Where words of Chat Completions have another place here."""

_FEWEST_TOKENS: Final = 16
"""OpenAI refuses to write less."""

ENCRYPTED_REASONING: Final = "reasoning.encrypted_content"


def parameters(options: ChatOptions, dialect: Dialect, *, beside_tools: bool) -> tuple[Parameters, tuple[str, ...]]:
    """What goes into the body, and the names of the options that the model or the format cannot take."""
    written, dropped = taken(options, dialect, _WRITERS, beside_tools=beside_tools)
    if options.max_tokens is not None and options.max_tokens < _FEWEST_TOKENS:
        dropped.append("max_tokens")
    if dialect.reasons:
        written["include"] = [ENCRYPTED_REASONING]
    dropped += [f"extra.{key}" for key in options.extra if key in _NEVER or key in _ONLY_ON_CHAT]
    return _with_extra(written, options.extra), tuple(dropped)


def _with_extra(written: Parameters, extra: Mapping[str, Any]) -> Parameters:
    """What an operator adds comes last. An object or a list is added to ours, and null takes ours away."""
    for key, value in extra.items():
        if key in _NEVER or key in _ONLY_ON_CHAT:
            continue
        if key in _TRANSLATED:
            key, inner = _TRANSLATED[key]
            value = {inner: value}
        written[key] = _joined(written.get(key), thaw(value))
    return {key: value for key, value in written.items() if value is not None}


def _joined(ours: Any, added: Any) -> Any:
    if isinstance(ours, dict) and isinstance(added, dict):
        return ours | added
    if isinstance(ours, list) and isinstance(added, list):
        return ours + [entry for entry in added if entry not in as_list(ours)]
    return added


def _effort(value: str, dialect: Dialect) -> Parameters:
    """An object here, as it is in OpenRouter's Chat Completions."""
    return {"reasoning": dialect.profile.effort(value).get("reasoning", {"effort": value})}


_WRITERS: Final[dict[str, Writer]] = {
    "temperature": lambda value, dialect: {"temperature": value},
    "top_p": lambda value, dialect: {"top_p": value},
    "max_tokens": lambda value, dialect: {"max_output_tokens": max(limit(value, dialect) or 0, _FEWEST_TOKENS)},
    "reasoning_effort": _effort,
    "response_schema": lambda value, dialect: {"text": {"format": {"type": "json_schema", **described(value)}}},
}
