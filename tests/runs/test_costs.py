"""What a stored run costs the database: as much after a long conversation as after a short one."""

from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from benchmarks.durable_counts import Counted, counts_of
from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.tools import DataClass, Effect, tool
from tests.practice import Desk, calls, desk, text

pytestmark = pytest.mark.django_db(transaction=True)

LENGTHS = (10, 100, 1000)


@pytest.fixture
def here() -> Iterator[Desk]:
    with desk("find_order") as here:

        @tool(effect=Effect.NON_IDEMPOTENT_WRITE, data_class=DataClass.INTERNAL, approval=False)
        def send_order(number: str) -> str:
            """Send one order by its number."""
            return "sent"

        here.grant(send_order)
        cost(here, "find_order")
        cost(here, "send_order")  # what is made once for a process is made by now
        yield here


def cost(here: Desk, name: str, *, after: Run | None = None) -> Counted:
    """Of a run of two steps: the model calls this tool, then answers."""
    here.model.says(calls(name, number="1138"), text("It is on its way."))
    counted = counts_of(lambda: llm.run("support", "Where is order 1138?", user=here.clerk, continues=after))
    run = Run.objects.latest("created_at")
    assert (run.status, run.rounds, run.calls.get().state) == ("completed", 2, "succeeded")
    return counted


def ended(here: Desk, *, length: int) -> Run:
    """A run whose transcript has so many messages."""
    said = [{"role": ("user", "assistant")[place % 2], "content": "And then?"} for place in range(length - 1)]
    here.model.says(text("That is all."))
    run = llm.run("support", said, user=here.clerk)
    assert len(run.transcript) == length
    return run


def test_a_run_with_a_tool_that_only_reads_commits_four_times_at_most(here: Desk) -> None:
    assert cost(here, "find_order").commits <= 4


def test_a_run_with_a_write_that_cannot_be_repeated_commits_six_times_at_most(here: Desk) -> None:
    assert cost(here, "send_order").commits <= 6


def test_each_commit_buys_something(here: Desk) -> None:
    """The start; the answer, with its call and the mark that it begins; the result of a write; the end."""
    assert (cost(here, "find_order").commits, cost(here, "send_order").commits) == (3, 4)


@pytest.mark.parametrize("name", ["find_order", "send_order"])
def test_a_run_costs_no_more_after_a_long_conversation_than_after_a_short_one(here: Desk, name: str) -> None:
    short, *longer = (cost(here, name, after=ended(here, length=length)) for length in LENGTHS)
    assert longer == [short, short]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="others take one statement at a time")
@pytest.mark.parametrize(("name", "waits"), [("find_order", 7), ("send_order", 8)])
def test_postgresql_is_waited_for_once_to_read_and_once_to_write_in_each_step(
    here: Desk, name: str, waits: int
) -> None:
    """Before the start for the configuration, and then for its tools. Besides, each transaction begins and ends."""
    assert cost(here, name).round_trips == waits


def test_each_message_of_a_long_conversation_is_opened_once(here: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, opened, decrypt = ended(here, length=10), list[Any](), Fernet.decrypt

    def noted(fernet: Fernet, token: Any) -> bytes:
        opened.append(token)
        return decrypt(fernet, token)

    monkeypatch.setattr(Fernet, "decrypt", noted)
    cost(here, "find_order", after=earlier)
    assert [opened.count(row.payload_sealed) for row in earlier.messages.all()] == [1] * 10


def test_a_run_costs_no_more_after_many_runs_than_after_two(here: Desk) -> None:
    earlier = ended(here, length=10)
    costs = []
    for _ in range(6):
        costs.append(cost(here, "find_order", after=earlier))
        earlier = Run.objects.latest("created_at")
    assert costs[2:] == costs[1:2] * 4
