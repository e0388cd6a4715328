"""System checks: what is wrong with the settings and databases, and which tools say too little about themselves."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from django.apps import AppConfig
from django.conf import global_settings
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.db import DEFAULT_DB_ALIAS, connections, router
from django.utils.module_loading import import_string

from llm_foundation.conf import KEYS, NAME, configured, settings, unknown_keys, wrong_values
from llm_foundation.encryption.keyring import ring
from llm_foundation.exceptions import ConfigurationError, InvalidTool, KeyRingMissing
from llm_foundation.models import Run
from llm_foundation.policy.call_policies import policies
from llm_foundation.providers.base import Adapter
from llm_foundation.runs.task_framework import ImmediateBackend, task_backends
from llm_foundation.runs.tasks import resume_task
from llm_foundation.tools import Tool, registry

UNDECLARED: Final = {
    "effect": "its effect counts as NON_IDEMPOTENT_WRITE, so a person decides each call",
    "data_class": "its results count as SECRET, so only providers in the LOCAL zone may see them",
}
"""What each missing declaration means."""


@register
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    try:
        configured()
    except ConfigurationError as error:
        return [Error(str(error), id="llm_foundation.E002")]
    return [*_unknown_keys(), *_wrong_values(), *_key_ring(), *_letters_from_nobody()]


@register
def check_tools(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    tools = registry.declared()
    return [*_undeclared(tools), *_impossible(tools), *_alike(tools), *_policies_of_nothing(tools)]


@register
def check_databases(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    return [*_elsewhere(), *_atomic_requests(), *_no_autocommit()]


def _elsewhere() -> Iterator[CheckMessage]:
    """A run reads what it has just written, in the transaction in which its tools write as well."""
    reads, writes = router.db_for_read(Run), router.db_for_write(Run)
    if {reads, writes} != {DEFAULT_DB_ALIAS}:
        yield Error(
            f"The database router reads runs from {reads!r} and writes them to {writes!r}.",
            hint=f"Let it answer {DEFAULT_DB_ALIAS!r} to both for the app 'llm_foundation': a run reads what it has"
            " just written, in one transaction with the effects of its tools.",
            id="llm_foundation.E007",
        )


def _atomic_requests() -> Iterator[CheckMessage]:
    if connections.settings[DEFAULT_DB_ALIAS].get("ATOMIC_REQUESTS"):
        yield Warning(
            "ATOMIC_REQUESTS is on: in a view, llm.run() and whatever decides a call or cancels a run raise"
            " RunInsideTransaction.",
            hint="Mark the views that call them with @transaction.non_atomic_requests. Ours are marked already.",
            id="llm_foundation.W008",
        )


def _no_autocommit() -> Iterator[CheckMessage]:
    if not connections.settings[DEFAULT_DB_ALIAS].get("AUTOCOMMIT", True):
        yield Error(
            "AUTOCOMMIT is off for the default database: nothing that a run stores would outlive its process.",
            hint="Remove AUTOCOMMIT from DATABASES['default'], and use transaction.atomic() where you need it.",
            id="llm_foundation.E011",
        )


@register
def check_task_backend(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    try:
        resume_task()
    except ConfigurationError:
        return []  # reported among the wrong values
    except Exception as error:  # noqa: BLE001  # whatever the framework says of wrong settings
        hint = (
            f"{NAME}['TASK_BACKEND'] must name an entry of TASKS, and TASK_QUEUE one of its QUEUES. On Django 5.2 the"
            " framework's own backends are called django_tasks.backends.…"
        )
        return [Error(f"Runs cannot be handed to workers: {error}", hint=hint, id="llm_foundation.E009")]
    return []


@register(deploy=True)
def check_task_backend_in_production(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Of no harm to a run, but to whoever waits for a page."""
    if check_task_backend(None) or not isinstance(task_backends[settings.TASK_BACKEND], ImmediateBackend):
        return []
    return [
        Warning(
            "Runs are executed in the request that starts or releases them: the task backend is an immediate one.",
            hint="Set TASKS to a backend with workers, such as django-tasks-db, and let llm_recover run now and then.",
            id="llm_foundation.W010",
        )
    ]


