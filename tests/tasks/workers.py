"""Worker processes on the test's own database, and the settings under which runs are handed to them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.contrib import admin
from django.db import connection
from django.test import modify_settings, override_settings

from llm_foundation.conf import settings
from llm_foundation.runs.task_framework import ImmediateBackend

ROOT = Path(__file__).parents[2]
FRAMEWORK = ImmediateBackend.__module__.removesuffix(".immediate")
IMMEDIATE, DUMMY = f"{FRAMEWORK}.immediate.ImmediateBackend", f"{FRAMEWORK}.dummy.DummyBackend"
DATABASE, CELERY = "django_tasks_db.DatabaseBackend", "django_tasks_fennel.CeleryBackend"


@contextmanager
def handing_to(backend: str, **ours: Any) -> Iterator[None]:
    """Use a backend of Django's Tasks; ``ours`` are settings of this package."""
    apps = [] if backend in (IMMEDIATE, DUMMY) else [app_of(backend)]
    tasks = {"default": {"BACKEND": backend, "QUEUES": []}}  # none named: any is right
    with (
        _also_installed(apps) if apps else nullcontext(),
        override_settings(TASKS=tasks, LLM_FOUNDATION={**django_settings.LLM_FOUNDATION, **ours}),
    ):
        yield


@contextmanager
def _also_installed(apps: list[str]) -> Iterator[None]:
    """Their admin pages go with them: the site would look for apps that are not there any more."""
    known = set(admin.site._registry)
    try:
        with modify_settings(INSTALLED_APPS={"append": apps}):
            yield
    finally:
        admin.site.unregister(set(admin.site._registry) - known)


def app_of(backend: str) -> str:
    return backend.partition(".")[0]


def environment(backend: str, **more: str) -> dict[str, str]:
    """What ``worker_settings`` reads."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.tasks.worker_settings",
        "PYTHONPATH": str(ROOT),
        "LLM_WORKER_DATABASE": str(connection.settings_dict["NAME"]),
        "LLM_WORKER_BACKEND": backend,
        "LLM_WORKER_APP": app_of(backend),
        "LLM_WORKER_ORIGINS": " ".join(settings.PRIVATE_ORIGINS),
        **more,
    }


def work_off(backend: str, *arguments: str) -> str:
    """Run a worker that ends when nothing is left to do; give what it said."""
    command = [sys.executable, "-m", "django", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(backend), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@contextmanager
def working(backend: str, *arguments: str, log: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker beside the test. It is asked to stop, by its process id, and killed if it does not."""
    command = [sys.executable, "-m", *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(backend, **more), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Both Celery and ``db_worker`` finish what they are at."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
