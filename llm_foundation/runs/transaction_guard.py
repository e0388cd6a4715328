"""Sees every statement of a transactional call, and refuses those that its transaction could not undo."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from llm_foundation.exceptions import ToolError
from llm_foundation.runs.conflicts import find_conflict

_ENDS_IT: Final = re.compile(
    r"\s*(?:BEGIN|START\s+TRANSACTION|PREPARE\s+TRANSACTION|COMMIT|END|ABORT"
    r"|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b))\b",
    re.IGNORECASE,
)
_COMMITS_FIRST: Final = re.compile(
    r"\s*(?:(?:CREATE|DROP)(?!\s+TEMPORARY\b)|ALTER|RENAME|TRUNCATE|GRANT|REVOKE|LOCK|UNLOCK)\b",
    re.IGNORECASE,
)
"""What MySQL and MariaDB cannot roll back, and commit everything before."""


class TransactionGuard:
    """What happened during one attempt, whatever the tool made of it: it may have caught every error."""

    def __init__(self) -> None:
        self.refusal: ToolError | None = None
        self.conflict: BaseException | None = None
        self.is_undone = False
        """The database itself has rolled everything back."""
        self.is_closed = False
        """The tool closed the connection, and its transaction with it."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Inside the transaction. Only ``callproc``, and what goes past Django to the driver, is not seen."""
        with ExitStack() as stack:
            for alias in set(connections) - {DEFAULT_DB_ALIAS}:
                other = connections[alias]
                if other.connection is None:
                    # Opened meanwhile it would stay half set up: its first statements were refused as well.
                    stack.callback(other.close)
                stack.enter_context(other.execute_wrapper(self._refuse_alias))
            connection = connections[DEFAULT_DB_ALIAS]
            stack.enter_context(connection.execute_wrapper(self._watch))
            try:
                yield
            finally:
                self.is_closed = connection.closed_in_transaction

    def _refuse_alias(self, _execute: Any, _sql: Any, _params: Any, _many: bool, context: dict[str, Any]) -> Any:
        alias = context["connection"].alias
        raise self._refused(
            f"A transactional tool may use the database {DEFAULT_DB_ALIAS!r} only, not {alias!r}, not even to read:"
            " nothing there is undone with the rest, and nothing there shows what the tool has written."
            " Declare another effect for it, or keep its tables together."
        )

    def _watch(self, execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        connection: BaseDatabaseWrapper = context["connection"]
        if isinstance(sql, str) and _ends_transaction(sql, connection):
            raise self._refused(
                f"A transactional tool may not end the transaction that it runs in, as {sql.split(None, 1)[0]} does:"
                " its effect and its result would come apart."
            )
        try:
            return execute(sql, params, many, context)
        except DatabaseError as error:
            self.conflict = self.conflict or find_conflict(error)
            self.is_undone = self.is_undone or _is_undone(connection)
            if self.is_undone:
                connection.set_rollback(True)  # what follows would commit by itself
            raise

    def _refused(self, message: str) -> ToolError:
        """Kept: a tool that catches it has still not done what it was called for."""
        error = ToolError(message)
        self.refusal = self.refusal or error
        return error


def _ends_transaction(sql: str, connection: BaseDatabaseWrapper) -> bool:
    if _ENDS_IT.match(sql):
        return True
    return not connection.features.can_rollback_ddl and _COMMITS_FIRST.match(sql) is not None


def _is_undone(connection: BaseDatabaseWrapper) -> bool:
    """SQLite answers some errors with a rollback of the whole transaction: a full disk, OR ROLLBACK."""
    return connection.vendor == "sqlite" and not connection.connection.in_transaction
