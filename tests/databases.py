"""Which database the tests use: SQLite, or the one that a URL names."""

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ENGINES = {"postgres": "django.db.backends.postgresql", "mysql": "django.db.backends.mysql"}

# Tests end processes and connections, never the server: so PostgreSQL need not wait for the disk at each commit.
OPTIONS = {"postgres": {"options": "-c synchronous_commit=off"}, "mysql": {}}


def database(url: str) -> dict[str, Any]:
    """Give Django's settings for `postgres://user:password@host:port/name`, `mysql://…`, or SQLite for an empty URL."""
    if not url:
        return sqlite()
    parts = urlsplit(url)
    if parts.scheme not in ENGINES:
        raise ValueError(f"LLM_TEST_DATABASE_URL starts with {parts.scheme!r}; use postgres:// or mysql://.")
    return {
        "ENGINE": ENGINES[parts.scheme],
        "NAME": parts.path.removeprefix("/") or "llm_foundation",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(OPTIONS[parts.scheme]),
        "TEST": {"CHARSET": "utf8mb4"} if parts.scheme == "mysql" else {},
    }


def sqlite() -> dict[str, Any]:
    """Give SQLite as a project should run it.

    The tests' database is a file of this process's own: threads that race then meet real locks, and a wait for
    them, which a database in shared memory does not have.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "OPTIONS": {
            # A transaction that reads before it writes fails at once under contention, whatever the timeout.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        "TEST": {"NAME": str(Path(tempfile.gettempdir()) / f"llm-foundation-tests-{os.getpid()}.sqlite3")},
    }