def _unknown_keys() -> Iterator[CheckMessage]:
    for key, meant in unknown_keys():
        hint = f"Did you mean {meant!r}?" if meant else f"Remove it. The keys are {', '.join(KEYS)}."
        yield Error(f"{NAME} has a key {key!r} that means nothing.", hint=hint, id="llm_foundation.E001")


def _wrong_values() -> Iterator[CheckMessage]:
    wrong = list(wrong_values())
    yield from (Error(problem, id="llm_foundation.E002") for problem in wrong)
    if not wrong:
        yield from _unusable_paths("ADAPTERS", settings.ADAPTERS)
        yield from _unusable_paths("SECRET_RESOLVERS", settings.SECRET_RESOLVERS)


def _unusable_paths(key: str, paths: dict[str, str]) -> Iterator[CheckMessage]:
    for name, path in paths.items():
        try:
            found = import_string(path)
        except ImportError as error:
            yield Error(f"{NAME}[{key!r}][{name!r}] cannot be imported: {error}", id="llm_foundation.E002")
            continue
        fits = isinstance(found, type) and issubclass(found, Adapter) if key == "ADAPTERS" else callable(found)
        if not fits:
            wanted = "a subclass of Adapter" if key == "ADAPTERS" else "a function"
            yield Error(f"{NAME}[{key!r}][{name!r}]: {path} is not {wanted}.", id="llm_foundation.E002")


def _key_ring() -> Iterator[CheckMessage]:
    try:
        ring()
    except KeyRingMissing as error:
        hint = "Keep the key outside the code, and a copy of it in a safe place: what it encrypted is lost without it."
        yield Error(str(error), hint=hint, id="llm_foundation.E003")
    except ConfigurationError:
        return  # reported among the wrong values


def _letters_from_nobody() -> Iterator[CheckMessage]:
    """Django's default is an address that no mail server believes."""
    with suppress(ConfigurationError):  # reported among the wrong values
        wanted = settings.EMAIL_NOTIFICATIONS
        if (
            wanted
            and not wanted.from_email
            and django_settings.DEFAULT_FROM_EMAIL == global_settings.DEFAULT_FROM_EMAIL
        ):
            yield Warning(
                f"Notifications are sent from {global_settings.DEFAULT_FROM_EMAIL}, which nobody has set.",
                hint=f"Set DEFAULT_FROM_EMAIL, or {NAME}['EMAIL_NOTIFICATIONS']['FROM_EMAIL'].",
                id="llm_foundation.W012",
            )


def _policies_of_nothing(tools: Sequence[Tool]) -> Iterator[CheckMessage]:
    """A rule that is never asked protects nothing. Names of imported tools, which hold two underscores, are not known
    here."""
    known = {tool.name for tool in tools}
    for policy in policies.all():
        for name in sorted(policy.tools or ()):
            if name not in known and "__" not in name:
                yield Warning(
                    f"The call policy {policy.place} is for a tool {name!r}, which there is not.",
                    hint="It is never asked about it. Correct the name: @call_policy(tools=[…]).",
                    id="llm_foundation.W013",
                )


def _undeclared(tools: Sequence[Tool]) -> Iterator[CheckMessage]:
    for tool in tools:
        if missing := tool.undeclared:
            meaning = "; ".join(UNDECLARED[word] for word in missing)
            yield Warning(
                f"Tool {tool.name!r} does not declare {' and '.join(missing)}.",
                hint=f"Undeclared means strict: {meaning}. Declare what is true, so that the gate can rely on it.",
                id="llm_foundation.W004",
            )


def _impossible(tools: Sequence[Tool]) -> Iterator[CheckMessage]:
    for tool in tools:
        try:
            tool.definition()
        except InvalidTool as error:
            yield Error(str(error), id="llm_foundation.E005")


def _alike(tools: Sequence[Tool]) -> Iterator[CheckMessage]:
    """MariaDB keeps one record for names that differ by case only."""
    known: dict[str, Tool] = {}
    for tool in tools:
        other = known.setdefault(tool.name.lower(), tool)
        if other is not tool:
            yield Error(
                f"Tools {other.name!r} ({other.place}) and {tool.name!r} ({tool.place}) differ by case only.",
                hint="Give one of them another name: neither people nor every database can tell them apart.",
                id="llm_foundation.E006",
            )
