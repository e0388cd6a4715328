"""What a host is told to do. Each job is a function without arguments; its operations are answered by the world."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from llm_foundation import llm
from llm_foundation.runs.drivers import Steps, Whole
from llm_foundation.runs.events import Delta, EventKind
from llm_foundation.runs.executions import ToolExecutions
from llm_foundation.runs.operations import Pause, ToolExecution
from llm_foundation.runs.recovery import recover
from llm_foundation.runs.runtime import Mode, resume_steps, run_steps
from llm_foundation.runs.starting import start_of
from llm_foundation.runs.streaming import StreamedCall
from tests.runs.machine.hosts import Host, Job, this_host
from tests.runs.machine.orders import OPERATION_BEGINS, OPERATION_ENDS
from tests.runs.machine.shop import CLERK, DEPUTY, MARGIN, SLUG, person

KEY = "the only start"


def start(*, mode: Mode) -> Job:
    """Start the run; the same start again gives the run that is there."""
    return lambda: _performed(run_steps(_start(), mode=mode))


def _start() -> Any:
    return start_of(
        SLUG, "Do it.", user=person(CLERK), tools=None, unattended=False, continues=None, idempotency_key=KEY
    )


def resume(run_id: str) -> Job:
    return lambda: _performed(resume_steps(UUID(run_id)))


def sweep() -> None:
    recover()


def approve(call: UUID, digest: str, *, by: str = DEPUTY) -> Job:
    return lambda: llm.approve(call, by=person(by), digest=digest)


def edit(call: UUID, digest: str, ending: str, *, by: str) -> Job:
    """It waits for somebody else then."""
    return lambda: llm.approve(call, by=person(by), digest=digest, arguments={"ending": ending})


def deny(call: UUID, digest: str) -> Job:
    return lambda: llm.deny(call, by=person(DEPUTY), digest=digest, reason="no")


def resolve(call: UUID, outcome: Any) -> Job:
    return lambda: llm.resolve(call, by=person(DEPUTY), outcome=outcome)


def cancel(run_id: UUID) -> Job:
    return lambda: llm.cancel(run_id, by=person(DEPUTY))


def _performed(steps: Steps[Any]) -> Any:
    """As the driver of the package does it. A dead host's steps are closed like those of any other generator."""
    host = this_host()
    try:
        operation = next(steps)
        while True:
            try:
                outcome = _outcome(host, operation)
            except Exception as error:  # noqa: BLE001  # whatever it is, the steps decide
                operation = steps.throw(error)
            else:
                operation = steps.send(outcome)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()


def _outcome(host: Host, operation: Any) -> Any:
    host.moment(OPERATION_BEGINS)
    outcome = _perform(host, operation)
    host.moment(OPERATION_ENDS)
    return outcome


def _perform(host: Host, operation: Any) -> Any:
    match operation:
        case Whole(whole):
            return _perform(host, whole)
        case ToolExecutions(executions):
            aged = tuple(_aged(host, execution) for execution in executions)
            return replace(operation, executions=aged).perform()
        case Pause(seconds):
            return host.sleep(seconds)
        case StreamedCall(call, keep):
            if host.world.is_new(call.request.messages):
                keep([Delta(EventKind.TEXT, "Let"), Delta(EventKind.REASONING, "hm")])
            return host.world.answer(call.request.messages)
    return host.world.answer(operation.request.messages)


def _aged(host: Host, execution: ToolExecution) -> ToolExecution:
    """The host's own clock shows what has passed in the world since its steps reckoned with it."""
    if execution.start_by is None:
        return execution
    return replace(execution, start_by=execution.start_by - host.passed_since(execution.start_by - MARGIN))
