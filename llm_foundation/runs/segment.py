"""One stretch of a run, executed by one process that holds its lease: the loop's steps over the store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from django import db
from django.contrib.auth import get_user_model
from django.db import models

from llm_foundation.exceptions import OwnerGone, RunLost
from llm_foundation.loop.next_step import AnswerTurn, AskModel, AwaitDecisions, ExecuteCalls, Finish, next_step
from llm_foundation.loop.state import GateDecision, OpenCall
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Configuration, Run, RunToolCall
from llm_foundation.models.compiled import CompiledQuery, Parameter, fetch_together
from llm_foundation.pipeline.plan import plan_for
from llm_foundation.policy.facts import Policy, SwitchRow, ask_switches, load_policy
from llm_foundation.runs import late, store, tasks
from llm_foundation.runs.asking import ask
from llm_foundation.runs.backoff import retry_delay
from llm_foundation.runs.drivers import Interrupted, Steps
from llm_foundation.runs.events import EventKind, event
from llm_foundation.runs.executing import execute
from llm_foundation.runs.failures import what_failed
from llm_foundation.runs.giving_back import give_back
from llm_foundation.runs.held import CancelRequested, HeldRun
from llm_foundation.runs.verification import is_input_enough, verdict_on


def _columns_of_owner() -> list[str]:
    return [field.attname for field in get_user_model()._meta.concrete_fields]


_STANDING: Final = CompiledQuery(
    lambda: Run.objects.filter(pk=Parameter("run", models.UUIDField())).values_list(
        "cancel_requested_at", "owner", *(f"owner__{column}" for column in _columns_of_owner())
    )
)

PATIENCE: Final = 60.0
"""Seconds that the starter of a run waits for its provider; what takes longer is left to the workers."""


class Retry(NamedTuple):
    seconds: float
    is_awaited: bool


class Segment:
    """``retry`` says when a run that was queued anew is due, and who takes it up; ``None`` where it was not.

    ``is_awaited``: whoever executes the segment can execute the next one as well. ``is_judged``: the gate has said
    just now what may be offered.
    """

    def __init__(self, held: HeldRun, *, is_awaited: bool, is_judged: bool = False) -> None:
        self.held = held
        self.retry: Retry | None = None
        self._is_awaited = is_awaited
        self._is_judged = is_judged
        self._is_fresh = not is_judged  # a new run's owner is whom the starter named, however old that object is

    @property
    def run(self) -> Run:
        return self.held.run

    def steps(self) -> Steps[Run]:
        """Go on until the run ends, waits, or is queued anew. What fails ends it with a reason; the transcript stays.

        Raises ``RunLost``, and what the database raises when it is gone: then the lease runs out, and a sweep hands
        the run to somebody else.
        """
        try:
            yield from self._go_on()
        except CancelRequested:
            self._cancel()
        except RunLost:
            late.settle(self.run, self.held.outcomes)
            raise
        except Interrupted:
            give_back(self.held)
            raise
        except db.Error:
            raise
        except Exception as error:  # noqa: BLE001  # a run never ends without a reason
            self._retry_or_fail(error)
        return self.run

    def _go_on(self) -> Steps[None]:
        if self.run.cancel_requested_at is not None:
            raise CancelRequested
        held = self.held
        while True:
            policy, verdicts = self._facts()
            step = next_step(held.state, verdicts)
            match step:
                case AskModel():
                    yield from ask(held, step)
                case ExecuteCalls():
                    assert policy is not None  # noqa: S101  # an open turn has been judged
                    yield from execute(held, step, policy, verdicts)
                case AnswerTurn():
                    held.changes.messages += held.state.results
                    held.state = held.state.after_turn()
                case AwaitDecisions(waiting):
                    if self._suspend(waiting, verdicts):
                        return
                case Finish(truncated):
                    return self._complete(f"limit:{truncated}" if truncated else "answered")

    def _facts(self) -> tuple[Policy | None, Mapping[str, GateDecision]]:
        """What the gate says now: what may be offered between two turns, what may run in an open one.

        An answered turn and the final answer have nothing to judge.
        """
        state = self.held.state
        if self._is_judged:
            self._is_judged = False
            return None, {}
        if not any(one.state.is_judged for one in state.open_turn) and (state.open_turn or state.is_over):
            return None, {}
        switches = self._look_up()
        if self.run.has_owner and self.run.owner is None:
            raise OwnerGone("The account of this run's owner was deleted; nobody acts in their place.")
        policy = load_policy(
            self.run.configuration,
            user=self.run.owner,
            switches=switches,
            run_id=self.run.pk,
            read_history=lambda: state.messages,
        )
        if state.open_turn:
            return policy, self._verdicts(policy)
        offer = policy.offer(self.run.offer, high_water=self.held.high_water, unattended=self.run.unattended)
        self.held.state = replace(state, offer=offer.definitions)
        return policy, {}

    def _look_up(self) -> Sequence[SwitchRow] | None:
        """Anew in each step, since a segment may be long: who lost a right has lost it now, and a cancel is heard of
        before another answer is paid for. What reads gave is stored with that answer, so no commit has told of one.

        Before another contact the configuration as well: the operator may have moved it, or its provider to another
        zone.
        """
        run = self.run
        if self._is_fresh:
            self._is_fresh = False
            return None
        contact = [] if self.held.state.open_turn else [Configuration.objects.asking(run.configuration_id)]
        stored, switches, *configurations = fetch_together(
            _STANDING.asking(run=run.pk), ask_switches(run.configuration_id), *contact
        )
        if not stored:
            raise RunLost(f"Run {run.pk} was deleted.")
        cancel_requested_at, owner_id, *owner = stored[0]
        if cancel_requested_at is not None:
            raise CancelRequested
        users: Any = get_user_model()
        run.owner = None if owner_id is None else users.from_db(run._state.db, _columns_of_owner(), owner)
        for [configuration] in configurations:
            run.configuration = Configuration.objects.ready(configuration)
            self.held.plan = plan_for(run.configuration, before=self.held.plan)
        return switches

    def _verdicts(self, policy: Policy) -> dict[str, GateDecision]:
        return {
            waiting.call.id: verdict_on(self.run, self.held.rows[waiting.call.id], waiting, policy=policy)
            for waiting in self.held.state.open_turn
            if waiting.state.is_judged
        }

    def _suspend(self, waiting: Sequence[OpenCall], verdicts: Mapping[str, GateDecision]) -> bool:
        """Let go of the run; false where a decision came first, and the segment goes on with it."""
        held = self.held
        status = self._waiting_status(waiting, verdicts)
        changes = held.take_changes()
        shown = [(held.rows[one.call.id], one.state) for one in waiting]
        seen = {row.pk: (state, row.digest) for row, state in shown}
        leaving = replace(changes, events=[*changes.events, event(EventKind.WAITING, status=status.value)])
        if store.suspend(self.run, leaving, status=status, seen=seen):
            return True
        held.changes = changes
        stored = RunToolCall.objects.in_bulk(list(seen))
        held.moved({one.call.id: stored[held.rows[one.call.id].pk] for one in waiting})
        return False

    def _waiting_status(self, waiting: Sequence[OpenCall], verdicts: Mapping[str, GateDecision]) -> RunStatus:
        if any(one.state is CallState.IN_DOUBT for one in waiting):
            return RunStatus.IN_DOUBT
        rows = self.held.rows
        if all(is_input_enough(rows[one.call.id], verdicts[one.call.id]) for one in waiting):
            return RunStatus.WAITING_FOR_INPUT
        return RunStatus.WAITING_FOR_APPROVAL

    def _complete(self, reason: str) -> None:
        self.held.changes.events.append(event(EventKind.FINISHED, status=RunStatus.COMPLETED.value, reason=reason))
        store.complete(self.run, self.held.take_changes(), reason=reason)

    def _cancel(self) -> None:
        """What was marked and has not begun is taken back; everything else has its result already."""
        for row in self.held.fenced:
            self.held.changes.move(row, CallState.READY, attempt=row.attempt - 1)
        store.finish(self.run, self.held.take_changes(), status=RunStatus.CANCELLED, reason="cancelled")

    def _retry_or_fail(self, error: Exception) -> None:
        reason, words = what_failed(self.run, error)
        delay = retry_delay(error, failures=self.run.failures)
        if delay is None:
            store.finish(self.run, self.held.take_changes(), status=RunStatus.FAILED, reason=reason, error=words)
            return
        failures = self.run.failures + 1
        self.held.changes.events.append(
            event(EventKind.REQUEUED, reason=reason, seconds=round(delay, 1), failures=failures)
        )
        is_awaited = self._is_awaited and delay <= PATIENCE
        is_told = is_awaited or tasks.can_defer()
        store.requeue(self.run, self.held.take_changes(), delay=delay, failures=failures, is_told=is_told)
        if self.run.status == RunStatus.QUEUED:
            self.retry = Retry(delay, is_awaited)
