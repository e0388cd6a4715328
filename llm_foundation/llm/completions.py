"""One answer, or one batch of vectors: what is asked once and not stored."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.options import ChatOptions, ToolChoice
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.pipeline.answer_schema import M
from llm_foundation.pipeline.completion import completion_call
from llm_foundation.pipeline.discovery import discovery_steps
from llm_foundation.pipeline.embedding import embedding_steps
from llm_foundation.pipeline.structured import structured_steps
from llm_foundation.runs.drivers import adrive, drive

if TYPE_CHECKING:
    from llm_foundation.models import Provider
    from llm_foundation.pipeline.available_models import AvailableModel
    from llm_foundation.policy.facts import User
    from llm_foundation.tools import Tool


def chat(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    tool_choice: ToolChoice = "auto",
    options: ChatOptions | None = None,
) -> CompletionResponse:
    """Ask for one completion.

    Tools are offered only if ``tools`` names some, and their calls are given back, not executed. ``options`` stand
    over the configuration's. Raises ``InvalidMessage``, ``ConfigurationError`` or ``ProviderError``.
    """
    return completion_call(
        configuration, messages, user=user, tools=tools, tool_choice=tool_choice, options=options
    ).perform()


async def achat(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    tool_choice: ToolChoice = "auto",
    options: ChatOptions | None = None,
) -> CompletionResponse:
    """``chat`` for async code."""
    call = await sync_to_async(completion_call)(
        configuration, messages, user=user, tools=tools, tool_choice=tool_choice, options=options
    )
    return await call.aperform()


def stream(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    tool_choice: ToolChoice = "auto",
    options: ChatOptions | None = None,
) -> Iterator[StreamEvent]:
    """Ask for one completion as events; the last one, ``StreamCompleted``, carries what ``chat`` would give.

    Everything that can be wrong before contact is raised here, not at the first event.
    """
    return completion_call(
        configuration, messages, user=user, tools=tools, tool_choice=tool_choice, options=options
    ).stream()


async def astream(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    tool_choice: ToolChoice = "auto",
    options: ChatOptions | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """``stream`` for async code: ``async for event in llm.astream(…)``."""
    call = await sync_to_async(completion_call)(
        configuration, messages, user=user, tools=tools, tool_choice=tool_choice, options=options
    )
    async with aclosing(call.astream()) as events:  # who stops early closes the connection with it
        async for event in events:
            yield event


def structured(
    configuration: str,
    messages: Any,
    *,
    schema: type[M],
    user: "User | None" = None,
    options: ChatOptions | None = None,
) -> M:
    """Ask for an answer that is an instance of ``schema``, a pydantic model class.

    The provider enforces the schema where it can; else the model is made to call a tool with it, or told of it. An
    answer that does not fit is shown to the model once. Raises ``StructuredOutputError`` where the second one does not
    fit either, where an answer was cut off, filtered or refused; ``InvalidMessage`` for a schema that cannot be asked
    for; and what ``chat`` raises.
    """
    return drive(structured_steps(configuration, messages, schema=schema, user=user, options=options))


async def astructured(
    configuration: str,
    messages: Any,
    *,
    schema: type[M],
    user: "User | None" = None,
    options: ChatOptions | None = None,
) -> M:
    """``structured`` for async code."""
    return await adrive(structured_steps(configuration, messages, schema=schema, user=user, options=options))


def embed(configuration: str, texts: Iterable[str], *, user: "User | None" = None) -> Embeddings:
    """Turn each text into a vector, in the order of the texts; in as many requests as the provider's limits ask for.

    ``extra`` of the configuration's parameters joins each request (``dimensions``, ``taskType``, …). Raises
    ``InvalidMessage`` that names the text by its place, ``ConfigurationError`` or ``ProviderError``.
    """
    return drive(embedding_steps(configuration, texts, user=user))


async def aembed(configuration: str, texts: Iterable[str], *, user: "User | None" = None) -> Embeddings:
    """``embed`` for async code."""
    return await adrive(embedding_steps(configuration, texts, user=user))


def available_models(provider: "Provider | str") -> "tuple[AvailableModel, ...]":
    """Ask a provider, or the one of this name, which models it has; for operators.

    Each comes with what its provider, the catalogue of prices and the records in the admin know, and who says so.
    Raises ``ConfigurationError`` or ``ProviderError``.
    """
    return drive(discovery_steps(provider))


async def aavailable_models(provider: "Provider | str") -> "tuple[AvailableModel, ...]":
    """``available_models`` for async code."""
    return await adrive(discovery_steps(provider))
