"""One tool of each effect, free and on approval. Each leaves a trace that no crash removes."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction

from llm_foundation.models import RunToolCall
from llm_foundation.tools import DataClass, Effect, NotExecuted, Tool, ToolContext, ToolResult, registry, tool
from tests.runs.machine.hosts import this_host
from tests.runs.machine.world import Start

ENDINGS: Final = (
    "well",
    "fails before",
    "fails after",
    "fails after, then refuses",
    "refuses",
    "error",
    "speaks",
    "garbled",
)
"""How a call ends; its later attempts end well where nothing else is said."""


def make_tools() -> dict[str, Tool]:
    """Made inside ``registry.isolated``."""
    with registry.isolated():
        free = [_tool(name, effect, approval=False) for name, effect in EFFECTS.items()]
        asking = [_tool(f"{name}_on_approval", effect, approval=True) for name, effect in EFFECTS.items()]
    return {made.name: made for made in (*free, *asking)}


EFFECTS: Final = {
    "look": Effect.READ_ONLY,
    "book": Effect.TRANSACTIONAL_WRITE,
    "charge": Effect.IDEMPOTENT_WRITE,
    "send": Effect.NON_IDEMPOTENT_WRITE,
}
NAMES: Final = (*EFFECTS, *(f"{name}_on_approval" for name in EFFECTS))


def _tool(name: str, effect: Effect, *, approval: bool) -> Tool:
    act = _book if effect is Effect.TRANSACTIONAL_WRITE else _send

    def run(context: ToolContext, ending: str = "well") -> Any:
        return _perform(name, act, context, ending)

    def preview(context: ToolContext, ending: str = "well") -> list[str]:
        return [f"It would end {ending}."]

    return tool(
        name=name,
        description=f"{name}: {effect}",
        effect=effect,
        data_class=DataClass.INTERNAL,
        approval=approval,
        preview=preview if approval else None,
    )(run)


def _perform(name: str, act: Callable[[ToolContext], None], context: ToolContext, ending: str) -> Any:
    host = this_host()
    host.is_in_tool = True
    try:
        how = _begin(name, context, ending)
        if how == "speaks":
            context.progress("at work")
        if how == "refuses":
            raise NotExecuted("not today")
        if how == "fails before":
            raise RuntimeError("the line is dead")
        if how == "error" and act is _send:
            return ToolResult("There is no such place.", is_error=True)
        act(context)
        host.moment("the tool has taken effect")
        if how == "fails after":
            raise RuntimeError("the line went dead")
        if how == "error":
            return ToolResult("It cannot be booked.", is_error=True)
        return f"{name} is done"
    finally:
        host.is_in_tool = False


def _begin(name: str, context: ToolContext, ending: str) -> str:
    """Note that the tool has begun, and give how this attempt ends."""
    world = this_host().world
    with this_host().unwatched():
        rows = RunToolCall.objects.filter(run=context.run_id, call_id=context.call_id)
        standing = rows.values_list("state", "repeats", "attempt").get()
    earlier = sum(start.call == context.call_id for start in world.starts)
    world.starts.append(Start(context.call_id, name, context.idempotency_key, *standing))
    this_host().moment("the tool has begun")
    return (*ending.split(", then "), *["well"] * earlier)[earlier]


def _send(context: ToolContext) -> None:
    this_host().world.sent[context.call_id] += 1


def _book(context: ToolContext) -> None:
    """Two rows, one of them in a block of the tool's own: both, or neither."""
    entry = {"user": context.user, "action_flag": CHANGE, "object_id": context.call_id}
    LogEntry.objects.create(object_repr="outer", **entry)
    with transaction.atomic():
        LogEntry.objects.create(object_repr="inner", **entry)
