"""A Django project on one database: three tools, a configuration for each, an owner, and a person who decides."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from benchmarks.overhead import declare_tool
from tests.databases import database, sqlite

KEY = "pwSwJO78ePkepyrS5auPkIbHFRrNxqdKXBIv7hf8nSU="
TOOLS = {"read": "find_order", "write": "send_order", "ask": "refund_order"}
"""The tool of each configuration: one that only reads, one that writes without asking, one that waits for a person."""


@contextmanager
def project(url: str, origin: str) -> Iterator[str]:
    """A database of its own, beside the one that the URL names, and the records; gives its URL, and removes it."""
    with TemporaryDirectory() as folder:
        set_up(str(Path(folder) / "benchmark.sqlite3") if url == "sqlite" else url, origin)
        from django.db import connection

        asked = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            make_records(origin)
            yield _named(url, str(connection.settings_dict["NAME"]))
        finally:
            connection.creation.destroy_test_db(str(asked), verbosity=0)


def _named(url: str, name: str) -> str:
    return name if url == "sqlite" else urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def set_up(url: str, origin: str) -> None:
    """Django on this database, which may be there already; ``url`` is the path of a file for SQLite."""
    import django
    from django.conf import settings

    settings.configure(
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "llm_foundation"],
        DATABASES={"default": _database(url)},
        LLM_FOUNDATION=configured(origin),
        TASKS={"default": {"BACKEND": f"{_tasks()}.backends.dummy.DummyBackend"}},  # what resumes is timed by itself
        USE_TZ=True,
    )
    django.setup()
    declare_tool()
    _declare_writes()


def configured(origin: str, **more: Any) -> dict[str, Any]:
    return {"PRIVATE_ORIGINS": [origin], "ENCRYPTION_KEYS": [KEY], "STREAM_INTERVAL": 0, **more}


def _database(url: str) -> dict[str, Any]:
    """``?prepared`` after a PostgreSQL URL: statements are prepared on the server, as LangGraph's are."""
    if "://" not in url:
        return {**sqlite(), "NAME": url, "TEST": {"NAME": url}}
    options = {"server_side_binding": True, "prepare_threshold": 1} if url.endswith("?prepared") else {}
    return {**database(url), "CONN_MAX_AGE": None, "OPTIONS": options}


def _tasks() -> str:
    import django

    return "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"


def _declare_writes() -> None:
    from llm_foundation.tools import DataClass, Effect, tool

    @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.INTERNAL, approval=False)
    def send_order(number: str) -> dict[str, str]:
        """Send one order by its number."""
        return {"number": number, "status": "sent"}

    @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.INTERNAL)
    def refund_order(number: str) -> dict[str, str]:
        """Pay one order back by its number."""
        return {"number": number, "status": "paid back"}


def make_records(origin: str) -> None:
    from django.contrib.auth.models import Permission, User

    from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord, sync_tools
    from llm_foundation.tools import registry

    sync_tools(registry.declared())
    provider = Provider.objects.create(
        name="local", adapter="openai_compatible", profile="custom", base_url=f"{origin}/v1", trust_zone="local"
    )
    model = LanguageModel.objects.create(provider=provider, model_id="benchmark")
    for slug, name in TOOLS.items():
        configuration = Configuration.objects.create(slug=slug, name=slug, language_model=model)
        configuration.tools.set(ToolRecord.objects.filter(name=name))
    User.objects.create_user("owner")
    User.objects.create_user("decider").user_permissions.add(Permission.objects.get(codename="decide_toolcall"))
