"""A preview is made again when somebody approves, and before the attempt: nobody has approved what it says by then."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import OperationalError, connection

from llm_foundation import llm
from llm_foundation.exceptions import DecisionNotPermitted, StaleDigest
from llm_foundation.models import Decision, Run, RunToolCall
from llm_foundation.tools import DataClass, Effect, Tool, tool
from tests.practice import Desk, calls, desk, text
from tests.runs.meeting import elsewhere
from tests.runs.passing_time import go_on, go_on_until_it_rests
from tests.runs.soundness import assert_sound
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

WRITES = [effect for effect in Effect if effect.writes]


class Shelf:
    """What the tool changes and its preview shows: how many things there are to throw away."""

    def __init__(self, effect: Effect, *, approval: bool = True) -> None:
        self.effect = effect
        self.approval = approval
        self.thrown: list[int] = []
        self.previews = 0
        self.fails: Callable[[], bool] = lambda: False

    @property
    def things(self) -> int:
        return Group.objects.filter(name__startswith="thing").count()

    def put(self) -> None:
        Group.objects.create(name=f"thing {self.things}")

    def tool(self, *, has_preview: bool = True) -> Tool:
        """The tool as the project's code has it from now on."""

        def preview(where: str) -> str:
            self.previews += 1
            if self.fails():
                raise RuntimeError("password=hunter2")
            return f"Throw {self.things} away"

        @tool(
            effect=self.effect,
            data_class=DataClass.PUBLIC,
            permission="auth.change_group",
            approval=self.approval,
            preview=preview if has_preview else None,
        )
        def throw_away(where: str) -> str:
            self.thrown.append(self.things)
            return f"{self.thrown[-1]} thrown away"

        return throw_away


@contextmanager
def shelf(effect: Effect = Effect.TRANSACTIONAL_WRITE, **declared: Any) -> Iterator[tuple[Desk, Shelf]]:
    """One thing stands on it. Nobody goes on with a run by themselves."""
    with desk() as here, handing_to(DUMMY):
        stored = Shelf(effect, **declared)
        here.grant(stored.tool())
        stored.put()
        here.model.always_says(calls("throw_away", where="here"), text("Done."))
        yield here, stored


def waiting_call(here: Desk) -> RunToolCall:
    return llm.run("support", "Tidy up", user=here.clerk).pending_calls.get()


def approved_call(here: Desk) -> RunToolCall:
    call = waiting_call(here)
    llm.approve(call, by=here.approver, digest=call.digest)
    return call


def voided(run: Run) -> list[str]:
    """Why releases did not count, as the timeline says."""
    entries = run.events.filter(kind="call.pending").order_by("sequence").values_list("payload", flat=True)
    return [payload["voided"] for payload in entries if "voided" in payload]


# --- On approval ------------------------------------------------------------------------------------------------------
def test_who_approves_what_has_changed_since_is_shown_the_new_preview_and_decides_on_that() -> None:
    with shelf() as (here, stored):
        call = waiting_call(here)
        stored.put()
        with pytest.raises(StaleDigest, match="What this call would do has changed since it was shown"):
            llm.approve(call, by=here.approver, digest=call.digest)
        assert not Decision.objects.exists()
        assert voided(call.run) == ["preview"]

        shown = Run.objects.get().pending_calls.get()
        assert shown.preview == {"lines": ["Throw 2 away"], "failed": False}
        assert shown.digest != call.digest
        run = llm.approve(shown, by=here.approver, digest=shown.digest)
        assert go_on_until_it_rests(run).status == "completed"
    assert stored.thrown == [2]


def test_a_preview_that_cannot_be_made_now_leaves_the_call_as_it_was_shown(caplog: pytest.LogCaptureFixture) -> None:
    with shelf() as (here, stored):
        call = waiting_call(here)
        stored.fails = lambda: True
        with pytest.raises(DecisionNotPermitted, match="cannot be made now") as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
        assert caught.value.rule == "preview"
        assert "hunter2" not in str(caught.value)

        stored.fails = lambda: False
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "queued"
    assert "The preview of tool throw_away failed" in caplog.text


def test_a_call_whose_preview_failed_when_it_was_shown_can_only_be_denied() -> None:
    with shelf() as (here, stored):
        stored.fails = lambda: True
        call = waiting_call(here)
        stored.fails = lambda: False
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
        assert caught.value.rule == "preview"
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "queued"


def test_denying_asks_for_no_preview() -> None:
    with shelf() as (here, stored):
        call = waiting_call(here)
        stored.put()
        llm.deny(call, by=here.approver, digest=call.digest)
    assert stored.previews == 1


def test_whoever_may_not_release_the_call_has_no_preview_made_by_trying() -> None:
    with shelf() as (here, stored):
        call = waiting_call(here)
        with pytest.raises(DecisionNotPermitted):
            llm.approve(call, by=here.clerk, digest=call.digest)
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest="another")
    assert stored.previews == 1


def test_no_preview_is_made_with_rights_that_the_owner_has_lost() -> None:
    with shelf() as (here, stored):
        call = waiting_call(here)
        User.objects.filter(pk=here.clerk.pk).update(is_active=False)
        run = go_on_until_it_rests(llm.approve(call, by=here.approver, digest=call.digest))
    assert (stored.previews, stored.thrown) == (1, [])
    assert run.calls.get().state == "refused"


