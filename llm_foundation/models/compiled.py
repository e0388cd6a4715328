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
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")


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
        rows._iterable_class, rows._fields = template._iterable_class, template._fields
        return list(rows)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A query for one database. Keeps no connection: those belong to threads, and end with them."""

    template: Query
    compiler: SQLCompiler
    sql: str
    parameters: tuple[Any, ...]
    names: frozenset[str]
    converted: Mapping[int, Expression]

    def query(self, connection: BaseDatabaseWrapper, values: Mapping[str, Any]) -> Query:
        """The query with its values, ready to be executed once."""
        if values.keys() != self.names:
            raise TypeError(f"This query takes {', '.join(sorted(self.names))}; it was given {', '.join(values)}.")
        bound = tuple(one.bind(values, connection) if isinstance(one, Parameter) else one for one in self.parameters)
        convert = connection.ops.get_db_converters
        converters = {
            position: ([*convert(column), *column.get_db_converters(connection)], column)
            for position, column in self.converted.items()
        }
        compiler: Any = copy(self.compiler)
        compiler.connection = connection
        compiler.as_sql = lambda: (self.sql, bound)
        compiler.get_converters = lambda columns: converters
        query: Any = copy(self.template)
        query.get_compiler = lambda using: compiler
        return query  # type: ignore[no-any-return]


def _compile(query: Query, alias: str) -> _Compiled:
    template = query.clone()
    compiler = template.get_compiler(alias)
    sql, parameters = compiler.as_sql()
    names = frozenset(one.name for one in parameters if isinstance(one, Parameter))
    columns = [expression for expression, _, _ in compiler.select]
    converted = {position: column for position, (_, column) in compiler.get_converters(columns).items()}
    del compiler.connection
    return _Compiled(template, compiler, sql, tuple(parameters), names, converted)
