"""Inserts and updates whose SQL is made once for a process, and then executed with other values.

::

    MESSAGES = CompiledInsert(RunMessage)
    MOVE = CompiledUpdate(
        lambda: (
            RunToolCall.objects.filter(pk=Parameter("call", models.UUIDField())),
            {"attempt": F("attempt") + Parameter("more", models.IntegerField())},
        )
    )

    MESSAGES.execute(rows)
    moved = MOVE.execute({"state": "executing"}, call=row.pk, more=1)
    stored, moved = execute_together([MESSAGES.write(rows), MOVE.write({"state": "ready"}, call=row.pk, more=0)])

Like ``bulk_create`` and ``update`` they call no ``save()`` and send no signals. Unlike ``bulk_create``, an insert
leaves its rows without the ids that the database gives them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import AutoField, Field, QuerySet
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.transaction import mark_for_rollback_on_error

from llm_foundation.models.columns import Column
from llm_foundation.models.compiled import Parameter, Statement, takes_several

M = TypeVar("M", bound=models.Model)

_EXPRESSIONS_KEPT: Final = 64

_NO_COLUMNS: Final[Mapping[str, Any]] = MappingProxyType({})


class Write(NamedTuple):
    """A statement with its values."""

    sql: str
    values: list[Any]


def execute_together(writes: Sequence[Write], *, using: str = DEFAULT_DB_ALIAS) -> list[int]:
    """Execute them in this order, and give how many rows each one stored or found.

    PostgreSQL is sent all of them at once, since waiting for it costs more than most of them do: they are for a
    transaction that is rolled back where one has found too little.
    """
    if not writes:
        return []
    connection = connections[using]
    sent = _joined(writes) if takes_several(connection) else writes
    counts: list[int] = []
    with mark_for_rollback_on_error(using=using), connection.cursor() as cursor:
        for write in sent:
            cursor.execute(*write)
            counts.append(cursor.rowcount)
            while len(sent) < len(writes) and cursor.nextset():
                counts.append(cursor.rowcount)
    return counts


_MOST_VALUES: Final = 50
"""psycopg remembers how a text is put together that has no more places; to find it out takes as long as a wait."""


def _joined(writes: Sequence[Write]) -> list[Write]:
    """As few as possible."""
    joined = [writes[0]]
    for sql, values in writes[1:]:
        before = joined[-1]
        if len(before.values) + len(values) <= _MOST_VALUES:
            joined[-1] = Write(f"{before.sql};{sql}", [*before.values, *values])
        else:
            joined.append(Write(sql, values))
    return joined


Row: TypeAlias = "M | Mapping[str, Any]"
"""An instance; or the values of all columns by the names of their attributes, which is less work."""


class CompiledInsert(Generic[M]):
    """Rows of one model: every column of them but an id that the database gives."""

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._texts: dict[str, str] = {}
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._compiled: dict[tuple[str, int], tuple[Any, str, Sequence[Any]]] = {}

    @cached_property
    def _fields(self) -> "tuple[Field[Any, Any], ...]":
        fields = self._model._meta.local_concrete_fields
        return tuple(field for field in fields if not isinstance(field, AutoField))

    def execute(self, rows: "Sequence[Row[M]]", *, using: str = DEFAULT_DB_ALIAS) -> None:
        """Store them."""
        execute_together(self.writes(rows, using=using), using=using)

    def writes(self, rows: "Sequence[Row[M]]", *, using: str = DEFAULT_DB_ALIAS) -> list[Write]:
        """What stores them: several statements where a database takes only so many values at once, none for none."""
        if len(rows) == 1:
            return [self.write(rows, using=using)]
        size = max(1, connections[using].ops.bulk_batch_size(list(self._fields), list(rows)))
        return [self.write(rows[start : start + size], using=using) for start in range(0, len(rows), size)]

    def write(self, rows: "Sequence[Row[M]]", *, using: str = DEFAULT_DB_ALIAS) -> Write:
        """What stores these few rows; instances count as stored from here on."""
        connection, values = connections[using], list[Any]()
        if using not in self._columns:
            self._columns[using] = tuple(Column(field, connection) for field in self._fields)
        places = [self._places(self._values(row), values, connection) for row in rows]
        for row in rows:
            if isinstance(row, models.Model):
                row._state.adding, row._state.db = False, using
        return Write((self._texts.get(using) or self._begin(connection)) + ", ".join(places), values)

    def _values(self, row: "Row[M]") -> list[Any]:
        if isinstance(row, models.Model):
            return [field.pre_save(row, add=True) for field in self._fields]
        return [row[field.attname] for field in self._fields]

    def _places(self, row: Sequence[Any], values: list[Any], connection: BaseDatabaseWrapper) -> str:
        """The places of one row, whose values join ``values``."""
        places = []
        for column, value in zip(self._columns[connection.alias], row, strict=True):
            if hasattr(value, "resolve_expression"):
                place, parameters = self._compile(value, connection)
                values.extend(parameters)
            else:
                place = column.place(value, values, connection)
            places.append(place)
        return f"({', '.join(places)})"

    def _compile(self, expression: Any, connection: BaseDatabaseWrapper) -> tuple[str, Sequence[Any]]:
        """Once for each expression: who uses the same one again spares the time."""
        key = connection.alias, id(expression)
        if known := self._compiled.get(key):
            return known[1:]
        query = InsertQuery(self._model)
        resolved = expression.resolve_expression(query, allow_joins=False, for_save=True)
        place, parameters = query.get_compiler(connection=connection).compile(resolved)
        if len(self._compiled) >= _EXPRESSIONS_KEPT:
            self._compiled.clear()
        # The expression as well, since the id of one that is gone may be another's.
        self._compiled[key] = expression, place, parameters
        return place, parameters

    def _begin(self, connection: BaseDatabaseWrapper) -> str:
        quote = connection.ops.quote_name
        columns = ", ".join(quote(str(field.column)) for field in self._fields)
        parts = (connection.ops.insert_statement(), quote(self._model._meta.db_table), f"({columns})", "VALUES ")
        text = self._texts[connection.alias] = " ".join(parts)
        return text


class CompiledUpdate:
    """``build`` gives the queryset of the rows to change, of one table, and what is assigned to their columns always.

    It is called when the update is first executed, so it may name models that are loaded later than this one.
    """

    def __init__(self, build: "Callable[[], tuple[QuerySet[Any], Mapping[str, Any]]]") -> None:
        self._build = build
        self._statements: dict[tuple[str, ...], tuple[Statement, list[str]]] = {}

    @cached_property
    def _built(self) -> "tuple[QuerySet[Any], Mapping[str, Any]]":
        return self._build()

    def execute(
        self, columns: Mapping[str, Any] = _NO_COLUMNS, /, *, using: str = DEFAULT_DB_ALIAS, **values: Any
    ) -> int:
        """Change the rows, and give how many were found. ``columns`` are assigned beside what always is, or instead.

        Their values are plain ones, no expressions; the SQL is made once for each choice of columns. Raises
        ``TypeError`` where ``values`` are not those that the queryset and its assignments have parameters for.
        """
        return execute_together([self.write(columns, using=using, **values)], using=using)[0]

    def write(
        self, columns: Mapping[str, Any] = _NO_COLUMNS, /, *, using: str = DEFAULT_DB_ALIAS, **values: Any
    ) -> Write:
        """What changes the rows so."""
        statement, pieces = self._statements.get((using, *columns)) or self._compile(using, columns)
        connection, bound = connections[using], list[Any]()
        statement.require({*values, *map(_Assigned.named, columns)})
        text = [pieces[0]]
        for one, piece in zip(statement.places, pieces[1:], strict=True):
            if isinstance(one, _Assigned):
                text.append(one.column(connection).place(columns[one.target], bound, connection))
            else:
                text.append("%s")
                bound.append(one.bind(values, connection) if isinstance(one, Parameter) else one)
            text.append(piece)
        return Write("".join(text), bound)

    def _compile(self, alias: str, columns: Mapping[str, Any]) -> tuple[Statement, list[str]]:
        """The statement, and its text around the places."""
        queryset, always = self._built
        field = queryset.model._meta.get_field
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values({**always, **{column: _Assigned(column, field(column)) for column in columns}})
        query.clear_ordering(force=True)
        statement = Statement.of(query.get_compiler(connection=connections[alias]))
        if query.count_active_tables() != 1:
            raise TypeError("A compiled update is of one table: it can filter by that table's columns only.")
        pieces = [piece.replace("\0", "%%") for piece in statement.sql.replace("%%", "\0").split("%s")]
        self._statements[alias, *columns] = statement, pieces
        return statement, pieces


class _Assigned(Parameter):
    """The value of a column, as the database stores it."""

    def __init__(self, target: str, field: "Field[Any, Any]") -> None:
        super().__init__(self.named(target), field)
        self.target: Final = target
        self._columns: dict[str, Column] = {}

    @staticmethod
    def named(target: str) -> str:
        """A name that no parameter of the queryset can have."""
        return f"{target} ="

    def column(self, connection: BaseDatabaseWrapper) -> Column:
        known = self._columns.get(connection.alias)
        return known or self._columns.setdefault(connection.alias, Column(self.output_field, connection))
