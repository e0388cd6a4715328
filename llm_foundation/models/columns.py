"""How one column of a compiled write takes its values in one database: found out once for a process.

To ask its field anew for each value of each row takes as long as to store them all. And most columns of a new row
hold nothing yet: what stands in the text of a statement need not be sent, quoted and read beside it.
"""

from types import NoneType
from typing import Any, Final
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field

from llm_foundation.models.compiled import takes_several

_SAMPLES: Final = (None, " A\n%", 2**20, 0.5, True, UUID(int=1))

_NOTHING: Final[dict[type, str]] = {NoneType: "NULL", str: "''", int: "0", bool: "FALSE"}
"""SQL that means the same everywhere."""


class Column:
    def __init__(self, field: "Field[Any, Any]", connection: BaseDatabaseWrapper) -> None:
        self._field = field
        self._plain = frozenset(type(one) for one in _SAMPLES if _is_taken_as_it_is(field, one, connection))

    def place(self, value: Any, values: list[Any], connection: BaseDatabaseWrapper) -> str:
        """SQL for the value, which joins ``values`` where it does not stand in the text."""
        kind = type(value)
        if kind not in self._plain:
            value = self._field.get_db_prep_save(value, connection)
        elif not value and kind in _NOTHING:
            return _NOTHING[kind]
        values.append(value)
        return "%s"


def _is_taken_as_it_is(field: "Field[Any, Any]", value: Any, connection: BaseDatabaseWrapper) -> bool:
    try:
        prepared = field.get_db_prep_save(value, connection)
    except Exception:  # noqa: BLE001  # whatever a field raises for what is nothing for it
        return False
    # psycopg's own integers say of which size they are to a server that gets them beside the text.
    is_sized = isinstance(prepared, int) and prepared == value and takes_several(connection)
    return prepared is value or is_sized
