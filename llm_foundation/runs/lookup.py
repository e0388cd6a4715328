"""Which run is meant, whichever way it is named."""

from uuid import UUID

from llm_foundation.models import Run
from llm_foundation.runs import mutex


def find_run(run: Run | UUID | str) -> Run:
    """The run as it is stored now. Raises ``Run.DoesNotExist`` also for what is no id."""
    run_id = run.pk if isinstance(run, Run) else run
    try:
        return mutex.read(run_id if isinstance(run_id, UUID) else UUID(run_id))
    except (ValueError, TypeError, AttributeError):
        raise Run.DoesNotExist(f"There is no run {run_id!r}.") from None
