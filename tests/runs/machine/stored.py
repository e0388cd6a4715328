"""What is stored, asked anew at each look; there are thousands of looks, so the SQL is made once.

There is one run at most, so nothing asks whose rows they are: those of another would be found as well.
"""

from typing import Final

from django.contrib.admin.models import LogEntry

from llm_foundation.loop.states import CallState
from llm_foundation.models import Decision, Run, RunEvent, RunMessage, RunToolCall
from llm_foundation.models.compiled import CompiledQuery

RUNS: Final = CompiledQuery(lambda: Run.objects.defer("offer", "limits", "approval"))
MESSAGES: Final = CompiledQuery(lambda: RunMessage.objects.order_by("sequence"))
CALLS: Final = CompiledQuery(lambda: RunToolCall.objects.order_by("turn", "index"))
WAITING_CALLS: Final = CompiledQuery(
    lambda: RunToolCall.objects.filter(state__in=(CallState.PENDING, CallState.IN_DOUBT)).order_by("turn", "index")
)
DECISIONS: Final = CompiledQuery(lambda: Decision.objects.order_by("number").values_list("call", "verdict"))
EVENTS: Final = CompiledQuery(lambda: RunEvent.objects.order_by().values_list("sequence", "kind"))
BOOKINGS: Final = CompiledQuery(
    lambda: LogEntry.objects.order_by("object_id", "object_repr").values_list("object_id", "object_repr")
)
"""Call and row of each, as they are committed."""


def only_run() -> Run | None:
    """The run, once it has been started."""
    runs = RUNS.fetch()
    assert len(runs) <= 1, "one start made two runs"
    return runs[0] if runs else None
