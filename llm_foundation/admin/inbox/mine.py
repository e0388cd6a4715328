"""Which calls wait for this very person: those that they could both release and deny, as far as the database can tell.

What only the page of a call can find out (a tool that has changed, a preview that failed) is not asked here: a list
must not load every call's secrets to say how many there are.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db.models import Count, QuerySet
from django.http import HttpRequest

from llm_foundation.admin.inbox.barred import barred, too_late
from llm_foundation.loop.states import CallState
from llm_foundation.models import RunToolCall
from llm_foundation.runs.verification import may_decide
from llm_foundation.tools import registry

Calls = QuerySet[RunToolCall]


class Waiting(NamedTuple):
    """How many calls wait for who looks, and for others. Nothing where they may not decide."""

    mine: int = 0
    others: int = 0


_counted: WeakKeyDictionary[HttpRequest, Waiting] = WeakKeyDictionary()


def waiting_for(person: Any, *, among: Calls | None = None) -> Calls:
    """None for those who may not decide at all. Costs one query to say, however many calls there are."""
    calls = RunToolCall.objects.all() if among is None else among
    if not may_decide(person):
        return calls.none()
    open_to = calls.filter(state=CallState.PENDING).exclude(barred(person) | too_late())
    names = open_to.order_by().values_list("tool_name", flat=True).distinct()
    return open_to.exclude(tool_name__in=[name for name in names if not _may_release(name, person)])


def count_of(request: HttpRequest) -> Waiting:
    """One query. A page says it in several places, and asks once."""
    if request not in _counted:
        _counted[request] = _count(request.user)
    return _counted[request]


def _count(person: Any) -> Waiting:
    if not may_decide(person):
        return Waiting()
    is_open = Count("pk", filter=~(barred(person) | too_late()))
    counts = RunToolCall.objects.pending().order_by().values_list("tool_name").annotate(open=is_open, all=Count("pk"))
    rows = list(counts)
    mine = sum(is_open for name, is_open, _all in rows if is_open and _may_release(name, person))
    return Waiting(mine, sum(row[2] for row in rows) - mine)


def _may_release(tool_name: str, person: Any) -> bool:
    """Calls of a tool that this person may not use are others' to release. Those of one that is gone are anybody's."""
    tool = registry.get(tool_name)
    return tool is None or tool.may_use(person)
