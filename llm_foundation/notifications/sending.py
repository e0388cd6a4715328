"""Handing letters to Django's mail backend, which a project chooses: one that queues them returns at once."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from django.core import mail

logger = logging.getLogger("llm_foundation.notifications")

MOST_FAILURES: Final = 3
"""In a row. Then it is the server that fails, and not an address; each further attempt may take its time."""


def send(letters: Sequence[mail.EmailMessage]) -> None:
    """Send each by itself, over one connection. Raises nothing; the log counts what failed, without any address."""
    if not letters:
        return
    try:
        connection = _connection()
    except Exception as error:  # noqa: BLE001  # whatever a backend raises
        return _log(len(letters), len(letters), error)
    try:
        _send_over(connection, letters)
    finally:
        with suppress(Exception):
            connection.close()


def _send_over(connection: Any, letters: Sequence[mail.EmailMessage]) -> None:
    failed = in_a_row = 0
    last: Exception | None = None
    for number, letter in enumerate(letters, start=1):
        try:
            connection.open()
            connection.send_messages([letter])
            in_a_row = 0
        except Exception as error:  # noqa: BLE001  # as above
            failed, in_a_row, last = failed + 1, in_a_row + 1, error
            with suppress(Exception):
                connection.close()
        if in_a_row == MOST_FAILURES:
            failed += len(letters) - number
            break
    if last is not None:
        _log(failed, len(letters), last)


def _connection() -> Any:
    """Django 6.1 has mailers, and warns of everything older."""
    mailers: Any = getattr(mail, "mailers", None)
    return mail.get_connection() if mailers is None else mailers.default


def _log(failed: int, of: int, error: Exception) -> None:
    """The words of such errors hold addresses, and what servers say may hold anything."""
    logger.error("%d of %d letters could not be sent: %s", failed, of, type(error).__qualname__)
