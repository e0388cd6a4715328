"""One transactional call, with a row that is written with its effect, as a run writes the row of its call.

::

    call = RecordedCall.start()
    outcome = call.perform(write)
    assert (call.state, effects()) == ("succeeded", ["effect"])
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from llm_foundation.exceptions import RunLost
from llm_foundation.runs.operations import ToolExecution, ToolOutcome
from llm_foundation.runs.transactional import perform_transactional
from llm_foundation.tools import DataClass, Effect, ToolContext, registry, tool
from tests.runs.meeting import elsewhere


@dataclass
class RecordedCall:
    """Its row says ``executing`` until it has ended. ``begun`` counts the attempts that came as far as the row."""

    row: Any
    begun: int = 0

    @classmethod
    def start(cls) -> "RecordedCall":
        kind = ContentType.objects.get_for_model(Group)
        return cls(Permission.objects.create(content_type=kind, codename="call", name="executing"))

    @property
    def state(self) -> str:
        return Permission.objects.get(pk=self.row.pk).name

    def perform(self, function: Callable[..., Any]) -> ToolOutcome:
        return perform_transactional(execution(function), begin=self.begin, end=self.end)

    def begin(self) -> None:
        self.begun += 1
        self._write("executing")

    def end(self, outcome: ToolOutcome) -> None:
        self._write(outcome.state.value)

    def _write(self, state: str) -> None:
        if not Permission.objects.filter(pk=self.row.pk, name="executing").update(name=state):
            raise RunLost("The call is somebody else's.")


def execution(function: Callable[..., Any]) -> ToolExecution:
    """A call of the function, declared as a transactional tool."""
    with registry.isolated():
        made = tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC)(function)
    return ToolExecution(made, {}, ToolContext(), made.effect)


def write(name: str = "effect") -> None:
    Group.objects.create(name=name)


def effects() -> list[str]:
    return list(Group.objects.order_by("name").values_list("name", flat=True))


def run_sql(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def lose_connection() -> None:
    """As when the server is restarted."""
    number = "pg_backend_pid()" if connection.vendor == "postgresql" else "connection_id()"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {number}")
        (session,) = cursor.fetchone()
    kill = "SELECT pg_terminate_backend({}, 10000)" if connection.vendor == "postgresql" else "KILL {}"
    elsewhere(lambda: run_sql(kill.format(session)))


def assert_nothing_stays(call: RecordedCall, outcome: ToolOutcome, detail: str) -> None:
    assert (outcome.state, call.state, effects()) == ("failed", "executing", [])
    assert outcome.result.content.endswith("failed; it changed nothing.")
    assert detail in outcome.detail


def write_and_tell() -> str:
    write()
    return "written"


def touch(pk: int) -> None:
    Group.objects.filter(pk=pk).update(name=pk)
