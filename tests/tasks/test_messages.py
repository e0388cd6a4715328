"""What is sent, when, and what becomes of messages that are wrong, lost, late or many."""

import ast
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import override_settings

import llm_foundation
from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.runs.task_framework import task_backends
from llm_foundation.runs.tasks import can_defer, enqueue, hand_out, resume_run
from tests.practice import desk, text
from tests.tasks.workers import DUMMY, IMMEDIATE, ROOT, handing_to

PACKAGE = Path(llm_foundation.__file__).parent
LATER = datetime(2100, 1, 1, tzinfo=UTC)
NOWHERE = {"default": {"BACKEND": "nowhere.Backend"}}


def sent() -> list[Any]:
    """The messages that a dummy backend keeps."""
    return task_backends["default"].results  # type: ignore[attr-defined]


# --- What is sent -----------------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_message_carries_the_id_of_the_run_and_nothing_else() -> None:
    with desk("find_order") as here, handing_to(DUMMY):
        run = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")
        [message] = sent()

    assert (message.args, message.kwargs) == ([str(run.pk)], {})
    assert message.task.module_path == "llm_foundation.runs.tasks.resume_run"
    assert here.model.asked == []
    assert Run.objects.get().status == "queued"


@pytest.mark.django_db(transaction=True)
def test_message_is_sent_once_the_transaction_is_committed() -> None:
    with handing_to(DUMMY):
        with transaction.atomic():
            hand_out(uuid4())
            assert sent() == []
        assert len(sent()) == 1


@pytest.mark.django_db(transaction=True)
def test_transaction_that_is_rolled_back_sends_nothing() -> None:
    with handing_to(DUMMY):
        with transaction.atomic():
            hand_out(uuid4())
            transaction.set_rollback(True)
        assert sent() == []


def test_queue_is_read_for_each_message() -> None:
    with handing_to(DUMMY):
        enqueue(uuid4())
        with override_settings(LLM_FOUNDATION={"TASK_QUEUE": "runs"}):
            enqueue(uuid4())
        assert [message.task.queue_name for message in sent()] == ["default", "runs"]


def test_backend_is_read_for_each_message() -> None:
    tasks = {"default": {"BACKEND": IMMEDIATE}, "runs": {"BACKEND": DUMMY}}
    with override_settings(TASKS=tasks, LLM_FOUNDATION={"TASK_BACKEND": "runs"}):
        assert enqueue(uuid4())
        [message] = task_backends["runs"].results  # type: ignore[attr-defined]
        assert message.backend == "runs"


def test_result_of_the_task_is_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert resume_run.call("no id") is None


# --- Later ------------------------------------------------------------------------------------------------------------
def test_message_for_later_says_when() -> None:
    with handing_to(DUMMY):
        assert enqueue(uuid4(), after=LATER)
        [message] = sent()
        assert message.task.run_after == LATER


def test_message_for_later_is_left_to_recovery_where_the_backend_cannot_wait() -> None:
    with handing_to(IMMEDIATE):
        assert not can_defer()
        assert not enqueue(uuid4(), after=LATER)


# --- What goes wrong --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("garbage", ["no id", "", "1138", None, 7, ["x"]], ids=repr)
def test_message_that_names_no_run_is_logged(garbage: Any, caplog: pytest.LogCaptureFixture) -> None:
    resume_run.call(garbage)
    [record] = caplog.records
    assert (record.name, record.levelname) == ("llm_foundation.runs", "ERROR")
    assert record.getMessage() == f"A task names no run: {garbage!r}"


@pytest.mark.django_db(transaction=True)
def test_message_of_a_run_that_does_not_exist_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    resume_run.call(str(uuid4()))
    assert caplog.records == []


@pytest.mark.django_db(transaction=True)
def test_doubled_message_does_nothing() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.says(text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        resume_run.call(str(run.pk))
        assert len(here.model.asked) == 1


@pytest.mark.django_db(transaction=True)
def test_error_in_a_worker_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    words = "duplicate key: my password is hunter2"

    def broken(*_: object) -> None:
        raise DatabaseError(words)

    with connection.execute_wrapper(broken):
        resume_run.call(str(uuid4()))
    [record] = caplog.records
    assert "stopped: DatabaseError" in record.getMessage()
    assert "in broken" in record.getMessage()
    assert "hunter2" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_connection_that_broke_is_not_left_to_the_next_task(caplog: pytest.LogCaptureFixture) -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        connection.connection.close()
        resume_run.call(str(run.pk))
        assert here.model.asked == []
        resume_run.call(str(run.pk))

    assert len(caplog.records) == 1
    assert Run.objects.get().status == "completed"


def test_broker_that_is_down_is_logged_and_breaks_nobody(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(TASKS=NOWHERE):
        assert not enqueue(uuid4())
        assert not can_defer()
    [record] = caplog.records
    assert "could not be handed out: InvalidTaskBackend" in record.getMessage()


@pytest.mark.django_db(transaction=True)
def test_run_is_stored_although_nobody_could_be_told() -> None:
    with desk() as here, override_settings(TASKS=NOWHERE):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
    assert Run.objects.get(pk=run.pk).status == "queued"


def test_queue_that_the_backend_does_not_serve_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(TASKS={"default": {"BACKEND": DUMMY, "QUEUES": ["mail"]}}):
        assert not enqueue(uuid4())
    assert "InvalidTask" in caplog.text


def test_wrong_settings_stop_no_import() -> None:
    script = """
from django.conf import settings
settings.TASKS = {"default": {"BACKEND": "nowhere.Backend"}}
import django
django.setup()
from llm_foundation import llm
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# --- Where the framework is -------------------------------------------------------------------------------------------
def test_one_module_knows_where_the_framework_is() -> None:
    knowing = {path.name for path in PACKAGE.rglob("*.py") for name in imported(path) if is_framework(name)}
    assert knowing == {"task_framework.py"}


def imported(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]


def is_framework(module: str) -> bool:
    return f"{module}.".startswith(("django_tasks.", "django.tasks."))
