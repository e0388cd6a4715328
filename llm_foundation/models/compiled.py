"""Queries whose SQL is made once for a process, and then executed with other values.

Making the SQL of a query with joins takes Django a millisecond or two, executing it a tenth of that. Only the text is
kept: each ``fetch`` asks the database anew, and gives what the queryset would give.

::

    BY_ADAPTER = CompiledQuery(lambda: Provider.objects.filter(adapter=Parameter("adapter", models.CharField())))

    BY_ADAPTER.fetch(adapter="openai")

How Django's querysets and compilers work together is no public matter, so all that the package knows of it stands
here: a queryset has its compiler from its query; a compiler executes what its ``as_sql()`` says, and converts the
columns that its ``get_converters()`` names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
T = TypeVar("T")


class Parameter(Expression):
    """Stands in a queryset for a value that comes with each execution; ``field`` knows how databases take it.

    ``None`` is SQL's NULL, and nothing equals NULL: ``filter(group=Parameter(…))`` does not find what has no group.
    """

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name: Final = name

    def as_sql(self, *_: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)

    def bind(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> Any:
        return self.output_field.get_db_prep_value(values[self.name], connection)


class CompiledQuery(Generic[Row]):
    """``build`` makes the queryset: of models, also with ``select_related`` and annotations, or of ``values_list``.

    It is called when the query is first executed, so it may name models that are loaded later than this one.
    """

    def __init__(self, build: "Callable[[], QuerySet[Any, Row]]") -> None:
        self._build = build
        self._compiled: dict[str, _Compiled] = {}

    @cached_property
    def _queryset(self) -> "QuerySet[Any, Row]":
        queryset = self._build()
        if queryset._prefetch_related_lookups:  # type: ignore[attr-defined]
            raise TypeError("A compiled query is one query: it cannot prefetch.")
        return queryset

    def fetch(self, using: str | None = None, /, **values: Any) -> list[Row]:
        """Execute it on the database ``using``, or on the one that the router chooses.

        Raises ``TypeError`` where the values are not those that the queryset has parameters for.
        """
        template: Any = self._queryset
        alias = using or template.db
        if alias not in self._compiled:
            self._compiled[alias] = _compile(template.query, alias)
        query = self._compiled[alias].query(connections[alias], values)
        rows: Any = QuerySet(template.model, query, alias)
        rows._fields = template._fields
        return list(template._iterable_class(rows))


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL for one database, with a nameless place for each constant and each parameter, in this order."""

    sql: str
    places: tuple[Any, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, compiler: SQLCompiler) -> "Statement":
        sql, found = compiler.as_sql()
        places: tuple[Any, ...] = tuple(found)
        return cls(sql, places, frozenset(one.name for one in places if isinstance(one, Parameter)))

    def bind(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> list[Any]:
        """What stands in each place. Raises ``TypeError`` where the values are not those it has parameters for."""
        if values.keys() != self.names:
            raise TypeError(f"This query takes {', '.join(sorted(self.names))}; it was given {', '.join(values)}.")
        return [one.bind(values, connection) if isinstance(one, Parameter) else one for one in self.places]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A query for one database. Nothing in it belongs to a thread's connection, so that none is kept open by it."""

    template: Query
    compiler: SQLCompiler
    converters: Mapping[int, Any]
    statement: Statement
    sql: str
    names: tuple[str, ...]

    def query(self, connection: BaseDatabaseWrapper, values: Mapping[str, Any]) -> Query:
        """The query with its values, ready to be executed once."""
        bound = dict(zip(self.names, self.statement.bind(values, connection), strict=True))
        compiler = _copy(
            self.compiler,
            connection=connection,
            as_sql=lambda: (self.sql, bound),
            get_converters=lambda columns: self.converters,
        )
        return _copy(self.template, get_compiler=lambda using: compiler)


def _compile(query: Query, alias: str) -> _Compiled:
    connection = connections.create_connection(alias)
    try:
        template = query.clone()
        compiler = template.get_compiler(connection=connection)
        statement = Statement.of(compiler)
        converters = compiler.get_converters([column for column, _, _ in compiler.select])
    finally:
        connection.close()
    names = tuple(f"p{position}" for position in range(len(statement.places)))
    # Named, since SQLite's backend looks for nameless places with a regular expression, at each execution.
    sql = statement.sql.replace("%%", "%%%%") % tuple(f"%({name})s" for name in names)
    return _Compiled(template, compiler, converters, statement, sql, names)


def _copy(original: T, **changed: Any) -> T:
    """What ``copy()`` makes, in a tenth of the time; some attributes and methods are its own."""
    made = object.__new__(type(original))
    vars(made).update(vars(original), **changed)
    return made
