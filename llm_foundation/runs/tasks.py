"""Runs handed to workers, through Django's Tasks framework.

A message carries the id of a run and nothing else. The database is the truth: a lost message is made good by
``llm_recover``, and whoever gets a doubled one finds nothing to take. So nothing in here raises. What goes wrong is
logged, with its traceback but without the words of the exception, which may hold what a person wrote, or a password.
"""

import logging
import traceback
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, close_old_connections, transaction

from llm_foundation.conf import settings
from llm_foundation.runs.drivers import drive
from llm_foundation.runs.task_framework import task, task_backends

if TYPE_CHECKING:
    from llm_foundation.runs.task_framework import Task

logger = logging.getLogger("llm_foundation.runs")


def hand_out(run_id: UUID, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Let a worker go on with a run, once the surrounding transaction is committed."""
    transaction.on_commit(partial(enqueue, run_id), using=using, robust=True)


def enqueue(run_id: UUID, *, after: datetime | None = None) -> bool:
    """Send the message now, outside any transaction; say whether it was sent.

    ``after`` is the moment before which no worker shall take it. Where the backend cannot wait, nothing is sent.
    """
    if after is not None and not can_defer():
        return False
    try:
        resume_task().using(run_after=after).enqueue(str(run_id))
    except Exception as error:  # noqa: BLE001  # whatever a broker raises
        _log(f"Run {run_id} could not be handed out", error)
        return False
    return True


def can_defer() -> bool:
    """Whether the backend can keep a message for later. One that executes at once cannot."""
    with suppress(Exception):  # a backend that cannot even be made keeps nothing
        return task_backends[settings.TASK_BACKEND].supports_defer
    return False


def resume_task() -> "Task[[str], None]":
    """The task as the settings are now. Raises what the framework raises where they are wrong.

    It is declared anew for the backend that gets it, since a backend may have a task class of its own.
    """
    return task(backend=settings.TASK_BACKEND, queue_name=settings.TASK_QUEUE)(_resume_run)


def _resume_run(run_id: str) -> None:
    """Go on with a run.

    A worker closes connections that have grown old before and after each task. One that broke in between is dropped
    here, so that the next task need not fail as well.
    """
    try:
        known = UUID(run_id)
    except (AttributeError, TypeError, ValueError):
        logger.error("A task names no run: %.60r", run_id)
        return
    try:
        from llm_foundation.runs.runtime import resume_steps  # it hands out runs itself, so it imports this module

        drive(resume_steps(known))
    except Exception as error:  # noqa: BLE001  # the run's row says how far it came; recovery goes on from there
        _log(f"Run {known} stopped", error)
        with suppress(Exception):  # MariaDB's client may refuse to close what is closed already
            close_old_connections()


def _log(what: str, error: Exception) -> None:
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", what, type(error).__qualname__, frames)


_resume_run.__name__ = _resume_run.__qualname__ = "resume_run"  # a worker looks it up here by its name
with suppress(Exception):  # the system checks name wrong settings; they shall not stop every import
    resume_run = resume_task()  # a Celery worker knows the tasks that were declared before it started
