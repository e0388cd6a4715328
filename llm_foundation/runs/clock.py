"""The database's clock. The clocks of hosts differ: leases and due times are written and compared with this one."""

from datetime import timedelta
from typing import Any

from django.db.models.functions import Now


def now() -> Any:
    """An expression: the moment of the statement."""
    return Now()


def after(seconds: float) -> Any:
    """An expression: this many seconds from then; before then, if negative."""
    return now() + timedelta(seconds=seconds)
