"""What the processes that are killed do all their lives. None of them knows of the others, or remembers anything."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
from django.db.models.functions import Now

from llm_foundation import llm
from llm_foundation.exceptions import DecisionError, RunLost
from llm_foundation.loop.states import CallState, RunStatus
from llm_foundation.models import Run, RunToolCall
from llm_foundation.runs.drivers import adrive
from llm_foundation.runs.recovery import recover
from llm_foundation.runs.runtime import resume_steps
from llm_foundation.runs.tasks import resume_run
from tests.faults.plans import first_message

IDLE = 0.05
"""Seconds. Who has nothing to do leaves the processor to those who have."""

MOST_OPEN = 40
"""So many runs are under way at once. Whenever the killing ends, those few are left to end."""


def start_runs(dice: Random, runs: int) -> None:
    """Start what is missing, each under a key of its own; after a death begin with one that is there already."""
    parent = os.getppid()
    seed, owner = int(os.environ["LLM_FAULTS_SEED"]), User.objects.get(username="owner")
    for number in range(max(0, Run.objects.count() - 1), runs):
        while Run.objects.filter(finished_at=None).count() >= MOST_OPEN and os.getppid() == parent:
            time.sleep(IDLE)
        llm.run("faults", first_message(seed, number), user=owner, mode="queue", idempotency_key=str(number))


def work(dice: Random, runs: int) -> None:
    """Take queued runs, in no order, now and then one that is no longer there; and look after what others left."""
    parent = os.getppid()
    while os.getppid() == parent:
        if dice.random() < 0.2:
            recover()
        if chosen := _some_queued(dice):
            go_on = dice.choice((_go_on_in_a_task, _go_on_in_async_code))
            for _ in range(dice.choice((1, 1, 1, 2))):
                go_on(chosen)
        else:
            time.sleep(IDLE)


def decide(dice: Random, runs: int) -> None:
    """Say yes to most calls that wait, no to some, the truth about each that is in doubt; and now and then cancel."""
    parent = os.getppid()
    person = User.objects.get(username="person")
    while os.getppid() == parent:
        for call in RunToolCall.objects.filter(state__in=(CallState.PENDING, CallState.IN_DOUBT)).order_by("?")[:5]:
            if dice.random() < 0.9:
                _say(call, person, dice)
        if dice.random() < 0.01 and (run := Run.objects.filter(finished_at=None).order_by("?").first()):
            llm.cancel(run, by=person)
        time.sleep(IDLE)


ROLES: dict[str, Callable[[Random, int], None]] = {"starter": start_runs, "worker": work, "person": decide}

MESSENGERS = {"starter": ("lost", "lost", "default"), "worker": ("lost", "default"), "person": ("lost", "default")}


def be(role: str, dice: Random, runs: int) -> None:
    """Each process may stream or not, and have a messenger that delivers at once or never."""
    settings.LLM_FOUNDATION["STREAM_INTERVAL"] = dice.choice((0, 0.005))
    settings.LLM_FOUNDATION["TASK_BACKEND"] = dice.choice(MESSENGERS[role])
    ROLES[role](dice, runs)


def _some_queued(dice: Random) -> UUID | None:
    due = Q(not_before=None) | Q(not_before__lte=Now())
    queued = Run.objects.filter(due, status=RunStatus.QUEUED).values_list("pk", flat=True)[:8]
    return dice.choice(list(queued) or [None])


def _go_on_in_a_task(run: UUID) -> None:
    resume_run.call(str(run))


def _go_on_in_async_code(run: UUID) -> None:
    with suppress(RunLost):  # somebody else took it over, as they should
        asyncio.run(adrive(resume_steps(run)))


def _say(call: RunToolCall, person: User, dice: Random) -> None:
    """Somebody else may have been faster, and what was shown may be out of date: people live with that."""
    try:
        if call.state == CallState.IN_DOUBT:
            _resolve(call, person)
        elif dice.random() < 0.85:
            llm.approve(call, by=person, digest=call.digest)
        else:
            llm.deny(call, by=person, digest=call.digest)
    except DecisionError:
        pass


def _resolve(call: RunToolCall, person: User) -> None:
    from tests.faults.shop.llm_tools import request  # not before Django is set up

    place = urlencode({"run": call.run_id, "call": call.call_id})
    if request("GET", f"/?{place}")["happened"]:
        llm.resolve(call, by=person, outcome="happened", result="A person saw that it is done.")
    else:
        llm.resolve(call, by=person, outcome="did_not_happen")
