"""Ending a run on somebody's word."""

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from llm_foundation.exceptions import RunNotPermitted
from llm_foundation.loop.states import RunStatus
from llm_foundation.models import Run
from llm_foundation.runs import mutex
from llm_foundation.runs.changes import Changes
from llm_foundation.runs.endings import end
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.lookup import find_run
from llm_foundation.runs.repeating import repeated_on_conflict
from llm_foundation.runs.surroundings import refuse_inside_transaction

if TYPE_CHECKING:
    from llm_foundation.policy.facts import User

CANCEL: Final = "llm_foundation.cancel_run"


def cancel(run: Run | UUID | str, *, by: "User") -> Run:
    """Cancel a run, or ask its segment to; a run that has ended stays as it is. Raises ``RunNotPermitted``."""
    refuse_inside_transaction("Cancelling a run")
    known = find_run(run)
    require_may_cancel(known, by)
    return _cancel(known.pk, by)


def require_may_cancel(run: Run, person: "User | None") -> None:
    """Owner and starter may cancel their run; others need the permission."""
    who: Any = person
    is_active = who is not None and who.is_active and who.pk is not None  # or those who are gone would be the same
    if not is_active or not (who.pk in (run.owner_id, run.starter_id) or who.has_perm(CANCEL)):
        message = _("Cancelling somebody else's run needs the permission “%(permission)s”.") % {"permission": CANCEL}
        raise RunNotPermitted(message, rule="permission")


@repeated_on_conflict
def _cancel(run_id: UUID, by: "User") -> Run:
    """The segment that holds the run hears of it between two steps, and between two pieces of an answer."""
    with transaction.atomic(durable=True):
        run = mutex.lock(run_id)
        if run.is_finished:
            return run
        columns = _request(run, by)
        if run.status != RunStatus.RUNNING and not run.is_doubtful:
            columns |= end(run, status=RunStatus.CANCELLED, reason="cancelled")
    mutex.show(run, columns)
    return run


def _request(run: Run, by: "User") -> dict[str, Any]:
    if run.cancel_requested_at is not None:
        return {}
    asked = {"cancel_requested_at": timezone.now()}
    mutex.write(run, Changes(events=[event(EventKind.CANCEL_REQUESTED, by=str(by.pk))]), **asked)
    return asked
