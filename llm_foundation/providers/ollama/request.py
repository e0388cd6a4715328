"""The body of an Ollama chat request: one builder for plain, tool, structured and streaming calls."""

from typing import Any

from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.ollama.content import unreadable_kinds
from llm_foundation.providers.ollama.dialect import OllamaDialect
from llm_foundation.providers.ollama.messages import encoded_messages
from llm_foundation.providers.ollama.options import parameters
from llm_foundation.providers.ollama.tools import offer
from llm_foundation.providers.wire_json import to_json


def body(request: ChatRequest, dialect: OllamaDialect) -> bytes:
    """The JSON of the request. Raises ``ProviderStateError`` for damaged context of this very provider."""
    rest, _ = _besides_messages(request, dialect)
    messages = b",".join(encoded_messages(request.messages, dialect))
    return b'{"messages":[%b],%b' % (messages, to_json(rest)[1:])


def dropped_options(request: ChatRequest, dialect: OllamaDialect) -> tuple[str, ...]:
    """What the body leaves out because this model cannot take it."""
    return (*_besides_messages(request, dialect)[1], *unreadable_kinds(request.messages))


def _besides_messages(request: ChatRequest, dialect: OllamaDialect) -> tuple[dict[str, Any], tuple[str, ...]]:
    tools, refused = offer(request, dialect.model)
    written, dropped = parameters(request.options, dialect, beside_tools=bool(tools))
    # A request that does not say so gets a stream.
    rest: dict[str, Any] = {"model": dialect.model.model_id, "stream": request.stream}
    return rest | ({"tools": tools} if tools else {}) | written, (*refused, *dropped)
