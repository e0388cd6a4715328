"""The database goes away for a moment: the segment stops, a sweep goes on, nothing is lost and nothing repeated."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import Error, connection

from llm_foundation import llm
from llm_foundation.exceptions import AlreadyDecided
from llm_foundation.models import Decision, Run
from llm_foundation.runs.recovery import recover
from tests.practice import Desk, calls, desk, person, text
from tests.runs.boundaries import acting_at, at_each_boundary, connect_anew
from tests.runs.meeting import elsewhere
from tests.runs.outside_world import World
from tests.runs.passing_time import go_on, go_on_until_it_rests, lease_runs_out
from tests.runs.soundness import assert_sound
from tests.runs.transactional_practice import run_sql
from tests.scripted_server import Wire
from tests.tasks.workers import DUMMY, handing_to

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has no connection that could be lost"),
]


@pytest.fixture(autouse=True)
def connected_in_the_end(transactional_db: None) -> Iterator[None]:
    yield
    connect_anew()


def losing_this_connection() -> Callable[[], object]:
    """What ends this thread's connection, as a restart of the server would; from any thread."""
    is_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {'pg_backend_pid()' if is_postgresql else 'connection_id()'}")
        (session,) = cursor.fetchone()
    kill = f"SELECT pg_terminate_backend({session}, 10000)" if is_postgresql else f"KILL {session}"
    return lambda: elsewhere(lambda: run_sql(kill))


def lose_connection(*_: object) -> None:
    losing_this_connection()()


class Scene(NamedTuple):
    here: Desk
    world: World
    resolver: User

    def begin(self) -> Run:
        return llm.run("support", "Do it", user=self.here.clerk, mode="queue")

    def loses_the_database(self, run: Run) -> Run:
        """The segment stops with what the database says, and the run looks as if it were still at work."""
        with pytest.raises(Error):
            go_on(run)
        connect_anew()
        run.refresh_from_db()
        assert run.status == "running"
        return run

    def ends_well(self, run: Run) -> None:
        self.world.meanwhile = lambda: None
        run = self.world.bring_to_its_end(run, resolver=self.resolver)
        assert (run.status, run.answer) == ("completed", "Done.")
        assert self.world.done(run) == {"book": 1, "send": 1, "charge": 1}


@contextmanager
def scene() -> Iterator[Scene]:
    with desk() as here, handing_to(DUMMY):
        world = World()
        here.grant(*world.tools)
        here.model.always_says(world.everything(), calls("look"), text("Done."))
        yield Scene(here, world, person("resolver", "resolve_toolcall"))


# --- A segment --------------------------------------------------------------------------------------------------------
def test_between_any_two_steps() -> None:
    """Among them: between a fence and the transaction of its call."""
    with scene() as on:
        states = []
        for run in at_each_boundary(on.begin, lose_connection):
            states.append(run.status)
            on.ends_well(run)
    assert states[:2] == ["queued", "running"]
    assert set(states[1:-1]) == {"running"}


def test_during_a_model_call() -> None:
    with scene() as on:
        run = on.begin()
        lose = losing_this_connection()

        def answer(wire: Wire) -> Any:
            lose()
            return on.world.everything()

        on.here.model.always_says(answer)
        run = on.loses_the_database(run)
        assert run.calls.count() == 0
        on.here.model.always_says(on.world.everything(), calls("look"), text("Done."))
        on.ends_well(run)


@pytest.mark.parametrize("name", ["book", "send", "charge"])
def test_inside_a_write_after_its_effect(name: str) -> None:
    with scene() as on:
        run = on.begin()

        def meanwhile() -> None:
            if Run.objects.get().calls.get(state="executing").tool_name == name:
                lose_connection()

        on.world.meanwhile = meanwhile
        run = on.loses_the_database(run)
        assert run.calls.get(tool_name=name).state == "executing"
        assert on.world.done(run)[name] == (name != "book")
        on.ends_well(run)


def test_a_write_that_cannot_be_repeated_is_put_before_a_person() -> None:
    with scene() as on:
        run = on.begin()
        on.world.meanwhile = lambda: on.world.sent and lose_connection()
        run = on.loses_the_database(run)
        on.world.meanwhile = lambda: None
        lease_runs_out(run)
        recover()
        run = go_on_until_it_rests(run)
        assert (run.status, run.calls.get(tool_name="send").state) == ("in_doubt", "in_doubt")
        on.ends_well(run)


def test_again_and_again() -> None:
    with scene() as on:
        run = on.begin()
        on.world.meanwhile = lose_connection
        for _ in range(3):
            run = on.loses_the_database(run)
            lease_runs_out(run)
            recover()
        on.ends_well(run)


# --- Others -----------------------------------------------------------------------------------------------------------
def test_a_sweep_that_loses_the_database_anywhere_is_made_good_by_the_next_one() -> None:
    with scene() as on:
        number, is_passed = 0, True
        while is_passed:
            number += 1
            run = on.begin()
            with pytest.raises(SystemExit), acting_at(6, die):
                go_on(run)
            lease_runs_out(run)
            with acting_at(number, lose_connection) as boundary, suppress(Error):
                recover()
            is_passed = boundary.is_passed
            connect_anew()
            on.ends_well(run)
        assert number > 2


def die() -> None:
    raise SystemExit


def test_a_decision_that_loses_the_database_anywhere_was_taken_or_was_not() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        here.model.always_says(calls("refund_order", number="1", amount="5"), text("Done."))
        number, is_passed = 0, True
        while is_passed:
            number += 1
            run = llm.run("support", "Refund order 1", user=here.clerk)
            call = run.pending_calls.get()
            with acting_at(number, lose_connection) as boundary, suppress(Error):
                llm.deny(call, by=here.approver, digest=call.digest)
            is_passed = boundary.is_passed
            connect_anew()
            with suppress(AlreadyDecided):
                llm.deny(call, by=here.approver, digest=call.digest)
            run = go_on_until_it_rests(run)
            assert (run.status, Decision.objects.filter(call=call).count()) == ("completed", 1)
            assert_sound(run)
        assert number > 1


def test_a_starter_that_loses_the_database_leaves_a_run_that_goes_on_or_none() -> None:
    with desk() as here, handing_to(DUMMY):
        number, is_passed = 0, True
        while is_passed:
            number += 1
            here.model.always_says(text("Hello."))
            Run.objects.all().delete()
            with acting_at(number, lose_connection) as boundary, suppress(Error):
                llm.run("support", "Hello", user=here.clerk)
            is_passed = boundary.is_passed
            connect_anew()
            for run in Run.objects.all():
                lease_runs_out(run)
                recover()
                assert go_on_until_it_rests(run).answer == "Hello."
                assert_sound(run)
        assert number > 2
