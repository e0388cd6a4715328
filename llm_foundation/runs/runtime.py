"""Starting a run, and going on with one."""

import os
import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections

from llm_foundation.chat.conversation import read_conversation
from llm_foundation.exceptions import DecryptionFailed, LLMFoundationError, RunInsideTransaction
from llm_foundation.loop.state import LoopState
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.pipeline.plan import plan_for
from llm_foundation.policy.facts import load_policy
from llm_foundation.runs import store
from llm_foundation.runs.drivers import Steps
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.segment import Segment, failure_reason

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User
    from llm_foundation.tools import Tool


def run_steps(
    slug: str,
    messages: Any,
    *,
    user: "User | None",
    tools: "Iterable[str | Tool] | None" = None,
    unattended: bool = False,
) -> Steps[Run]:
    """Store a new run and execute its first segment: start and claim are one transaction."""
    refuse_inside_transaction("llm.run()")
    conversation = read_conversation(messages)
    plan = plan_for(Configuration.objects.by_slug(slug, user=user))
    offer = load_policy(plan.configuration, user=user).offer(tools, unattended=unattended)
    state = plan.begin(conversation, offer)
    owner: Any = user  # whatever model the project has for its users
    run = Run(
        configuration=plan.configuration,
        owner=owner,
        starter=owner,
        has_owner=owner is not None,
        unattended=unattended,
        status=RunStatus.RUNNING,
        offer=[tool.name for tool in offer.tools],
        lease_owner=process_name(),
        lease_token=1,
        lease_expires_at=store.lease_end(),
        attempts=1,
    )
    run.keep_limits(plan.limits)
    refused = {decision.tool: decision.reason for decision in offer.refused}
    started = event(EventKind.STARTED, configuration=slug, offered=run.offer, refused=refused)
    store.insert(run, state.messages, [started])
    return (yield from Segment(run, plan, state).steps())


def resume_steps(run_id: UUID) -> Steps[Run | None]:
    """Go on with a queued run; ``None`` where there is nothing to take: a lost or doubled message does no harm."""
    run = store.claim(run_id, owner=process_name())
    if run is None:
        return None
    try:
        segment = _load(run)
    except LLMFoundationError as error:
        return _give_up(run, error)
    return (yield from segment.steps())


def _load(run: Run) -> Segment:
    """Everything a segment needs, from what is stored."""
    configuration = Configuration.objects.by_slug(run.configuration.slug)
    plan = plan_for(configuration)
    messages = run.transcript
    rows: list[RunToolCall] = []
    if messages[-1].tool_calls:
        last_turn = run.calls.order_by("-turn").values("turn")[:1]
        rows = list(run.calls.filter(turn=last_turn).order_by("index"))
    state = LoopState(
        messages=messages,
        open_turn=tuple(row.open_call() for row in rows),
        counters=run.counters(),
        limits=run.run_limits(),
        closing=run.closing,
    )
    run.configuration = configuration
    segment = Segment(run, plan, state, rows)
    segment.changes.events.append(event(EventKind.RESUMED, attempt=run.attempts))
    return segment


def _give_up(run: Run, error: LLMFoundationError) -> Run:
    """A run that cannot even be read ends with a reason, and keeps its data."""
    reason = "unreadable" if isinstance(error, DecryptionFailed) else failure_reason(error)
    store.fail(run, store.Changes(), reason=reason, error=str(error))
    return run


def process_name() -> str:
    return f"{platform.node()}:{os.getpid()}"[:64]


def refuse_inside_transaction(what: str) -> None:
    """A surrounding transaction could undo what the run did, and hide it from everybody else meanwhile."""
    connection = connections[DEFAULT_DB_ALIAS]
    blocks = connection.atomic_blocks
    in_test_case = bool(blocks) and blocks[-1]._from_testcase  # type: ignore[attr-defined]  # as Atomic itself asks
    if connection.in_atomic_block and not in_test_case:
        raise RunInsideTransaction(
            f"{what} cannot be called inside a transaction: call it after transaction.atomic() has ended, and mark the"
            " view non_atomic_requests where ATOMIC_REQUESTS is on."
        )
