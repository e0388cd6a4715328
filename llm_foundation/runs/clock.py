"""The database's clock. The clocks of hosts differ: leases and due times are written and compared with this one."""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import functions
from django.utils import timezone


class Now(functions.Now):
    """The moment of the statement.

    MariaDB and MySQL would say it in the time zone of the session, while Django reads what is stored as UTC: people
    would be told another hour, and sessions of two time zones would take each other's leases for over.
    """

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        if connection.timezone_name != "UTC":
            return super().as_mysql(compiler, connection, **context)
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **context)


def now() -> Any:
    """An expression: the moment of the statement."""
    return Now()


@lru_cache(maxsize=64)
def after(seconds: float) -> Any:
    """An expression: this many seconds from then; before then, if negative. The same for the same seconds."""
    return now() + timedelta(seconds=seconds)


def local(moment: datetime) -> datetime:
    """What the database said, in the time zone of who reads it; naive where the project keeps naive times."""
    return timezone.localtime(moment) if timezone.is_aware(moment) else moment
