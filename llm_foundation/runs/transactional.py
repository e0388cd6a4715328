"""Calls whose whole effect is in our database: effect and result are one transaction, or neither is."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from llm_foundation.exceptions import RunLost, ToolError
from llm_foundation.loop.states import CallState
from llm_foundation.runs.operations import ToolExecution, ToolOutcome, failed, succeeded

logger = logging.getLogger("llm_foundation.tools")


class _RolledBack(Exception):
    """The tool gave an error result: whatever it had written goes."""

    def __init__(self, outcome: ToolOutcome) -> None:
        super().__init__()
        self.outcome = outcome


def perform_transactional(
    execution: ToolExecution,
    *,
    begin: Callable[[], None] = lambda: None,
    end: Callable[[ToolOutcome], None] = lambda outcome: None,
) -> ToolOutcome:
    """Run the call between ``begin`` and ``end``, which carry the run's token; either may raise ``RunLost``.

    An exception or an error result rolls everything back. What the tool leaves for after the commit can undo nothing.
    """
    ended: list[ToolOutcome] = []
    committed: list[ToolOutcome] = []
    try:
        with transaction.atomic(), _only(DEFAULT_DB_ALIAS):
            transaction.on_commit(lambda: committed.extend(ended))  # before the hooks of the tool, which may raise
            begin()
            ended.append(_not_failed(succeeded(execution.run())))
            end(ended[0])
        return ended[0]
    except _RolledBack as rolled_back:
        return rolled_back.outcome
    except Exception as error:
        if committed:
            logger.error("What tool %s left for after its commit failed", execution.tool.name, exc_info=error)
            return committed[0]
        if isinstance(error, RunLost):
            raise
        return failed(execution, error)


def _not_failed(outcome: ToolOutcome) -> ToolOutcome:
    if outcome.state is CallState.FAILED:
        raise _RolledBack(outcome)
    return outcome


@contextmanager
def _only(alias: str) -> Iterator[None]:
    """Refuse statements on every other database: they would not be undone with the rest."""
    with ExitStack() as stack:
        for other in connections:
            if other != alias:
                stack.enter_context(connections[other].execute_wrapper(_refuse))
        yield


def _refuse(_execute: Any, _sql: str, _params: Any, _many: bool, context: dict[str, Any]) -> NoReturn:
    alias = context["connection"].alias
    raise ToolError(
        f"A transactional tool may use the database {DEFAULT_DB_ALIAS!r} only, not {alias!r}."
        " Declare another effect for it, or keep its tables together."
    )
