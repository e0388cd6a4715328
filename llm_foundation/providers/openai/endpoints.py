"""Vendors that speak OpenAI's Chat Completions format, each as data: what differs from OpenAI, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from llm_foundation.chat.options import ChatOptions
from llm_foundation.exceptions import ConfigurationError, UnknownAdapter, UnusableConfiguration
from llm_foundation.providers.base import ModelSpec, ProviderSpec
from llm_foundation.providers.call_ids import IdCodec, at_most_40, at_most_64, nine_alphanumerics
from llm_foundation.providers.embedding_limits import EmbeddingLimits
from llm_foundation.providers.openai import endpoint_quirks as quirks
from llm_foundation.providers.openai.endpoint_quirks import Arrangement

STATE_FIELDS: Final = frozenset({"reasoning_content", "reasoning_details", "content", "extra_content", "calls"})
"""Everything opaque that an answer in this format can carry; see ``openai_chat_state``."""


@dataclass(frozen=True, slots=True)
class ToolChoices:
    """Which choices the endpoint honours. ``required`` is its word for "some tool", ``None`` where it has none."""

    required: str | None = "required"
    named: bool = True
    none: bool = True


@dataclass(frozen=True, slots=True)
class EndpointProfile:
    """One vendor's face of the format. The defaults are what OpenAI itself does."""

    name: str
    base_url: str = ""
    address: Callable[[ProviderSpec, ModelSpec], str] = quirks.plain_address
    key_header: Literal["authorization", "api-key"] = "authorization"
    call_id: IdCodec = at_most_64
    system_role: Callable[[ModelSpec], str] = quirks.system_role
    arrangements: tuple[Arrangement, ...] = (quirks.files_after_results,)
    empty_content: str | None = None
    """What stands beside calls without text: null (vercel/ai#13466), or "" (lmstudio-bug-tracker#261)."""
    is_openai: bool = False
    """Whether OpenAI's own service answers, with the limits and abilities of that."""
    replays: frozenset[str] = frozenset()
    """Which of the owner's own context goes back to it."""
    blank_reasoning: bool = False
    """Whether turns with calls that came from elsewhere get a blank ``reasoning_content`` (continue#11285)."""
    continues_assistant: bool = False
    """Whether a last assistant message is marked as the beginning of the answer (0xPlaygrounds/rig#708)."""
    max_tokens: Callable[[ModelSpec], str] = quirks.max_tokens
    effort: Callable[[str], dict[str, Any]] = quirks.plain_effort
    seed: str = "seed"
    refuses: frozenset[str] = frozenset()
    """Options that the endpoint does not take, whatever the model."""
    stream_options: bool = True
    """Whether usage must, and may, be asked for in a stream (litellm#23847)."""
    json_schema: bool = True
    strict_tools: bool = False
    description_limit: int | None = None
    """Characters that a tool's description may have (getsentry/sentry-mcp#106)."""
    tool_choices: ToolChoices = field(default_factory=ToolChoices)
    can_force: Callable[[ModelSpec, ChatOptions], bool] = quirks.can_force
    embedding_limits: EmbeddingLimits = field(default_factory=EmbeddingLimits)


_OPENAIS_EMBEDDINGS: Final = EmbeddingLimits(texts=1024, tokens=300_000, text_tokens=8_192)
"""OpenAI takes twice as many texts, but answers to so many could be longer than we read (``MAX_BODY_BYTES``)."""

_TEMPLATED: Final = (quirks.files_after_results, quirks.system_messages_first, quirks.merge_neighbours)
"""For servers that put messages through a model's chat template."""

