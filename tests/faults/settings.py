"""The tests' project with a shop in it, whose runs are taken over soon. Database and server are named from outside."""

import os

import django

from tests.databases import database, sqlite
from tests.faults import times
from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as USUAL_APPS
from tests.settings import LLM_FOUNDATION as USUAL

INSTALLED_APPS = [*USUAL_APPS, "tests.faults.shop"]

url = os.environ["LLM_FAULTS_DATABASE"]
DATABASES = {
    "default": {**sqlite(), "NAME": url.removeprefix("sqlite:")} if url.startswith("sqlite:") else database(url)
}

LLM_FOUNDATION = {
    **USUAL,
    "PRIVATE_ORIGINS": [os.environ["LLM_FAULTS_SERVER"]],
    "TOTAL_TIMEOUT": times.MODEL_TIMEOUT,
    "TOOL_TIMEOUT": times.TOOL_TIMEOUT,
    "LEASE_MARGIN": times.LEASE_MARGIN,
    "RETRY_DELAY": 0.1,
    "RUN_RETRIES": 10,
}

# Two messengers: one that delivers at once, in the process that sends, and one that loses everything.
_backends = f"{'django.tasks' if django.VERSION >= (6, 0) else 'django_tasks'}.backends"
TASKS = {
    "default": {"BACKEND": f"{_backends}.immediate.ImmediateBackend"},
    "lost": {"BACKEND": f"{_backends}.dummy.DummyBackend"},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(process)d %(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "file": {"class": "logging.FileHandler", "filename": os.environ["LLM_FAULTS_LOG"], "formatter": "line"}
    },
    "root": {"handlers": ["file"], "level": "WARNING"},
    "loggers": {"llm_foundation.runs": {"level": "INFO"}},  # says which segments have lost their run
}
