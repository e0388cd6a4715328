"""The filters of the list. Their choices come from short tables, or from what waits: never from a million calls."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from llm_foundation.admin.inbox.mine import waiting_for
from llm_foundation.admin.people import short_name_of
from llm_foundation.loop.states import CallState
from llm_foundation.models import Configuration, RunToolCall, ToolRecord
from llm_foundation.models.calls import CALL_STATES
from llm_foundation.runs.verification import may_decide

MOST_REQUESTERS: Final = 15
NOBODY: Final = "nobody"
AGES: Final[dict[str, tuple[timedelta, str | Promise]]] = {
    "hour": (timedelta(hours=1), _("longer than an hour")),
    "day": (timedelta(days=1), _("longer than a day")),
    "week": (timedelta(weeks=1), _("longer than a week")),
}

HISTORY: Final = (
    CallState.IN_DOUBT,
    CallState.SUCCEEDED,
    CallState.FAILED,
    CallState.DENIED,
    CallState.REFUSED,
    CallState.EXPIRED,
    CallState.CANCELLED,
    CallState.EXECUTING,
    CallState.READY,
    CallState.PROPOSED,
)
"""In the order in which people look for them."""


class StateFilter(admin.SimpleListFilter):
    """The list opens with what waits for who looks; for those who decide nothing, with all that waits."""

    title = _("state")
    parameter_name = "state"
    everything = "all"

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        self.person = request.user
        self.has_own = may_decide(request.user)
        super().__init__(request, *args)

    @classmethod
    def is_inbox(cls, request: HttpRequest) -> bool:
        """Whether the list shows what waits, and not what has been."""
        return request.GET.get(cls.parameter_name, CallState.PENDING) == CallState.PENDING

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        anybody = [(CallState.PENDING.value, _("waiting for anybody"))] if self.has_own else []
        words = dict(CALL_STATES)
        return [*anybody, *((state.value, words[state]) for state in HISTORY), (self.everything, _("all"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        opens_with = _("waiting for you") if self.has_own else dict(CALL_STATES)[CallState.PENDING]
        for choice in super().choices(changelist):
            is_default = choice["query_string"] == changelist.get_query_string(remove=[self.parameter_name])
            yield {**choice, "display": opens_with} if is_default else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = self.value()
        if state == self.everything:
            return queryset
        if state is None and self.has_own:
            return waiting_for(self.person, among=queryset)
        return queryset.filter(state=state or CallState.PENDING)


class ToolFilter(admin.SimpleListFilter):
    title = _("tool")
    parameter_name = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in ToolRecord.objects.values_list("name", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(tool_name=self.value()) if self.value() else queryset


class ConfigurationFilter(admin.SimpleListFilter):
    title = _("configuration")
    parameter_name = "configuration"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(Configuration.objects.order_by("name").values_list("slug", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(run__configuration__slug=self.value()) if self.value() else queryset


class RequesterFilter(admin.SimpleListFilter):
    """On whose behalf: those for whom most calls wait. The search finds the others."""

    title = _("requester")
    parameter_name = "requester"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        counted = RunToolCall.objects.pending().order_by().values("run__owner").annotate(calls=Count("pk"))
        owners = [row["run__owner"] for row in counted.order_by("-calls")[:MOST_REQUESTERS]]
        users = get_user_model()._default_manager.in_bulk([owner for owner in owners if owner is not None])
        return [(NOBODY if owner is None else str(owner), short_name_of(users.get(owner))) for owner in owners]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen:
            return queryset
        try:
            owner = None if chosen == NOBODY else get_user_model()._meta.pk.to_python(chosen)
        except ValidationError as error:
            raise IncorrectLookupParameters from error
        return queryset.filter(run__owner=owner)


class AgeFilter(admin.SimpleListFilter):
    title = _("time waited")
    parameter_name = "waited"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(age, words) for age, (_least, words) in AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = AGES.get(self.value() or "")
        return queryset.filter(pending_since__lte=timezone.now() - chosen[0]) if chosen else queryset
