"""What must hold at every moment, compared with what is stored, with what was, and with what happened in the world."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from llm_foundation.chat.messages import ChatMessage, Role
from llm_foundation.loop.states import CALL_TRANSITIONS, RUN_TRANSITIONS, CallState, RunStatus
from llm_foundation.models import Run, RunEvent, RunToolCall
from llm_foundation.runs.events import DELTAS
from llm_foundation.vocabulary import DataClass, Effect
from tests.runs.machine.acceptance import faults_of, require_accepted
from tests.runs.machine.hosts import Host
from tests.runs.machine.stored import BOOKINGS, CALLS, DECISIONS, EVENTS, MESSAGES, only_run
from tests.runs.machine.toolbox import EFFECTS, NAMES
from tests.runs.machine.world import World

WAITING: Final = {
    RunStatus.WAITING_FOR_APPROVAL: CallState.PENDING,
    RunStatus.IN_DOUBT: CallState.IN_DOUBT,
}
_SAYS_THAT_IT_ENDED: Final = ("call.refused", "call.settled", "call.resolved", "call.decided")
_UNTOUCHED: Final = ("not executed", "before this call was executed", "not today", "no such place")


class Witness:
    """Looks after each step. ``look`` raises ``AssertionError`` with what it found."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.run: Run | None = None
        self.calls: dict[UUID, RunToolCall] = {}
        self.transcript: list[ChatMessage] = []
        self._sealed: list[str] = []
        self._events: dict[int, str] = {}
        self._decisions: dict[UUID, list[str]] = {}
        self._results: dict[tuple[UUID, str], str] = {}  # by call and token: a token says one thing for good

    def look(self) -> None:
        if run := only_run():
            self._look_at_run(run)
            self._look_at_messages(run)
            self._look_at_calls(run)
            self._look_at_events(run)
            self._look_at_world()

    # --- The run ------------------------------------------------------------------------------------------------------
    def _look_at_run(self, run: Run) -> None:
        before, self.run = self.run, run
        status = RunStatus(run.status)
        assert status.is_terminal == bool(run.finished_at) == bool(run.termination_reason), _of(run)
        assert (status is RunStatus.RUNNING) == bool(run.lease_expires_at), _of(run)
        assert not run.termination_reason.startswith("internal:"), f"{_of(run)}: {run.error}"
        if before is None:
            return
        if before.is_finished:
            assert (_of(run), run.finished_at) == (_of(before), before.finished_at), "it had ended already"
        assert run.lease_token >= before.lease_token
        assert run.revision >= before.revision
        assert DataClass(run.high_water) >= DataClass(before.high_water)
        assert status in _reachable(RUN_TRANSITIONS, before.status), f"from {before.status} to {status}"

    def _look_at_messages(self, run: Run) -> None:
        rows = MESSAGES.fetch()
        assert [row.sequence for row in rows] == list(range(1, run.next_message_sequence))
        assert [row.payload_sealed for row in rows[: len(self._sealed)]] == self._sealed, "the transcript was rewritten"
        self.transcript += [row.message for row in rows[len(self._sealed) :]]
        self._sealed = [row.payload_sealed for row in rows]
        assert not list(faults_of(self.transcript, may_be_open=not run.is_finished)), self.transcript

    # --- Its calls ----------------------------------------------------------------------------------------------------
    def _look_at_calls(self, run: Run) -> None:
        rows = {row.pk: row for row in CALLS.fetch()}
        said = DECISIONS.fetch()
        self._decisions = {pk: [verdict for call, verdict in said if call == pk] for pk in rows}
        assert rows.keys() >= self.calls.keys(), "a call is gone"
        for row in rows.values():
            self._look_at_call(run, row, self.calls.get(row.pk))
        self.calls = rows
        self._look_at_waiting(run)

    def _look_at_call(self, run: Run, row: RunToolCall, before: RunToolCall | None) -> None:
        state = CallState(row.state)
        if state is CallState.EXECUTING:
            assert (run.status, row.attempt_token) == (RunStatus.RUNNING, run.lease_token), _of(row)
        if run.is_finished:
            assert state.is_answered, f"{_of(row)} in a run that is {run.status}"
        if state.is_answered:
            assert self._result(row), _of(row)
        if before is None:
            return
        assert state in _reachable(CALL_TRANSITIONS, before.state), f"{_of(row)} was {before.state}"
        assert (row.repeats, row.attempt) >= (before.repeats, before.attempt)
        assert row.idempotency_key == before.idempotency_key
        if CallState(before.state).is_answered:
            assert (row.state, row.result_sealed) == (before.state, before.result_sealed), f"{_of(row)} was answered"

    def _look_at_waiting(self, run: Run) -> None:
        """Whoever waits waits for something, and for nothing that could go on."""
        states = Counter(CallState(row.state) for row in self.calls.values())
        if wanted := WAITING.get(RunStatus(run.status)):
            assert states[wanted], f"{_of(run)} waits for nothing: {states}"
            is_to_end = run.cancel_requested_at or run.error
            assert is_to_end or not states[CallState.READY] + states[CallState.PROPOSED], (
                f"{_of(run)} could go on: {states}"
            )

    # --- The timeline -------------------------------------------------------------------------------------------------
    def _look_at_events(self, run: Run) -> None:
        rows = dict(EVENTS.fetch())
        assert max(rows, default=0) < run.next_event_sequence
        gone = {kind for sequence, kind in self._events.items() if sequence not in rows}
        assert gone <= set(DELTAS), f"gone from the timeline: {gone}"
        appeared = rows.keys() - self._events.keys()
        assert min(appeared, default=10**9) > max(self._events, default=0), "an event came in before others"
        self._events = rows
        if run.is_finished:
            assert set(rows.values()).isdisjoint(DELTAS), "streamed text was kept"
            assert Counter(rows.values())["run.finished"] == 1

    # --- The world ----------------------------------------------------------------------------------------------------
    def _look_at_world(self) -> None:
        booked = Counter(BOOKINGS.fetch())
        for row in self.calls.values():
            starts = [start for start in self.world.starts if start.call == row.call_id]
            assert len({start.key for start in starts}) <= 1, f"{_of(row)} was made with two keys"
            if row.tool_name in NAMES:
                self._look_at_starts(row, starts)
                self._look_at_effects(row, booked)
        keys = {start.key: start.call for start in self.world.starts}
        assert len(keys) == len({start.call for start in self.world.starts}), "two calls share a key"
        assert sum(booked.values()) == 2 * self._count_booked(), f"booked without a call: {booked}"

    def _count_booked(self) -> int:
        return sum(row.tool_name.startswith("book") and row.state == CallState.SUCCEEDED for row in self.calls.values())

    def _look_at_starts(self, row: RunToolCall, starts: Sequence[Any]) -> None:
        """Nothing begins without its mark, nor without a person's word where one is needed."""
        effect, said = _effect(row), Counter(self._decisions[row.pk])
        if effect is Effect.NON_IDEMPOTENT_WRITE:
            assert len(starts) <= 1 + said["did_not_happen"], f"{_of(row)} was repeated unasked"
        if row.tool_name.endswith("_on_approval"):
            assert not starts or said["approved"], f"{_of(row)} ran without approval"
            if effect is Effect.NON_IDEMPOTENT_WRITE:
                assert len(starts) <= said["approved"], f"{_of(row)} ran more often than it was approved"
        if effect.writes and not self.world.has_jumped:
            assert all(start.state == CallState.EXECUTING for start in starts), f"{_of(row)} began unmarked: {starts}"
            if effect is not Effect.TRANSACTIONAL_WRITE:
                assert len({(start.repeat, start.attempt) for start in starts}) == len(starts), (
                    f"one attempt began twice: {starts}"
                )

    def _look_at_effects(self, row: RunToolCall, booked: Mapping[tuple[str, str], int]) -> None:
        """What the row says is what happened."""
        state, effect, said = CallState(row.state), _effect(row), Counter(self._decisions[row.pk])
        if effect is Effect.TRANSACTIONAL_WRITE:
            expected = int(state is CallState.SUCCEEDED)
            found = [booked[row.call_id, part] for part in ("outer", "inner")]
            assert found == [expected, expected], f"{_of(row)} has taken effect {found} times"
        elif effect.writes and state.is_answered:
            happened = bool(self.world.sent[row.call_id])
            if state is CallState.SUCCEEDED:
                assert happened, f"{_of(row)} has not taken effect"
            elif any(words in self._result(row) for words in _UNTOUCHED) and not said["did_not_happen"]:
                assert not happened, f"{_of(row)} has taken effect, but its result says: {self._result(row)}"

    def _result(self, row: RunToolCall) -> str:
        token = (row.pk, row.result_sealed)
        if token not in self._results:
            self._results[token] = row.result
        return self._results[token]

    # --- The end ------------------------------------------------------------------------------------------------------
    def look_back(self, hosts: Iterable[Host]) -> None:
        """For a run that has ended, when nobody is at work on it any more."""
        self.look()
        assert self.run is not None
        assert not [crime for host in hosts for crime in host.crimes]
        assert self.run.is_finished, f"{_of(self.run)} does not end: {[_of(row) for row in self.calls.values()]}"
        require_accepted(self.transcript)
        results = {message.tool_call_id: message.content for message in self.transcript if message.role is Role.TOOL}
        told = {row.call_id: row.result for row in self.calls.values()}
        assert results == told
        answers = sum(message.role is Role.ASSISTANT for message in self.transcript)
        counted = (self.run.rounds, self.run.calls_made, self.run.input_tokens, self.run.output_tokens)
        assert counted == (answers, len(told), 10 * answers, 5 * answers)
        self._look_back_at_timeline()

    def _look_back_at_timeline(self) -> None:
        """A follower hears once how each call ended, and of each of the model's answers."""
        assert self.run is not None
        rows = RunEvent.objects.filter(run=self.run).order_by("sequence")
        ended = Counter(row.tool_call_id for row in rows if row.kind in _SAYS_THAT_IT_ENDED and _is_end(row))
        assert ended == dict.fromkeys(self.calls, 1), {_of(self.calls[pk]): ended[pk] for pk in self.calls}
        announced = [row.message_sequence for row in rows if row.kind == "model.answered"]
        said = [place for place, message in enumerate(self.transcript, 1) if message.role is Role.ASSISTANT]
        assert announced == said


def _is_end(row: RunEvent) -> bool:
    """An approval is no end, nor is a change, a doubt, or what a person had repeated."""
    payload: Any = row.payload
    return (
        payload.get("verdict") not in ("approved", "edited", "did_not_happen")
        and payload.get("state") != CallState.IN_DOUBT
    )


def _reachable(transitions: Mapping[Any, Any], source: str) -> set[Any]:
    """Several transitions may lie between two looks."""
    reached, new = set(), [next(state for state in transitions if state == source)]
    while new:
        state = new.pop()
        if state not in reached:
            reached.add(state)
            new += transitions[state]
    return reached


def _effect(row: RunToolCall) -> Effect:
    return EFFECTS[row.tool_name.removesuffix("_on_approval")]


def _of(row: Run | RunToolCall) -> str:
    if isinstance(row, Run):
        return f"run {row.status} {row.termination_reason}"
    return f"{row.call_id} {row.tool_name} {row.state} at attempt {row.attempt}"
