"""The two thin drivers over the same steps.

Steps are a generator: it decides and stores, and yields whatever reaches outside (a model call, tool executions)
as an operation. The sync driver performs operations in line; the async one awaits them, and runs the steps between
them in the thread where Django's database connections live.
"""

from collections.abc import Generator
from typing import Any, Protocol, TypeVar

from asgiref.sync import sync_to_async

T = TypeVar("T")


class Operation(Protocol):
    def perform(self) -> Any: ...

    async def aperform(self) -> Any: ...


Steps = Generator[Operation, Any, T]


def drive(steps: Steps[T]) -> T:
    """Run the steps to their end. What an operation raises is raised inside the steps, where it happened."""
    operation, result = _advance(steps, None)
    while operation is not None:
        try:
            outcome = operation.perform()
        except Exception as error:  # noqa: BLE001  # whatever it is, the steps decide
            operation, result = _fail(steps, error)
        else:
            operation, result = _advance(steps, outcome)
    return result  # type: ignore[return-value]


async def adrive(steps: Steps[T]) -> T:
    """The same for a running event loop."""
    advance, fail = sync_to_async(_advance), sync_to_async(_fail)
    operation, result = await advance(steps, None)
    while operation is not None:
        try:
            outcome = await operation.aperform()
        except Exception as error:  # noqa: BLE001
            operation, result = await fail(steps, error)
        else:
            operation, result = await advance(steps, outcome)
    return result  # type: ignore[return-value]


def _advance(steps: Steps[T], outcome: Any) -> tuple[Operation | None, T | None]:
    """The next operation, or the result: ``StopIteration`` cannot cross from a thread to a coroutine."""
    try:
        return steps.send(outcome), None
    except StopIteration as stop:
        return None, stop.value


def _fail(steps: Steps[T], error: Exception) -> tuple[Operation | None, T | None]:
    try:
        return steps.throw(error), None
    except StopIteration as stop:
        return None, stop.value
