"""What single vendors want, one named function each, with the public report that it comes from."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.chat.options import ChatOptions
from llm_foundation.chat.parts import Part, TextPart
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.openai.model_traits import traits_of

Messages = tuple[ChatMessage, ...]
Arrangement = Callable[[Messages], Messages]

BRIDGE: Final = "OK."
"""What the assistant says between a tool's result and the next user message, where a vendor wants something there."""


# --- Addresses --------------------------------------------------------------------------------------------------------
def plain_address(provider: ProviderSpec, model: ModelSpec) -> str:
    base = provider.base_url.removesuffix("/chat/completions")
    return f"{base}/chat/completions"


def azure_address(provider: ProviderSpec, model: ModelSpec) -> str:
    """Azure puts the deployment into the path and wants an ``api-version``, except on its newer /openai/v1 face.

    The deployment is ``options["deployment"]``, or the model's id. Model inference (``…/models``) has no deployment.
    """
    base = provider.base_url
    version = quote(str(provider.options.get("api_version") or AZURE_API_VERSION), safe="")
    if base.endswith("/openai/v1"):
        return f"{base}/chat/completions"
    if base.endswith("/models"):
        return f"{base}/chat/completions?api-version={version}"
    deployment = quote(str(provider.options.get("deployment") or model.model_id), safe="")
    return f"{base.removesuffix('/openai')}/openai/deployments/{deployment}/chat/completions?api-version={version}"


AZURE_API_VERSION: Final = "2024-10-21"


# --- Reasoning effort -------------------------------------------------------------------------------------------------
def plain_effort(effort: str) -> dict[str, Any]:
    return {"reasoning_effort": effort}


def openrouter_effort(effort: str) -> dict[str, Any]:
    """OpenRouter has an object of its own; its scale ends at ``xhigh`` (earendil-works/pi#4801)."""
    return {"reasoning": {"effort": "xhigh" if effort == "max" else effort}}


def deepseek_effort(effort: str) -> dict[str, Any]:
    """DeepSeek switches thinking on and off beside the effort (DeepSeek-V3#1376)."""
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}


# --- Forced tool choice -----------------------------------------------------------------------------------------------
def can_force(model: ModelSpec, options: ChatOptions) -> bool:
    return True


def can_force_unless_thinking(model: ModelSpec, options: ChatOptions) -> bool:
    """DeepSeek thinks by default, and then refuses every forced choice (opencode-mem#253, litellm#37470)."""
    thinking = options.extra.get("thinking")
    disabled = isinstance(thinking, dict) and thinking.get("type") == "disabled"
    return disabled or options.reasoning_effort == "none" or model.model_id == "deepseek-chat"


# --- Roles ------------------------------------------------------------------------------------------------------------
def system_role(model: ModelSpec) -> str:
    return "system"


def developer_role(model: ModelSpec) -> str:
    """OpenAI's reasoning models call system messages so."""
    return "developer" if traits_of(model.model_id).reasons else "system"


# --- Length limit -----------------------------------------------------------------------------------------------------
def max_tokens(model: ModelSpec) -> str:
    return "max_tokens"


def max_completion_tokens(model: ModelSpec) -> str:
    return "max_completion_tokens"


def azure_max_tokens(model: ModelSpec) -> str:
    """Azure hosts models that know only one of the two names; reasoning models refuse the older (goclaw#211)."""
    reasons = model.supports_reasoning or traits_of(model.model_id).reasons
    return "max_completion_tokens" if reasons else "max_tokens"


# --- Order of the messages --------------------------------------------------------------------------------------------
def files_after_results(messages: Messages) -> Messages:
    """A tool message holds text only: images and files of a turn's results follow them in a user message."""
    if not any(message.role is Role.TOOL and not isinstance(message.content, str) for message in messages):
        return messages
    arranged: list[ChatMessage] = []
    for is_result, group in groupby(messages, key=lambda message: message.role is Role.TOOL):
        members = list(group)
        files = [part for message in members for part in message.parts if not isinstance(part, TextPart)]
        arranged += [_without_files(message) for message in members] if is_result and files else members
        if is_result and files:
            arranged.append(ChatMessage.user((TextPart(text="Files from the tool results above:"), *files)))
    return tuple(arranged)


def _without_files(message: ChatMessage) -> ChatMessage:
    if all(isinstance(part, TextPart) for part in message.parts):
        return message
    kept = [part if isinstance(part, TextPart) else TextPart(text="[a file: see below]") for part in message.parts]
    return message.model_copy(update={"content": tuple(kept)})


def system_messages_first(messages: Messages) -> Messages:
    """Chat templates refuse a system message anywhere but at the start, and more than one (llama.cpp#19851)."""
    systems = [message for message in messages if message.role is Role.SYSTEM]
    if not systems or (len(systems) == 1 and messages[0] is systems[0]):
        return messages
    others = [message for message in messages if message.role is not Role.SYSTEM]
    return (_merged(systems), *others)


def merge_neighbours(messages: Messages) -> Messages:
    """Chat templates want user and assistant to take turns (llama.cpp#19851, theia#17104, mini-swe-agent#759)."""
    return tuple(_merge_each(messages))


def _merge_each(messages: Messages) -> Iterator[ChatMessage]:
    for kind, group in groupby(messages, key=_mergeable):
        members = list(group)
        yield from [_merged(members)] if kind is not None and len(members) > 1 else members


def _mergeable(message: ChatMessage) -> Role | None:
    """Turns with calls or with a provider's own context stay as they are."""
    if message.role in (Role.SYSTEM, Role.TOOL) or message.tool_calls or message.provider_state:
        return None
    return message.role


def _merged(messages: list[ChatMessage]) -> ChatMessage:
    if len(messages) == 1:
        return messages[0]
    if all(isinstance(message.content, str) for message in messages):
        content: str | tuple[Part, ...] = "\n\n".join(message.text for message in messages)
    else:
        content = tuple(part for message in messages for part in message.parts)
    return messages[0].model_copy(update={"content": content})


def assistant_between_tool_and_user(messages: Messages) -> Messages:
    """Mistral refuses a user message right after a tool's result (litellm#6323, datapizza-ai#98)."""
    arranged: list[ChatMessage] = []
    for message in messages:
        if message.role is Role.USER and arranged and arranged[-1].role is Role.TOOL:
            arranged.append(ChatMessage.assistant(BRIDGE))
        arranged.append(message)
    return tuple(arranged)
