"""What a person may open. Each name is a permission that an administrator can give."""

from typing import Any, Final

from llm_foundation.models import ApprovalPolicy, Run
from llm_foundation.runs.approval_terms import terms_at_start, terms_now
from llm_foundation.runs.verification import DECIDE

READ_RUNS: Final = "llm_foundation.view_run"
READ_CALLS: Final = "llm_foundation.view_runtoolcall"
READ_CONFIGURATIONS: Final = "llm_foundation.view_configuration"


def may_read_runs(user: Any) -> bool:
    """Runs with all that was said in them."""
    return bool(user.has_perm(READ_RUNS))


def may_open_calls(user: Any) -> bool:
    """Whoever decides must be able to look."""
    return bool(user.has_perm(READ_CALLS) or user.has_perm(DECIDE))


def may_read_configurations(user: Any) -> bool:
    return bool(user.has_perm(READ_CONFIGURATIONS))


def holds_four_eyes(run: Run) -> bool:
    """Whether who changes or fills in a call of this run may not release it: the stricter of then and now."""
    terms = (terms_at_start(run), terms_now(run))
    return any(each is None or each.policy is ApprovalPolicy.FOUR_EYES for each in terms)
