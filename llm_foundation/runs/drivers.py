"""The two thin drivers over the same steps.

Steps are a generator: it decides and stores, and yields whatever reaches outside (a model call, tool executions)
as an operation. The sync driver performs operations in line; the async one awaits them, and runs the steps between
them in the thread where Django's database connections live.

Whoever awaits the async driver may cancel it at any moment. It lets go as soon as the steps can be left: what they are
storing is stored, a ``Whole`` operation comes to its end, and its outcome is stored. Then they hear of it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from asgiref.sync import sync_to_async

T = TypeVar("T")
R = TypeVar("R")


class Operation(Protocol):
    def perform(self) -> Any: ...

    async def aperform(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Whole:
    """An operation that nobody interrupts: half of it would be worse than waiting for its end."""

    operation: Operation

    def perform(self) -> Any:
        return self.operation.perform()

    async def aperform(self) -> Any:
        return await self.operation.aperform()


class Interrupted(BaseException):
    """Raised inside the steps where their driver was cancelled: at the operation that they wait for, or await next.

    No ``Exception``, since nothing has failed; the steps let it through, and are not gone on with.
    """


Steps = Generator[Operation, Any, T]
Reached = tuple[Operation | None, T | None]
"""The next operation, or the result."""


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
    driver = _AsyncDriver(steps)
    try:
        return await driver.drive()
    except asyncio.CancelledError:
        await driver.interrupt()
        raise


class _AsyncDriver(Generic[T]):
    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self._is_cancelled = False

    async def drive(self) -> T:
        operation, result = await self._step(_advance, None)
        while operation is not None:
            try:
                outcome = await self._perform(operation)
            except Exception as error:  # noqa: BLE001
                operation, result = await self._step(_fail, error)
            else:
                operation, result = await self._step(_advance, outcome)
        return result  # type: ignore[return-value]

    async def interrupt(self) -> None:
        await self._to_its_end(sync_to_async(_interrupt)(self._steps))

    async def _perform(self, operation: Operation) -> Any:
        if isinstance(operation, Whole):
            return await self._to_its_end(operation.aperform())
        return await operation.aperform()

    async def _step(self, go_on: Callable[[Steps[T], Any], Reached[T]], given: Any) -> Reached[T]:
        """Go on with the steps. Where the task was cancelled meanwhile, or before, that is raised now."""
        reached = await self._to_its_end(sync_to_async(go_on)(self._steps, given))
        if self._is_cancelled:
            raise asyncio.CancelledError
        return reached

    async def _to_its_end(self, work: Coroutine[Any, Any, R]) -> R:
        """Await it, however often this task is cancelled meanwhile: some cancel until it helps."""
        task = asyncio.create_task(work)
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                self._is_cancelled = True
        return task.result()


def _advance(steps: Steps[T], outcome: Any) -> Reached[T]:
    """``StopIteration`` cannot cross from a thread to a coroutine."""
    try:
        return steps.send(outcome), None
    except StopIteration as stop:
        return None, stop.value


def _fail(steps: Steps[T], error: Exception) -> Reached[T]:
    try:
        return steps.throw(error), None
    except StopIteration as stop:
        return None, stop.value


def _interrupt(steps: Steps[T]) -> None:
    with suppress(Interrupted):
        steps.throw(Interrupted())
