"""Queries whose SQL is made once for a process, and then executed with other values.

Making the SQL of a query with joins takes Django a millisecond or two, executing it a tenth of that. Only the text is
kept: each ``fetch`` asks the database anew, and gives what the queryset would give.

::

    BY_ADAPTER = CompiledQuery(lambda: Provider.objects.filter(adapter=Parameter("adapter", models.CharField())))

    BY_ADAPTER.fetch(adapter="openai")

How Django's querysets and compilers work together is no public matter, so all that the package knows of it stands
here: a queryset has its compiler from its query; a compiler executes what its ``as_sql()`` says, converts the columns
that its ``get_converters()`` names, and knows which columns belong to which model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, QuerySet
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
        return self.asking(using, **values).answer()

    def asking(self, using: str | None = None, /, **values: Any) -> "Question[Row]":
        """The same for ``fetch_together``."""
        template: Any = self._queryset
        alias = using or template.db
        compiled = self._compiled.get(alias) or self._compiled.setdefault(alias, _compile(template, alias))
        return Question(compiled, connections[alias], values)


@dataclass(frozen=True, slots=True)
class Question(Generic[Row]):
    """A compiled query with its values, to be executed once."""

    compiled: "_Compiled"
    connection: BaseDatabaseWrapper
    values: Mapping[str, Any]

    def answer(self) -> list[Row]:
        with self.connection.cursor() as cursor:
            cursor.execute(*self.bound())
            return self.rows(cursor.fetchall())

    def bound(self) -> tuple[str, Any]:
        return self.compiled.bind(self.values, self.connection)

    def rows(self, fetched: Sequence[Sequence[Any]]) -> list[Row]:
        return self.compiled.rows(fetched, self.connection)


def fetch_together(*questions: Question[Any]) -> list[list[Any]]:
    """The rows of each. PostgreSQL is asked all at once, where they go to one database of it: to wait for it costs
    more than it needs for most of them.
    """
    connection = questions[0].connection
    if not (takes_several(connection) and all(one.connection is connection for one in questions)):
        return [one.answer() for one in questions]
    bound = [one.bound() for one in questions]
    with connection.cursor() as cursor:
        cursor.execute(";".join(sql for sql, _ in bound), [value for _, values in bound for value in values])
        fetched = [cursor.fetchall()]
        while cursor.nextset():
            fetched.append(cursor.fetchall())
    return [one.rows(rows) for one, rows in zip(questions, fetched, strict=True)]


def takes_several(connection: BaseDatabaseWrapper) -> bool:
    """Whether a database takes several statements at once.

    PostgreSQL does where values are written into their text, as Django does unless settings say otherwise.
    """
    if connection.vendor != "postgresql":
        return False
    from django.db.backends.postgresql.psycopg_any import is_psycopg3

    return is_psycopg3 and {"server_side_binding", "cursor_factory"}.isdisjoint(connection.settings_dict["OPTIONS"])


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
        self.require(values.keys())
        return [one.bind(values, connection) if isinstance(one, Parameter) else one for one in self.places]

    def require(self, names: Set[str]) -> None:
        if names != self.names:
            raise TypeError(f"This query takes {', '.join(sorted(self.names))}; it was given {', '.join(names)}.")


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A query for one database. Nothing in it belongs to a thread's connection, so that none is kept open by it.

    ``names`` are those of the places of its SQL where they have names.
    """

    template: "QuerySet[Any, Any]"
    compiler: SQLCompiler
    converters: Sequence[tuple[int, Sequence[Callable[..., Any]], Any]]
    statement: Statement
    sql: str
    names: tuple[str, ...]

    def bind(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        bound = self.statement.bind(values, connection)
        return self.sql, dict(zip(self.names, bound, strict=True)) if self.names else bound

    def rows(self, fetched: Iterable[Sequence[Any]], connection: BaseDatabaseWrapper) -> list[Any]:
        """What the queryset makes of these rows of its table."""
        template: Any = self.template
        compiler = _Executed(self.compiler, [self._converted(row, connection) for row in fetched])
        queryset: Any = QuerySet(
            template.model, _copy(template.query, get_compiler=lambda using: compiler), template.db
        )
        queryset._fields = template._fields
        return list(template._iterable_class(queryset))

    def _converted(self, row: Sequence[Any], connection: BaseDatabaseWrapper) -> Sequence[Any]:
        converted = list(row)
        for position, convert, expression in self.converters:
            for step in convert:
                converted[position] = step(converted[position], expression, connection)
        return tuple(converted)


class _Executed:
    """Stands where a queryset looks for its compiler, and has the rows already."""

    def __init__(self, compiler: SQLCompiler, rows: Sequence[Sequence[Any]]) -> None:
        self.select, self.klass_info = compiler.select, compiler.klass_info
        self.annotation_col_map = compiler.annotation_col_map
        self.rows = rows

    def execute_sql(self, **_: Any) -> Sequence[Sequence[Any]]:
        return self.rows

    def results_iter(self, *_: Any, **__: Any) -> Iterator[Sequence[Any]]:
        return iter(self.rows)


def _compile(template: Any, alias: str) -> _Compiled:
    connection = connections.create_connection(alias)
    try:
        queryset = template.using(alias)
        compiler = queryset.query.get_compiler(connection=connection)
        statement = Statement.of(compiler)
        found = compiler.get_converters([column for column, _, _ in compiler.select])
    finally:
        connection.close()
    converters = [(position, *how) for position, how in found.items()]
    if connection.vendor != "sqlite":
        return _Compiled(queryset, compiler, converters, statement, statement.sql, ())
    # Its backend looks for nameless places with a regular expression, at each execution.
    names = tuple(f"p{position}" for position in range(len(statement.places)))
    sql = statement.sql.replace("%%", "%%%%") % tuple(f"%({name})s" for name in names)
    return _Compiled(queryset, compiler, converters, statement, sql, names)


def _copy(original: T, **changed: Any) -> T:
    """What ``copy()`` makes, in a tenth of the time; some attributes and methods are its own."""
    made = object.__new__(type(original))
    vars(made).update(vars(original), **changed)
    return made
