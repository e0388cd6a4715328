"""Options of a call in Ollama's form, and which of them the model cannot take."""

from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatOptions
from llm_foundation.providers.ollama.dialect import OllamaDialect
from llm_foundation.providers.ollama.schema import answer_schema
from llm_foundation.providers.openai.model_traits import SAMPLING

RESERVED: Final = frozenset({"messages", "model", "stream", "tools"})
"""What ``extra`` cannot replace: the rest of the system relies on it."""

Parameters = dict[str, Any]

_RUNNER_OPTIONS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "max_tokens": "num_predict",
    "stop": "stop",
}
"""What goes into ``options``, and its name there."""

_FIXED: Final = {"truncate": False, "shift": False}
"""By itself the server cuts what does not fit its context, and says nothing (ollama#4967); so it is told to refuse.
Servers that do not know these words pass over them."""


def parameters(
    options: ChatOptions, dialect: OllamaDialect, *, beside_tools: bool
) -> tuple[Parameters, tuple[str, ...]]:
    """What goes into the body, and the names of the options that cannot be taken, or not quite as they were asked."""
    runner, dropped = _runner_options(options, dialect)
    written: Parameters = dict(_FIXED)
    for name, (told, is_lost) in {
        "reasoning_effort": _think(options, dialect),
        "response_schema": _format(options, dialect, beside_tools=beside_tools),
    }.items():
        written |= told
        dropped += [name] if is_lost else []
    extra = {key: thaw(value) for key, value in options.extra.items() if key not in RESERVED}
    if isinstance(own := extra.pop("options", {}), dict):
        runner |= own
    else:
        dropped.append("extra.options")
    written |= ({"options": runner} if runner else {}) | extra
    return written, (*dropped, *(f"extra.{key}" for key in options.extra if key in RESERVED))


def _runner_options(options: ChatOptions, dialect: OllamaDialect) -> tuple[Parameters, list[str]]:
    written: Parameters = {} if dialect.context is None else {"num_ctx": dialect.context}
    dropped = []
    for ours, theirs in _RUNNER_OPTIONS.items():
        value = getattr(options, ours)
        if value is None or value == ():
            continue
        if ours in SAMPLING and not dialect.model.supports_sampling:
            dropped.append(ours)
        else:
            written[theirs] = list(value) if isinstance(value, tuple) else value
    most = dialect.model.max_output_tokens
    if most is not None and written.get("num_predict", 0) > most:
        written["num_predict"] = most
        dropped.append("max_tokens")
    return written, dropped


Written = tuple[Parameters, bool]
"""What goes into the body, and whether something of the option is lost."""


def _think(options: ChatOptions, dialect: OllamaDialect) -> Written:
    """Whether, or how much, to think. What is not said in the very word that was asked for counts as lost."""
    effort = options.reasoning_effort
    if effort is None:
        return {}, False
    if effort not in dialect.thinking:
        return {}, True
    think = dialect.thinking[effort]
    return {"think": think}, think not in (effort, False)


def _format(options: ChatOptions, dialect: OllamaDialect, *, beside_tools: bool) -> Written:
    """The schema of the answer. Beside tools it would keep the model from calling any (ollama#8095, ollama#13750)."""
    schema = options.response_schema
    if schema is None:
        return {}, False
    if beside_tools or not dialect.model.supports_json_schema:
        return {}, True
    return {"format": answer_schema(schema.schema_)}, False
