"""Whatever people, sweeps and workers do to one call at the same moment: one word counts, and nothing waits in vain."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs.recovery import recover
from tests.runs.counter import Counter, counter, run_of, verdicts
from tests.runs.meeting import at_once, kinds
from tests.runs.passing_time import go_on, go_on_until_it_rests, nobody_decides_in_time
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"number": "1138", "amount": "19.90"}
LESS = {"number": "1138", "amount": "9.90"}
PIN = {"pin": "4711"}
TOLD = {"AlreadyDecided", "StaleDigest", "Run"}


def words(here: Counter, call: RunToolCall) -> dict[str, Callable[[], Any]]:
    """What people can say of the call, by those who look at the same page."""
    seen = {"digest": call.digest}
    return {
        "edit": lambda: llm.approve(call, by=here.approver, arguments=LESS, **seen),
        "both": lambda: llm.approve(call, by=here.second, arguments=LESS, input=PIN, **seen),
        "answer": lambda: llm.answer(call, by=here.clerk, input=PIN, **seen),
        "approve": lambda: llm.approve(call, by=here.second, input=PIN, **seen),
        "deny": lambda: llm.deny(call, by=here.approver, **seen),
        "stop": lambda: llm.deny(call, by=here.second, stop=True, **seen),
        "cancel": lambda: llm.cancel(call.run_id, by=here.clerk),
        "sweep": recover,
        "work": lambda: go_on(run_of(call)),
    }


def paid(run: Run) -> bool:
    """As often as the call says."""
    succeeded = run.calls.filter(state="succeeded").count()
    assert Group.objects.count() == succeeded <= 1
    return bool(succeeded)


@pytest.mark.parametrize("policy", ["any", "four_eyes"])
def test_of_all_words_at_once_one_counts_and_the_call_is_executed_once_or_never(policy: str) -> None:
    with counter("pay_out", policy=policy) as here, handing_to(DUMMY):
        call = here.waiting("pay_out", **ASKED)
        said = words(here, call)
        outcomes = at_once([*(said[one] for one in ("edit", "both", "answer", "approve", "deny")), *[said["work"]] * 2])
        run = go_on_until_it_rests(call.run)

    assert set(kinds(outcomes)) <= TOLD | {"InvalidInput"}
    assert len(verdicts(call)) == 1
    if run.status == "waiting_for_approval":
        assert verdicts(call)[0] in ("edited", "answered")
    assert paid(run) == (verdicts(call) == ["approved"])
    assert_sound(run)


@pytest.mark.parametrize("end", ["stop", "cancel"])
def test_a_run_that_is_stopped_while_people_change_its_call_ends_and_executes_nothing(end: str) -> None:
    with counter("pay_out", policy="four_eyes") as here, handing_to(DUMMY):
        call = here.waiting("pay_out", **ASKED)
        said = words(here, call)
        outcomes = at_once([said[one] for one in ("edit", "answer", end, "work", "sweep")])
        run = go_on_until_it_rests(call.run)
        if run.status == "waiting_for_approval":  # whoever stopped it had looked at what was changed meanwhile
            assert end == "stop"
            run = go_on_until_it_rests(llm.cancel(run, by=here.clerk))

    assert set(kinds(outcomes)) <= TOLD | {"Recovered"}
    assert (run.status, paid(run)) == ("cancelled", False)
    assert_sound(run)


def test_of_an_expiry_and_a_change_at_once_the_call_ends_expired_and_a_change_lets_nobody_wait_longer() -> None:
    with counter("pay_out") as here, handing_to(DUMMY):
        here.configuration.approval_ttl = 5
        here.configuration.save()
        call = here.waiting("pay_out", **ASKED)
        until = call.expires_at
        changed = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).pending_calls.get()
        assert changed.expires_at == until
        nobody_decides_in_time(changed)
        said = words(here, changed)
        outcomes = at_once([said[one] for one in ("edit", "answer", "approve", "sweep", "sweep", "work")])
        run = go_on_until_it_rests(call.run)

    assert {"DecisionExpired"} <= set(kinds(outcomes)) <= {"DecisionExpired", "AlreadyDecided", "Recovered", "Run"}
    assert (run.status, run.calls.get().state, paid(run)) == ("completed", "expired", False)
    assert verdicts(call) == ["answered"]
    assert_sound(run)
