"""A Messages request: one builder for plain, tool, structured and streaming calls."""

from dataclasses import dataclass
from typing import Any

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.anthropic.content import unreadable_type
from llm_foundation.providers.anthropic.dialect import Dialect
from llm_foundation.providers.anthropic.messages import arranged, encoded_messages, wire_blocks
from llm_foundation.providers.anthropic.options import max_tokens, parameters
from llm_foundation.providers.anthropic.schema import Allowance
from llm_foundation.providers.anthropic.state import container_of
from llm_foundation.providers.anthropic.thinking import Thinking, thinking
from llm_foundation.providers.anthropic.tools import offer
from llm_foundation.providers.headers import fits_header
from llm_foundation.providers.wire_json import to_json


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything beside the messages, and what of the request had to be left out."""

    body: dict[str, Any]
    betas: tuple[str, ...]
    dropped: tuple[str, ...]
    thinks: Thinking


def plan(request: ChatRequest, dialect: Dialect) -> Plan:
    """Raises ``ProviderStateError`` for damaged context of this very provider."""
    options, allowance = request.options, Allowance()
    thinks = thinking(request.messages, options, dialect, max_tokens=max_tokens(options, dialect))
    written, dropped = parameters(options, dialect, thinks, allowance)
    offered = offer(request, dialect, thinks, allowance)
    body: dict[str, Any] = {"model": dialect.model.model_id} | ({"stream": True} if request.stream else {})
    container = container_of(request.messages, dialect)
    body |= ({"container": container} if container else {}) | offered.parameters | written
    betas, lost = _betas(request, dialect, thinks)
    return Plan(body, betas, (*offered.dropped, *dropped, *lost, *_unread(request)), thinks)


def body(request: ChatRequest, dialect: Dialect, planned: Plan) -> bytes:
    """The JSON of the request."""
    prefill = dialect.traits.prefill and not planned.thinks.is_on
    conversation = arranged(request.messages, dialect, prefill=prefill)
    marks = _marks_cache(request, dialect)
    rest = dict(planned.body)
    if conversation.system:
        blocks = [block for message in conversation.system for block in wire_blocks(message, dialect)]
        rest["system"] = _marked(blocks, dialect) if marks else blocks
    if marks and "tools" in rest:
        rest["tools"] = _marked(rest["tools"], dialect)
    messages = b",".join(encoded_messages(conversation.messages, dialect, mark_last=marks))
    return b'{"messages":[%b],%b' % (messages, to_json(rest)[1:])


def _marks_cache(request: ChatRequest, dialect: Dialect) -> bool:
    """Whether it pays to have the request cached: a next step sends it again. What ``extra`` says counts first."""
    if "cache_control" in request.options.extra or dialect.settings.prompt_cache == "off":
        return False
    goes_on = request.tools or any(message.role is Role.ASSISTANT for message in request.messages)
    return dialect.settings.prompt_cache == "always" or bool(goes_on)


def _marked(blocks: list[dict[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
    """The blocks with a mark on the last one that may carry one; tools that load later may not."""
    place = next((n for n in reversed(range(len(blocks))) if not blocks[n].get("defer_loading")), None)
    return [
        block | {"cache_control": dialect.settings.cache_control} if n == place else block
        for n, block in enumerate(blocks)
    ]


def _betas(request: ChatRequest, dialect: Dialect, thinks: Thinking) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names for the ``anthropic-beta`` header, each once; those of one call stand in ``extra``."""
    extra = request.options.extra.get("betas") or []
    fits = isinstance(extra, list) and all(fits_header(beta) for beta in extra)
    names = (*dialect.settings.betas, *(extra if fits else ()), *thinks.betas)
    return tuple(dict.fromkeys(names)), () if fits else ("extra.betas",)


def _unread(request: ChatRequest) -> tuple[str, ...]:
    """What the model is only told of, because it cannot read it."""
    parts = (part for message in request.messages for part in _parts(message))
    return tuple(dict.fromkeys(f"content.{kind}" for part in parts if (kind := unreadable_type(part))))


def _parts(message: ChatMessage) -> tuple[Any, ...]:
    return () if isinstance(message.content, str) else message.content
