import pytest

from llm_foundation.loop.states import CALL_TRANSITIONS, RUN_TRANSITIONS, CallState, RunStatus


@pytest.mark.parametrize("table", [RUN_TRANSITIONS, CALL_TRANSITIONS])
def test_every_state_has_its_row_and_leads_to_known_states(table: dict[object, frozenset[object]]) -> None:
    states = type(next(iter(table)))
    assert set(table) == set(states)
    assert all(target in set(states) for targets in table.values() for target in targets)


def test_terminal_states_absorb() -> None:
    assert {status for status in RunStatus if status.is_terminal} == {"completed", "failed", "cancelled"}
    answered = {"succeeded", "failed", "refused", "denied", "expired", "cancelled"}
    assert {state for state in CallState if state.is_answered} == answered


def test_nothing_that_may_have_happened_can_be_run_again_without_passing_through_ready() -> None:
    assert [state for state in CallState if CallState.EXECUTING in CALL_TRANSITIONS[state]] == [CallState.READY]


def test_every_state_can_be_reached() -> None:
    reached = {CallState.PROPOSED}.union(*CALL_TRANSITIONS.values())
    assert reached == set(CallState)
    assert {RunStatus.QUEUED}.union(*RUN_TRANSITIONS.values()) == set(RunStatus)
