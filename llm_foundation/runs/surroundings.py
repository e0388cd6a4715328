"""Where our code is being called from, and over which connection."""

import asyncio
from contextlib import suppress

from django.db import DEFAULT_DB_ALIAS, Error, connections

from llm_foundation.exceptions import RunInsideTransaction


def is_inside_transaction() -> bool:
    """Whether there is one around the caller, other than that of a test case."""
    connection = connections[DEFAULT_DB_ALIAS]
    blocks = connection.atomic_blocks
    in_test_case = bool(blocks) and blocks[-1]._from_testcase  # type: ignore[attr-defined]  # as Atomic itself asks
    return connection.in_atomic_block and not in_test_case


def refuse_inside_transaction(what: str, *, instead: str = "") -> None:
    """A surrounding transaction could undo what the run did, and hide it from everybody else meanwhile."""
    if is_inside_transaction():
        raise RunInsideTransaction(
            f"{what} cannot be called inside a transaction: call it after transaction.atomic() has ended, and mark the"
            f" view non_atomic_requests where ATOMIC_REQUESTS is on{', ' + instead if instead else ''}."
        )
    connection = connections[DEFAULT_DB_ALIAS]
    if not connection.in_atomic_block and not connection.get_autocommit():
        raise RunInsideTransaction(
            f"{what} needs a database that commits by itself: remove AUTOCOMMIT from its settings, or set_autocommit()."
        )


def is_inside_event_loop() -> bool:
    """Whether the caller's thread runs one, so that it may not wait for a database."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def drop_broken_connection() -> bool:
    """Say whether this thread's connection was of no use any more; then the next statement opens another one."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block or (connection.connection is not None and connection.is_usable()):
        return False
    with suppress(Error):
        connection.close()
    return True
