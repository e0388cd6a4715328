"""What applications call. Code names a configuration; the administrator decides what stands behind it.

::

    from llm_foundation import llm

    answer = llm.chat("support", "Where is my parcel?")
    run = llm.run("support", "Refund order 2026-1138", user=request.user)

Every function has a twin for async code: ``achat``, ``astream``, ``arun`` and so on. ``messages`` is a text, or a
list of ``ChatMessage`` or OpenAI-style dicts; a wrong one raises ``InvalidMessage`` that names the field.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.chat.embeddings import Embeddings
from llm_foundation.chat.options import ChatOptions, ToolChoice
from llm_foundation.chat.stream import StreamEvent
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.pipeline.answer_schema import M
from llm_foundation.pipeline.completion import completion_call
from llm_foundation.pipeline.discovery import discovery_steps
from llm_foundation.pipeline.embedding import embedding_steps
from llm_foundation.pipeline.structured import structured_steps
from llm_foundation.runs.decisions import decide
from llm_foundation.runs.drivers import adrive, drive
from llm_foundation.runs.in_memory import LoopResult, memory_run_steps
from llm_foundation.runs.runtime import run_steps

if TYPE_CHECKING:
    from uuid import UUID

    from llm_foundation.models import Provider
    from llm_foundation.pipeline.available_models import AvailableModel
    from llm_foundation.policy.facts import User
    from llm_foundation.tools import Tool

__all__ = [
    "aapprove",
    "aavailable_models",
    "achat",
    "adeny",
    "aembed",
    "approve",
    "arun",
    "arun_in_memory",
    "astream",
    "astructured",
    "available_models",
    "chat",
    "deny",
    "embed",
    "run",
    "run_in_memory",
    "stream",
    "structured",
]


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


def run_in_memory(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
    options: ChatOptions | None = None,
) -> LoopResult:
    """Let the model call tools until it answers, and keep nothing.

    ``tools`` of ``None`` offers all that the configuration grants, a list that subset. A call that a person must
    decide raises ``ToolApprovalRequired``; with ``unattended`` only tools that never pause are offered.
    """
    return drive(
        memory_run_steps(configuration, messages, user=user, tools=tools, unattended=unattended, options=options)
    )


async def arun_in_memory(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
    options: ChatOptions | None = None,
) -> LoopResult:
    """``run_in_memory`` for async code; a turn's free calls run side by side, transactional ones never."""
    return await adrive(
        memory_run_steps(configuration, messages, user=user, tools=tools, unattended=unattended, options=options)
    )


def run(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
) -> Run:
    """Start a stored run and execute it until it ends or waits for a person; look at ``run.status``.

    ``user`` owns the run: its tools act with this user's rights. What goes wrong after the start is on the run
    (``status`` "failed", ``termination_reason``, ``error``), with its transcript. Raises ``RunInsideTransaction``
    inside ``transaction.atomic``.
    """
    return drive(run_steps(configuration, messages, user=user, tools=tools, unattended=unattended))


async def arun(
    configuration: str,
    messages: Any,
    *,
    user: "User | None" = None,
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
) -> Run:
    """``run`` for async code."""
    return await adrive(run_steps(configuration, messages, user=user, tools=tools, unattended=unattended))


def approve(call: "RunToolCall | UUID | str", *, by: "User", digest: str, channel: str = "code") -> Run:
    """Release one pending call, and let its run go on.

    ``digest`` is ``call.digest`` as it was when the person looked. Gives the run as it is afterwards. Raises
    ``DecisionError``: ``DecisionNotPermitted``, ``AlreadyDecided`` or ``StaleDigest``.
    """
    return _run_of(decide(call, by=by, digest=digest, verdict=Decision.Verdict.APPROVED, channel=channel))


def deny(call: "RunToolCall | UUID | str", *, by: "User", digest: str, reason: str = "", channel: str = "code") -> Run:
    """Refuse one pending call; the model is told, with the reason, and the run goes on. See ``approve``."""
    return _run_of(decide(call, by=by, digest=digest, verdict=Decision.Verdict.DENIED, reason=reason, channel=channel))


aapprove = sync_to_async(approve)
adeny = sync_to_async(deny)


def _run_of(decision: Decision) -> Run:
    return Run.objects.get(calls=decision.call_id)
