"""Calls whose whole effect is in our database: effect and result are one transaction, or neither is."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import uniform
from time import sleep
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, Error, OperationalError, connections, transaction
from django.db.transaction import TransactionManagementError

from llm_foundation.exceptions import RunLost, ToolError
from llm_foundation.loop.states import CallState
from llm_foundation.runs.conflicts import find_conflict, is_missing_savepoint
from llm_foundation.runs.operations import ToolExecution, ToolOutcome, failed, succeeded
from llm_foundation.runs.previews import PreviewChanged
from llm_foundation.runs.transaction_guard import TransactionGuard
from llm_foundation.vocabulary import Effect

logger = logging.getLogger("llm_foundation.tools")

MAX_ATTEMPTS: Final = 3
_PAUSE: Final = 0.1
"""Seconds at most before the second attempt, twice that before the third."""


_BROKEN: Final = (
    "The tool returned, but its transaction was broken: by an error that it caught, by set_rollback() or by closing the"
    " connection. Put what may fail into an atomic block of its own, and catch the error around that block."
)


class _RolledBack(Exception):
    """The tool gave an error result: whatever it had written goes."""

    def __init__(self, outcome: ToolOutcome) -> None:
        super().__init__()
        self.outcome = outcome


class TransactionEnded(Exception):
    """Something that the tool called ended the transaction, and nobody can say how."""


def perform_transactional(
    execution: ToolExecution,
    *,
    begin: Callable[[], None] = lambda: None,
    end: Callable[[ToolOutcome], None] = lambda outcome: None,
) -> ToolOutcome:
    """Run the call between ``begin`` and ``end``, which carry the run's token; either may raise ``RunLost``.

    ``begin`` may raise ``PreviewChanged`` as well: then nothing was called.

    An exception or an error result rolls everything back. An attempt that met a deadlock, a serialization failure or a
    lock that it could not get is repeated, from ``begin`` on. What the tool leaves for after the commit undoes nothing.

    Raises ``django.db.Error`` where the call has no outcome that could be stored from here: ``OperationalError`` if the
    connection was lost, so that only the call's row knows whether it was committed; ``TransactionManagementError`` if
    a transaction around this one is broken.
    """
    number = 1
    while True:
        attempt = _Attempt(execution)
        try:
            return attempt.perform(begin, end)
        except Exception as error:
            if number == MAX_ATTEMPTS or not attempt.may_be_repeated(error):
                return attempt.settle(error)
            logger.warning("Tool %s met a conflict and is repeated", execution.tool.name, exc_info=error)
        sleep(uniform(0, _PAUSE * number))  # noqa: S311  # those who were in each other's way should not meet again
        number += 1


class _Attempt:
    """One transaction, and what can be known of its end."""

    def __init__(self, execution: ToolExecution) -> None:
        self.execution = execution
        self.connection = connections[DEFAULT_DB_ALIAS]
        self.driver: Any = None
        self.guard = TransactionGuard()
        self.committed: list[ToolOutcome] = []

    def perform(self, begin: Callable[[], None], end: Callable[[ToolOutcome], None]) -> ToolOutcome:
        ended: list[ToolOutcome] = []
        with transaction.atomic(), self.guard.watching():
            self.driver = self.connection.connection
            # Before the hooks of the tool, which may raise.
            transaction.on_commit(lambda: self.committed.extend(ended))
            begin()
            outcome = self._call()
            end(outcome)
            ended.append(outcome)
        return outcome

    def _call(self) -> ToolOutcome:
        """Call the tool, and see to it that the transaction is still the one that began, and sound.

        A savepoint shows it, since it goes with its transaction: MariaDB drops both in a deadlock, or where a stored
        procedure commits, and quietly begins anew.
        """
        savepoint = str(self.connection.savepoint())
        try:
            outcome = self._succeeded()
        except Exception as error:
            self._undo(savepoint, error)
            raise
        try:
            self.connection.savepoint_commit(savepoint)
        except DatabaseError as error:
            self._undo(savepoint, error)
            raise ToolError(_BROKEN) from error
        return outcome

    def _succeeded(self) -> ToolOutcome:
        try:
            outcome = succeeded(self.execution.run())
        except RunLost as error:
            raise ToolError("The tool lost a run of its own; this one is still held.") from error
        if self.guard.refusal is not None:
            raise self.guard.refusal
        if outcome.state is CallState.FAILED:
            raise _RolledBack(outcome)
        return outcome

    def _undo(self, savepoint: str, reason: Exception) -> None:
        """Raises ``TransactionEnded`` where that cannot be done any more."""
        if self.guard.conflict or self.guard.is_undone or self.connection.closed_in_transaction:
            return
        transaction.set_rollback(False)  # or the statement would be refused
        try:
            self.connection.savepoint_rollback(savepoint)
        except Error as error:
            if is_missing_savepoint(error):
                raise TransactionEnded("Something that the tool called ended its transaction.") from reason
        finally:
            transaction.set_rollback(True)

    def may_be_repeated(self, error: Exception) -> bool:
        """Nothing of it is left, and there is a reason to believe that the next attempt fares better."""
        if self.committed or isinstance(error, RunLost):
            return False
        conflict = self.guard.conflict or find_conflict(error)
        return conflict is not None and not self._has_broken_surroundings() and not self._has_lost_connection()

    def settle(self, error: Exception) -> ToolOutcome:
        """What the error that ended the attempt means for its call. Raises what is no outcome."""
        name = self.execution.tool.name
        if self.committed:
            logger.error("What tool %s left for after its commit failed", name, exc_info=error)
            return self.committed[0]
        if isinstance(error, (RunLost, PreviewChanged)):
            raise error
        if self._has_lost_connection():
            self._let_go()
            raise OperationalError(f"The connection to the database was lost while tool {name} ran.") from error
        if self._has_broken_surroundings():
            raise TransactionManagementError(f"Tool {name} broke the transaction around it.") from error
        if isinstance(error, _RolledBack):
            return error.outcome
        if isinstance(error, TransactionEnded):
            return failed(replace(self.execution, effect=Effect.NON_IDEMPOTENT_WRITE), error)
        return failed(self.execution, error)

    def _has_lost_connection(self) -> bool:
        """Django opens another one as soon as it notices. A tool that closes it itself would do so again and again."""
        connection = self.connection
        if self.guard.is_closed:
            return False
        if connection.connection is None or self.driver not in (None, connection.connection):
            return True
        # An interruption at the commit can leave the transaction open behind Django's back.
        left_open = not connection.in_atomic_block and connection.autocommit != connection.settings_dict["AUTOCOMMIT"]
        return left_open or (connection.errors_occurred and not connection.is_usable())

    def _has_broken_surroundings(self) -> bool:
        return self.connection.in_atomic_block and self.connection.needs_rollback

    def _let_go(self) -> None:
        """So that the next one who needs a connection opens one."""
        with suppress(Error):
            self.connection.close()
