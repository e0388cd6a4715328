"""Where a run and a call can be, and where they may go from there: data, read at a glance.

The store moves nothing against these tables. Terminal states absorb: nothing leads out of them.
"""

from enum import StrEnum
from typing import Final


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_INPUT = "waiting_for_input"
    IN_DOUBT = "in_doubt"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return not RUN_TRANSITIONS[self]


RUN_TRANSITIONS: Final[dict[RunStatus, frozenset[RunStatus]]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    RunStatus.RUNNING: frozenset(
        {
            RunStatus.COMPLETED,
            RunStatus.FAILED,
            RunStatus.CANCELLED,
            RunStatus.WAITING_FOR_APPROVAL,
            RunStatus.WAITING_FOR_INPUT,
            RunStatus.IN_DOUBT,
            RunStatus.QUEUED,
        }
    ),
    RunStatus.WAITING_FOR_APPROVAL: frozenset({RunStatus.QUEUED, RunStatus.CANCELLED}),
    RunStatus.WAITING_FOR_INPUT: frozenset({RunStatus.QUEUED, RunStatus.CANCELLED}),
    RunStatus.IN_DOUBT: frozenset({RunStatus.QUEUED, RunStatus.FAILED, RunStatus.CANCELLED}),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
}


class CallState(StrEnum):
    PROPOSED = "proposed"
    PENDING = "pending"
    READY = "ready"
    EXECUTING = "executing"
    IN_DOUBT = "in_doubt"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"

    @property
    def is_judged(self) -> bool:
        """Nothing of the call has happened yet: the gate is asked about it in each step."""
        return self in (CallState.PROPOSED, CallState.PENDING, CallState.READY)

    @property
    def is_answered(self) -> bool:
        """The call has its result, whatever it is; nothing more happens to it."""
        return not CALL_TRANSITIONS[self]


CALL_TRANSITIONS: Final[dict[CallState, frozenset[CallState]]] = {
    CallState.PROPOSED: frozenset({CallState.REFUSED, CallState.PENDING, CallState.READY}),
    CallState.PENDING: frozenset(
        {
            CallState.READY,
            CallState.REFUSED,
            CallState.DENIED,
            CallState.EXPIRED,
            CallState.CANCELLED,
            CallState.IN_DOUBT,
        }
    ),
    CallState.READY: frozenset(
        {CallState.EXECUTING, CallState.PENDING, CallState.REFUSED, CallState.CANCELLED, CallState.IN_DOUBT}
    ),
    CallState.EXECUTING: frozenset({CallState.SUCCEEDED, CallState.FAILED, CallState.READY, CallState.IN_DOUBT}),
    CallState.IN_DOUBT: frozenset({CallState.SUCCEEDED, CallState.FAILED, CallState.READY}),
    CallState.SUCCEEDED: frozenset(),
    CallState.FAILED: frozenset(),
    CallState.REFUSED: frozenset(),
    CallState.DENIED: frozenset(),
    CallState.EXPIRED: frozenset(),
    CallState.CANCELLED: frozenset(),
}
