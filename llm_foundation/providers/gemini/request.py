"""The body of a generateContent request: one builder for plain, tool, structured and streaming calls."""

from collections.abc import Mapping
from typing import Any, Final

from llm_foundation.chat.frozen import thaw
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.gemini.contents import encoded_contents
from llm_foundation.providers.gemini.dialect import GeminiDialect
from llm_foundation.providers.gemini.options import Parameters, generation_config, joined
from llm_foundation.providers.gemini.tools import offer
from llm_foundation.providers.wire_json import to_json

RESERVED: Final = frozenset({"contents", "model", "stream", "systemInstruction"})
"""What ``extra`` cannot replace: the rest of the system relies on it."""


def body(request: ChatRequest, dialect: GeminiDialect) -> bytes:
    """The JSON of the request. Raises ``ProviderStateError`` for damaged context of this very provider."""
    rest, _ = _besides_contents(request, dialect)
    conversation = encoded_contents(request.messages, dialect)
    fields = [b'"contents":[%b]' % b",".join(conversation.contents)]
    if conversation.system:
        fields.append(b'"systemInstruction":{"parts":[%b]}' % b",".join(conversation.system))
    if rest:
        fields.append(to_json(rest)[1:-1])
    return b"{%b}" % b",".join(fields)


def dropped_options(request: ChatRequest, dialect: GeminiDialect) -> tuple[str, ...]:
    """The options that the body leaves out because this model cannot take them."""
    return _besides_contents(request, dialect)[1]


def _besides_contents(request: ChatRequest, dialect: GeminiDialect) -> tuple[Parameters, tuple[str, ...]]:
    offered, refused = offer(request, dialect)
    config, dropped = generation_config(request.options, dialect, beside_tools=bool(offered))
    extra = {key: value for key, value in request.options.extra.items() if key not in RESERVED}
    own_tools, lost = _own_tools(extra.pop("tools", None))
    rest = joined(offered | ({"generationConfig": config} if config else {}), extra)
    if own_tools:
        rest["tools"] = [*rest.get("tools", ()), *own_tools]
    reserved = (f"extra.{key}" for key in request.options.extra if key in RESERVED)
    return rest, (*refused, *dropped, *lost, *reserved)


def _own_tools(tools: Any) -> tuple[list[Parameters], tuple[str, ...]]:
    """Tools that Google runs itself, as the operator wrote them into ``extra``; functions are offered by us alone."""
    listed = tools if isinstance(tools, list) else []
    own = [thaw(tool) for tool in listed if isinstance(tool, Mapping) and "functionDeclarations" not in tool]
    return own, () if tools is None or (listed and len(own) == len(listed)) else ("extra.tools",)
