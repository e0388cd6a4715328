"""Settings of a worker process: the tests' own, on the database that the test made. See ``workers.environment``."""

import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS, LLM_FOUNDATION

DATABASES["default"]["NAME"] = os.environ["LLM_WORKER_DATABASE"]
INSTALLED_APPS += ["tests.tasks", os.environ["LLM_WORKER_APP"]]
TASKS = {"default": {"BACKEND": os.environ["LLM_WORKER_BACKEND"], "QUEUES": []}}
LLM_FOUNDATION["PRIVATE_ORIGINS"] = os.environ["LLM_WORKER_ORIGINS"].split()

CELERY_BROKER_URL = os.environ.get("LLM_TEST_REDIS_URL", "")
CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": os.environ.get("LLM_WORKER_PREFIX", "")}
