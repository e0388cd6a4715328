"""The step that asks the model, and what its answer opens."""

from decimal import Decimal
from time import monotonic

from llm_foundation.chat.completions import CompletionResponse
from llm_foundation.conf import settings
from llm_foundation.loop.next_step import AskModel
from llm_foundation.models import RunToolCall
from llm_foundation.runs import call_rows
from llm_foundation.runs.drivers import Steps
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.held import HeldRun
from llm_foundation.runs.streaming import streamed


def ask(held: HeldRun, step: AskModel) -> Steps[None]:
    """The answer is stored with the next step: with the fence of its first call, or with the end of the run."""
    call = held.plan.ask(held.state, step, high_water=held.high_water)
    held.cover(held.plan.seconds)
    started = monotonic()
    response = yield streamed(call, held.keep, settings.STREAM_INTERVAL)
    seconds, cost = monotonic() - started, held.plan.cost(response.usage)
    held.state = held.state.after_answer(response, closing=step.closing, cost=cost, seconds=seconds)
    _count(held, step, response)
    new = call_rows.new_rows(held.run, held.state)
    held.open_turn(new)
    held.changes.messages.append(held.state.messages[-1])
    _announce(held, response, new, seconds, cost)


def _count(held: HeldRun, step: AskModel, response: CompletionResponse) -> None:
    run = held.run
    run.input_tokens += response.usage.input_tokens or 0
    run.output_tokens += response.usage.output_tokens or 0
    run.truncated = step.closing or ""
    run.failures = run.lost_leases = 0
    held.changes.fields |= {"failures": 0, "lost_leases": 0}


def _announce(
    held: HeldRun, response: CompletionResponse, new: list[RunToolCall], seconds: float, cost: Decimal | None
) -> None:
    held.changes.events.append(
        event(
            EventKind.ANSWERED,
            message=len(held.changes.messages) - 1,
            content={"text": response.content},
            model=response.model,
            finish_reason=response.finish_reason.value,
            tool_calls=[row.tool_name for row in new],
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            seconds=round(seconds, 3),
            cost=None if cost is None else str(cost),
        )
    )
