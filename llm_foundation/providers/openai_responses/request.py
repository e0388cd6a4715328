"""The body of a Responses request: one builder for plain, tool, structured and streaming calls."""

from typing import Any

from llm_foundation.chat.options import ChatRequest
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.openai.dialect import Dialect
from llm_foundation.providers.openai.endpoints import EndpointProfile
from llm_foundation.providers.openai.tools import offer
from llm_foundation.providers.openai_responses.input import encoded_input
from llm_foundation.providers.openai_responses.options import parameters
from llm_foundation.providers.wire_json import to_json


def address(provider: ProviderSpec, profile: EndpointProfile) -> str:
    """``/responses`` beside ``/chat/completions``. Azure has it below ``/openai/v1``, for every deployment."""
    base = provider.base_url.removesuffix("/chat/completions").removesuffix("/responses")
    if profile.name == "azure":
        base = f"{base.removesuffix('/models').removesuffix('/v1').removesuffix('/openai')}/openai/v1"
    return f"{base}/responses"


def model_name(provider: ProviderSpec, profile: EndpointProfile, model: ModelSpec) -> str:
    """The model's id, or the deployment where Azure has one of another name."""
    return str((profile.name == "azure" and provider.options.get("deployment")) or model.model_id)


def body(request: ChatRequest, dialect: Dialect) -> bytes:
    """The JSON of the request. Raises ``ProviderStateError`` for damaged context of this very provider."""
    rest, _ = _besides_input(request, dialect)
    items = b",".join(encoded_input(request.messages, dialect))
    return b'{"input":[%b],%b' % (items, to_json(rest)[1:])


def dropped_options(request: ChatRequest, dialect: Dialect) -> tuple[str, ...]:
    """The options that the body leaves out because the model or the format cannot take them."""
    return _besides_input(request, dialect)[1]


def _besides_input(request: ChatRequest, dialect: Dialect) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The whole conversation is sent each time, so nothing has to be stored at the provider."""
    offered = offer(request, dialect)
    written, dropped = parameters(request.options, dialect, beside_tools=bool(offered.parameters))
    rest: dict[str, Any] = {"model": model_name(dialect.provider, dialect.profile, dialect.model), "store": False}
    if request.stream:
        rest["stream"] = True
    return rest | offered.parameters | written, (*offered.dropped, *dropped)
