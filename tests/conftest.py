"""What every test run shares: hypothesis settings, the choice of tests per database, and the count of skips."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings
from django.db import connections
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from tests.emptying import empty_instead_of_flushing

HERE = Path(__file__).parent
PURE_ROOMS = {"chat", "loop", "providers"}
SQLITE_ROOMS = PURE_ROOMS | {"browser"}  # a page looks the same whatever the database
DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}

# How long an example takes says something about the machine, not about the code.
hypothesis_settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("untimed")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Close what async tests leave open: their queries run in a thread that outlives them, and PostgreSQL drops no
    database while someone is connected."""
    with django_db_blocker.unblock():
        empty_instead_of_flushing()
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Not even import, on the other databases, what would only say the same thing again."""
    is_for_sqlite = collection_path.parent == HERE and collection_path.name in SQLITE_ROOMS
    return True if is_for_sqlite and database_name() != "SQLite" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to SQLite what touches no database: it would only say the same thing again."""
    for item in items:
        if uses_database(item) and room(item) in PURE_ROOMS:
            raise pytest.UsageError(f"{item.nodeid} uses the database, in a room whose tests run on SQLite only.")
    leaves_out_long = os.environ.get("LLM_TEST_LONG") == "no"
    chosen = [item for item in items if database_name() == "SQLite" or says_more_elsewhere(item)]
    if leaves_out_long:
        chosen = [item for item in chosen if not takes_long(item)]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def room(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).parts[0]


def says_more_elsewhere(item: pytest.Item) -> bool:
    """On PostgreSQL or MariaDB."""
    return uses_database(item) and room(item) not in SQLITE_ROOMS


def takes_long(item: pytest.Item) -> bool:
    """What reads a thousand recordings, whole and damaged, says the same on every Python and Django."""
    return item.get_closest_marker("long") is not None or (
        room(item) in PURE_ROOMS and any(word in item.path.stem for word in ("fuzz", "recorded"))
    )


def uses_database(item: pytest.Item) -> bool:
    test_class = getattr(item, "cls", None)
    return (
        item.get_closest_marker("django_db") is not None
        or not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        or (test_class is not None and issubclass(test_class, TransactionTestCase))
    )


def database_name() -> str:
    engine = settings.DATABASES["default"]["ENGINE"].rpartition(".")[2]
    return {"sqlite3": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB"}[engine]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skips by reason, on the screen and in the file that bin/test reads at its end."""
    skips = Counter(skip_reason(report) for report in terminalreporter.stats.get("skipped", []))
    lines = [f"{database_name()}: {count} skipped: {reason}" for reason, count in skips.most_common()]
    if lines:
        terminalreporter.section("skips by reason")
        terminalreporter.write_line("\n".join(lines))
    if path := os.environ.get("LLM_TEST_SKIPS_FILE"):
        with Path(path).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    place_and_reason = report.longrepr
    reason = place_and_reason[2] if isinstance(place_and_reason, tuple) else str(place_and_reason)
    return reason.removeprefix("Skipped: ")
