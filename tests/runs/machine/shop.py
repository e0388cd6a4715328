"""The records that runs need: a configuration that grants every tool, their owner, and two people who decide."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings as django_settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db.models import Case, When
from django.test import override_settings
from django.utils.module_loading import import_string

from llm_foundation.models import (
    Configuration,
    Decision,
    LanguageModel,
    Provider,
    Run,
    RunEvent,
    RunMessage,
    RunToolCall,
    ToolRecord,
    sync_tools,
)
from llm_foundation.tools import registry
from tests.runs.machine.hosts import this_host
from tests.runs.machine.toolbox import make_tools
from tests.tasks.workers import DUMMY

SLUG: Final = "shop"
CLERK, MANAGER, DEPUTY = "clerk", "manager", "deputy"
MARGIN: Final = 60.0
"""Seconds, as ``LEASE_MARGIN``."""
_MAY: Final = ("decide_toolcall", "resolve_toolcall", "cancel_run")
_DummyBackend: Any = import_string(DUMMY)


class Mail(_DummyBackend):  # type: ignore[misc]
    """A task backend that gives its messages to the world."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        this_host().world.post(*args)


@contextmanager
def shop(**ours: Any) -> Iterator[None]:
    """``ours`` are settings of this package. Real time plays no part: every delay is longer than a test takes."""
    tasks = {"default": {"BACKEND": f"{Mail.__module__}.{Mail.__qualname__}"}}
    own = {"LEASE_MARGIN": MARGIN, "RETRY_DELAY": 30, "STREAM_INTERVAL": 1e-6, **ours}
    with (
        override_settings(TASKS=tasks, LLM_FOUNDATION={**django_settings.LLM_FOUNDATION, **own}),
        registry.isolated(*make_tools().values()),
    ):
        _furnish()
        yield


def _furnish() -> None:
    sync_tools(registry.declared())
    provider = Provider.objects.create(
        name="practice",
        adapter="openai_compatible",
        profile="custom",
        base_url="https://model.example/v1",
        trust_zone="local",
    )
    model = LanguageModel.objects.create(provider=provider, model_id="practice")
    rules = {"max_rounds": 4, "approval_policy": "four_eyes"}
    configuration = Configuration.objects.create(slug=SLUG, name="Shop", language_model=model, **rules)
    configuration.tools.set(ToolRecord.objects.all())
    User.objects.create_user(CLERK)
    for name in (MANAGER, DEPUTY):
        User.objects.create_user(name).user_permissions.set(Permission.objects.filter(codename__in=_MAY))


def person(name: str) -> User:
    return User.objects.get(username=name)


def dismiss_manager() -> None:
    """What the manager has approved counts no more. Or they come back."""
    User.objects.filter(username=MANAGER).update(is_active=Case(When(is_active=True, then=False), default=True))


def switch(tool: str) -> None:
    """Off, or on again."""
    ToolRecord.objects.filter(name=tool).update(enabled=Case(When(enabled=True, then=False), default=True))


def restore() -> None:
    """All tools are on, and everybody is there."""
    ToolRecord.objects.update(enabled=True)
    User.objects.update(is_active=True)


def clear() -> None:
    """Forget every run."""
    for model in (LogEntry, Decision, RunEvent, RunMessage, RunToolCall, Run):
        model.objects.all()._raw_delete("default")  # type: ignore[attr-defined]  # no cascades: the order is right
    restore()
