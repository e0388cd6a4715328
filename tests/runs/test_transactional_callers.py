"""From where a transactional tool is called: an event loop, or a transaction of the caller's own."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction

from llm_foundation.runs.executions import aperform, perform
from tests.runs.transactional_practice import (
    RecordedCall,
    assert_nothing_stays,
    effects,
    execution,
    write,
    write_and_tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


async def write_and_crash() -> None:
    await Group.objects.acreate(name="effect")
    await asyncio.gather(Group.objects.acreate(name="one"), Group.objects.acreate(name="two"))
    raise ValueError("too late")


def test_an_async_tool_writes_in_the_same_transaction() -> None:
    call = RecordedCall.start()
    assert_nothing_stays(call, call.perform(write_and_crash), "too late")


async def test_an_async_tool_writes_in_the_same_transaction_from_a_running_loop_as_well() -> None:
    outcome = await aperform(execution(write_and_crash))
    assert (outcome.state, await sync_to_async(effects)()) == ("failed", [])


async def test_the_effect_of_an_async_tool_is_committed_from_a_running_loop() -> None:
    async def add() -> None:
        await Group.objects.acreate(name="effect")

    outcome = await aperform(execution(add))
    assert (outcome.state, await sync_to_async(effects)()) == ("succeeded", ["effect"])


def test_inside_a_transaction_of_the_caller_the_effect_goes_with_it() -> None:
    """As under ATOMIC_REQUESTS, where only runs in memory are possible."""
    with transaction.atomic():
        outcome = perform(execution(write_and_tell))
        assert (outcome.state, effects()) == ("succeeded", ["effect"])
        transaction.set_rollback(True)
    assert effects() == []


def test_inside_a_transaction_of_the_caller_a_failed_tool_undoes_its_own_part_only() -> None:
    def crash() -> None:
        write()
        raise ValueError("too late")

    with transaction.atomic():
        write("before")
        outcome = perform(execution(crash))
        write("after")
    assert (outcome.state, effects()) == ("failed", ["after", "before"])
