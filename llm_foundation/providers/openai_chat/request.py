"""The body of a Chat Completions request: one builder for plain, tool, structured and streaming calls."""

from typing import Any

from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai.tools import offer
from llm_foundation.providers.openai_chat.messages import encoded_messages
from llm_foundation.providers.openai_chat.options import parameters
from llm_foundation.providers.wire_json import to_json


def body(request: ChatRequest, dialect: Dialect) -> bytes:
    """The JSON of the request. Raises ``ProviderStateError`` for damaged context of this very provider."""
    rest, _ = _besides_messages(request, dialect)
    messages = b",".join(encoded_messages(request.messages, dialect))
    return b'{"messages":[%b],%b' % (messages, to_json(rest)[1:])


def dropped_options(request: ChatRequest, dialect: Dialect) -> tuple[str, ...]:
    """The options that the body leaves out because this model cannot take them."""
    return _besides_messages(request, dialect)[1]


def _besides_messages(request: ChatRequest, dialect: Dialect) -> tuple[dict[str, Any], tuple[str, ...]]:
    offered = offer(request, dialect)
    written, dropped = parameters(request.options, dialect, beside_tools=bool(offered.parameters))
    rest: dict[str, Any] = {"model": dialect.model.model_id}
    if request.stream:
        rest["stream"] = True
        if dialect.profile.stream_options:
            rest["stream_options"] = {"include_usage": True}
    return rest | offered.parameters | written, (*offered.dropped, *dropped)
