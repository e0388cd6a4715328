"""A database of its own for one series of runs, made before it and dropped after it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tests.databases import database


@contextmanager
def fresh_database(named: str, scratch: Path) -> Iterator[str]:
    """``named`` is "sqlite", or the URL of a server; gives the URL of the new database."""
    if named == "sqlite":
        yield f"sqlite:{scratch / 'faults.sqlite3'}"
        return
    name = f"llm_faults_{os.getpid()}"
    _at_server(named, f"CREATE DATABASE {name}{' CHARACTER SET utf8mb4' if named.startswith('mysql') else ''}")
    try:
        yield urlunsplit(urlsplit(named)._replace(path=f"/{name}"))
    finally:
        _at_server(named, f"DROP DATABASE {name}{'' if named.startswith('mysql') else ' WITH (FORCE)'}")


def _at_server(url: str, statement: str) -> None:
    """Outside any database of the tests, and without Django, whose settings name the one that is made here."""
    place = database(url)
    connection = _mysql(place) if url.startswith("mysql") else _postgres(place)
    try:
        connection.cursor().execute(statement)
    finally:
        connection.close()


def _postgres(place: dict[str, Any]) -> Any:
    import psycopg

    return psycopg.connect(
        host=place["HOST"],
        port=place["PORT"] or None,
        user=place["USER"],
        password=place["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    )


def _mysql(place: dict[str, Any]) -> Any:
    import MySQLdb

    return MySQLdb.connect(
        host=place["HOST"], port=int(place["PORT"] or 3306), user=place["USER"], password=place["PASSWORD"]
    )


@contextmanager
def scratch_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="llm-faults-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def furnish(server: str) -> None:
    """The tables, the people, and a configuration that grants the whole shop."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from llm_foundation.models import Configuration, LanguageModel, Provider, ToolRecord

    call_command("migrate", run_syncdb=True, verbosity=0)
    provider = Provider.objects.create(
        name="practice", adapter="openai_compatible", profile="custom", base_url=f"{server}/v1", trust_zone="local"
    )
    model = LanguageModel.objects.create(provider=provider, model_id="practice")
    configuration = Configuration.objects.create(slug="faults", name="Faults", language_model=model)
    configuration.tools.set(ToolRecord.objects.all())
    User.objects.create_user("owner")
    User.objects.create_superuser("person")