# --- Before the attempt -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("effect", Effect)
def test_what_has_changed_after_the_approval_is_not_executed_but_put_before_people_again(effect: Effect) -> None:
    with shelf(effect) as (here, stored):
        call = approved_call(here)
        stored.put()
        run = go_on(call.run)

        assert (run.status, stored.thrown) == ("waiting_for_approval", [])
        shown = run.pending_calls.get()
        assert shown.preview == {"lines": ["Throw 2 away"], "failed": False}
        assert (shown.reason, shown.attempt, shown.digest != call.digest) == ("preview_changed", 0, True)
        assert voided(run) == ["preview"]
        assert_sound(run)

        llm.approve(shown, by=here.approver, digest=shown.digest)
        run = go_on_until_it_rests(run)
    assert (run.status, stored.thrown) == ("completed", [2])
    assert_sound(run)


@pytest.mark.parametrize("effect", Effect)
def test_what_has_not_changed_is_executed(effect: Effect) -> None:
    with shelf(effect) as (here, stored):
        assert go_on_until_it_rests(approved_call(here).run).status == "completed"
    assert (stored.thrown, stored.previews) == ([1], 3)


@pytest.mark.parametrize("effect", WRITES)
def test_a_preview_that_fails_before_the_attempt_leaves_a_call_that_can_only_be_denied(effect: Effect) -> None:
    with shelf(effect) as (here, stored):
        call = approved_call(here)
        stored.fails = lambda: True
        run = go_on(call.run)
        shown = run.pending_calls.get()
        assert (run.status, shown.preview["failed"], stored.thrown) == ("waiting_for_approval", True, [])
        with pytest.raises(DecisionNotPermitted):
            llm.approve(shown, by=here.approver, digest=shown.digest)


@contextmanager
def as_the_effect_begins(act: Callable[[], object]) -> Iterator[None]:
    """Others act when the fence is committed, and before the effect's own transaction begins."""
    acts, fences, begin = [act], list[str](), connection.set_autocommit

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        fences.extend(re.findall("UPDATE.*.deadline_at. = ", sql))
        return execute(sql, params, many, context)

    def begin_later(autocommit: bool, **how: bool) -> None:
        if not autocommit and fences and acts:
            elsewhere(acts.pop())
        begin(autocommit, **how)

    connection.set_autocommit = begin_later  # type: ignore[method-assign, assignment]
    try:
        with connection.execute_wrapper(watch):
            yield
    finally:
        del connection.set_autocommit
    assert not acts, "No effect has begun."


def test_a_transactional_call_is_previewed_in_the_transaction_of_its_effect() -> None:
    with shelf() as (here, stored):
        call = approved_call(here)
        with as_the_effect_begins(stored.put):
            run = go_on(call.run)

        assert (run.status, stored.thrown) == ("waiting_for_approval", [])
        shown = run.pending_calls.get()
        assert (shown.preview["lines"], shown.attempt) == (["Throw 2 away"], 0)
        assert [event.kind for event in run.events.order_by("-sequence")[:3]] == [
            "run.waiting",
            "call.pending",
            "call.executing",
        ]
        assert_sound(run)


def test_a_preview_before_the_attempt_undoes_what_it_tries() -> None:
    with shelf() as (here, stored):
        call = approved_call(here)
        stored.fails = lambda: bool(Group.objects.create(name="tried")) and False
        assert go_on_until_it_rests(call.run).status == "completed"
    assert not Group.objects.filter(name="tried").exists()
    assert stored.thrown == [1]


def test_a_preview_that_breaks_its_transaction_is_one_that_failed() -> None:
    with shelf() as (here, stored):
        call = approved_call(here)

        def commits() -> bool:
            connection.cursor().execute("COMMIT")
            return False

        stored.fails = commits
        run = go_on(call.run)
        stored.fails = lambda: False
    assert (run.status, stored.thrown) == ("waiting_for_approval", [])
    assert run.pending_calls.get().preview["failed"] is True


class SerializationFailure(OperationalError):
    sqlstate = "40001"


@pytest.mark.parametrize("effect", WRITES)
def test_a_preview_that_gave_in_to_another_transaction_is_made_again_and_the_call_executed(effect: Effect) -> None:
    with shelf(effect) as (here, stored):
        call = approved_call(here)
        errors = [SerializationFailure("could not serialize access")]

        def meets_another() -> bool:
            if errors:
                raise errors.pop()
            return False

        stored.fails = meets_another
        run = go_on_until_it_rests(call.run)
    assert (run.status, stored.thrown, errors) == ("completed", [1], [])


def test_a_call_that_nobody_had_to_release_is_executed_without_a_preview() -> None:
    with shelf(approval=False) as (here, stored):
        assert llm.run("support", "Tidy up", user=here.clerk).status == "completed"
    assert (stored.thrown, stored.previews) == ([1], 0)


def test_a_tool_that_has_a_preview_since_its_call_was_released_is_put_before_people_with_it() -> None:
    with shelf() as (here, stored):
        stored.tool(has_preview=False)
        call = approved_call(here)
        stored.tool()
        run = go_on(call.run)
        assert run.pending_calls.get().preview == {"lines": ["Throw 1 away"], "failed": False}
    assert stored.thrown == []
