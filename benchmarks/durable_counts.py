"""How often a run commits, and what it executes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Counted:
    """``steps`` has one entry a commit: the statements read before it, and those in its transaction."""

    steps: list[tuple[int, int]] = field(default_factory=list)
    round_trips: int = 0
    reads: int = 0
    written: int = 0

    @property
    def commits(self) -> int:
        return len(self.steps)

    @property
    def statements(self) -> int:
        return sum(map(sum, self.steps)) + self.reads + self.written

    def commit(self) -> None:
        self.steps.append((self.reads, self.written))
        self.reads = self.written = 0

    def note(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """PostgreSQL may be sent several statements at once; none of ours holds a semicolon otherwise."""
        if sql.startswith("BEGIN"):  # Django says it by a statement to SQLite only
            return execute(sql, params, many, context)
        statements = sql.count(";") + 1
        self.round_trips += 1
        if context["connection"].in_atomic_block:
            self.written += statements
        elif sql.lstrip().upper().startswith("SELECT"):
            self.reads += statements
        else:  # outside a transaction each write is its own
            self.written += statements
            self.commit()
        return execute(sql, params, many, context)


@contextmanager
def counting() -> Iterator[Counted]:
    from django.db import connection as connected

    connection: Any = connected
    counted, commit = Counted(), connection._commit

    def noted() -> None:
        counted.commit()
        commit()

    connection._commit = noted
    try:
        with connection.execute_wrapper(counted.note):
            yield counted
    finally:
        del connection._commit


def counts_of(run: Callable[[], object]) -> Counted:
    with counting() as counted:
        run()
    return counted


def commits_on_server(run: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> int:
    """How many transactions wrote, by PostgreSQL's own numbers; the least of some rounds, for others write as well."""
    from django.db import connection

    def newest() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT txid_snapshot_xmax(txid_current_snapshot())")
            return int(cursor.fetchone()[0])

    taken = []
    for _ in range(10):
        prepare()
        before = newest()
        run()
        taken.append(newest() - before)
    return min(taken)