_PROFILES: Final = (
    EndpointProfile(
        "openai",
        "https://api.openai.com/v1",
        call_id=at_most_40,
        is_openai=True,
        embedding_limits=_OPENAIS_EMBEDDINGS,
        system_role=quirks.developer_role,
        max_tokens=quirks.max_completion_tokens,
        strict_tools=True,
        description_limit=1024,
    ),
    EndpointProfile(
        "azure",
        address=quirks.azure_address,
        key_header="api-key",
        call_id=at_most_40,
        is_openai=True,
        embedding_limits=_OPENAIS_EMBEDDINGS,
        max_tokens=quirks.azure_max_tokens,
        strict_tools=True,
        description_limit=1024,
    ),
    EndpointProfile(
        "openrouter",
        "https://openrouter.ai/api/v1",
        call_id=at_most_40,
        replays=STATE_FIELDS,
        effort=quirks.openrouter_effort,
        strict_tools=True,
    ),
    # Groq refuses every field it does not know, reasoning included (gptel#774, AstrBot#5946).
    EndpointProfile("groq", "https://api.groq.com/openai/v1", max_tokens=quirks.max_completion_tokens),
    EndpointProfile(
        "mistral",
        "https://api.mistral.ai/v1",
        call_id=nine_alphanumerics,
        arrangements=(*_TEMPLATED, quirks.assistant_between_tool_and_user),
        empty_content="",
        replays=frozenset({"content"}),
        continues_assistant=True,
        seed="random_seed",
        stream_options=False,  # anon-kode#53; usage comes anyway
        embedding_limits=EmbeddingLimits(texts=256, tokens=16_000, text_tokens=8_192),
        tool_choices=ToolChoices(required="any"),
    ),
    EndpointProfile(
        "deepseek",
        "https://api.deepseek.com",
        replays=frozenset({"reasoning_content"}),  # langchain#34166
        blank_reasoning=True,
        effort=quirks.deepseek_effort,
        json_schema=False,
        can_force=quirks.can_force_unless_thinking,
    ),
    EndpointProfile("xai", "https://api.x.ai/v1", max_tokens=quirks.max_completion_tokens),
    EndpointProfile("together", "https://api.together.xyz/v1", replays=frozenset({"reasoning_content"})),
    EndpointProfile("fireworks", "https://api.fireworks.ai/inference/v1", replays=frozenset({"reasoning_content"})),
    EndpointProfile(
        "ollama",
        "http://localhost:11434/v1",
        arrangements=_TEMPLATED,
        empty_content="",  # cheetahclaws#72
        tool_choices=ToolChoices(required=None, named=False, none=False),  # ollama#17921
    ),
    EndpointProfile("vllm", "http://localhost:8000/v1", arrangements=_TEMPLATED, replays=STATE_FIELDS),
    EndpointProfile(
        "llama_cpp",
        "http://localhost:8080/v1",
        arrangements=_TEMPLATED,
        replays=frozenset({"reasoning_content"}),
        tool_choices=ToolChoices(named=False),
    ),
    EndpointProfile(
        "lm_studio",
        "http://localhost:1234/v1",
        arrangements=_TEMPLATED,
        empty_content="",  # lmstudio-bug-tracker#261
        tool_choices=ToolChoices(named=False),  # lmstudio-bug-tracker#670
    ),
    EndpointProfile("custom", arrangements=_TEMPLATED, replays=STATE_FIELDS),
)

PROFILES: Final = {profile.name: profile for profile in _PROFILES}

ADJUSTABLE: Final[dict[str, tuple[type, ...]]] = {
    "empty_content": (str, type(None)),
    "stream_options": (bool,),
    "json_schema": (bool,),
    "strict_tools": (bool,),
    "blank_reasoning": (bool,),
    "continues_assistant": (bool,),
}
"""Fields that ``ProviderSpec.options`` may set differently, for an endpoint that fits no profile quite."""


def profile_for(provider: ProviderSpec, *, default: str) -> EndpointProfile:
    """The profile that a provider names, as its options adjust it. Raises ``UnknownAdapter`` for no known name."""
    name = provider.profile or default
    if name not in PROFILES:
        known = ", ".join(PROFILES)
        raise UnknownAdapter(f"Provider {provider.name!r} names the profile {name!r}; known profiles are {known}.")
    changes = {key: value for key, value in provider.options.items() if key in ADJUSTABLE}
    for key, value in changes.items():
        if not isinstance(value, ADJUSTABLE[key]):
            raise UnusableConfiguration(f"Provider {provider.name!r}: its option {key!r} cannot be {value!r}.")
    return replace(PROFILES[name], **changes)


def effective(provider: ProviderSpec, profile: EndpointProfile) -> ProviderSpec:
    """The provider with the address that counts. Raises ``ConfigurationError`` where neither names one."""
    base_url = (provider.base_url or profile.base_url).rstrip("/")
    if not base_url:
        raise ConfigurationError(f"Provider {provider.name!r} needs a base URL: its profile {profile.name!r} has none.")
    return replace(provider, base_url=base_url)
