"""Leave the database as ``migrate`` made it, after each test that commits.

Django's ``flush`` empties every table, then makes content types and permissions again: hundreds of statements after
each of many hundred tests. Here those two tables keep what ``migrate`` wrote, and only tables with rows are emptied.
"""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Max
from django.test import TransactionTestCase

from llm_foundation.apps import sync_code_tools
from llm_foundation.tools import registry

KEPT = (ContentType, Permission)


@dataclass
class Emptying:
    """``kept`` says of each kept table how many rows ``migrate`` wrote, and the highest of their numbers."""

    tables: list[str]
    kept: dict[str, tuple[int, int]]

    @classmethod
    def begin(cls) -> "Emptying":
        """Of a database as ``migrate`` has made it."""
        names = connections[DEFAULT_DB_ALIAS].introspection.django_table_names(only_existing=True, include_views=False)
        kept_names = {model._meta.db_table for model in KEPT}
        return cls([name for name in names if name not in kept_names], _written_by_migrate())

    def empty(self, alias: str) -> None:
        connection = connections[alias]
        with connection.cursor() as cursor:
            cursor.execute(self._question(connection.ops.quote_name))
            answers = cursor.fetchone()
        filled = [name for name, has_rows in zip(self.tables, answers, strict=False) if has_rows]
        found = answers[len(self.tables) :]
        if any(count < self.kept[name][0] for name, count in zip(self.kept, found[::2], strict=True)):
            self._flush(alias)  # a test has deleted what nobody else would make again
            return
        quoted = connection.ops.quote_name
        statements = [f"DELETE FROM {quoted(name)};" for name in filled]  # TRUNCATE makes new files for each table
        if any(found[1::2]):
            statements += self._deleting_later_rows(quoted)
        if statements:
            with connection.constraint_checks_disabled():
                connection.ops.execute_sql_flush(statements)
        if registry.declared():
            sync_code_tools(apps.get_app_config("llm_foundation"), using=alias)

    def _question(self, quoted: Any) -> str:
        """Whether each table has rows; of each kept one, how many are left, and whether there are others."""
        asked = [f"EXISTS (SELECT 1 FROM {quoted(name)})" for name in self.tables]
        for name, (_, last) in self.kept.items():
            asked.append(f"(SELECT COUNT(*) FROM {quoted(name)} WHERE id <= {last})")
            asked.append(f"EXISTS (SELECT 1 FROM {quoted(name)} WHERE id > {last})")
        return f"SELECT {', '.join(asked)}"

    def _deleting_later_rows(self, quoted: Any) -> list[str]:
        """Permissions first: they refer to content types."""
        return [f"DELETE FROM {quoted(name)} WHERE id > {last};" for name, (_, last) in reversed(self.kept.items())]

    def _flush(self, alias: str) -> None:
        call_command("flush", verbosity=0, interactive=False, database=alias, reset_sequences=False)
        self.kept = _written_by_migrate()


def _written_by_migrate() -> dict[str, tuple[int, int]]:
    return {
        model._meta.db_table: (model.objects.count(), model.objects.aggregate(last=Max("pk"))["last"]) for model in KEPT
    }


def empty_instead_of_flushing() -> None:
    """For every test that commits; to be called once, when the database has been made."""
    emptying = Emptying.begin()

    def tear_down(test_case: TransactionTestCase) -> None:
        for alias in test_case._databases_names(include_mirrors=False):
            emptying.empty(alias)

    TransactionTestCase._fixture_teardown = tear_down
