"""What was encrypted with a key that is gone: it stops its own run, and no other, and it stays where it is."""

from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from llm_foundation import llm
from llm_foundation.encryption import encrypt, new_key
from llm_foundation.exceptions import DecryptionFailed
from llm_foundation.models import Run, RunMessage, RunToolCall
from llm_foundation.runs import store
from llm_foundation.runs.recovery import Recovered, recover
from tests.practice import Desk, calls, desk, person, text, turn
from tests.runs.passing_time import go_on, go_on_until_it_rests, lease_runs_out, message_is_lost
from tests.runs.soundness import assert_rows_fit
from tests.tasks.workers import DUMMY, IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

REFUND = ("refund_order", {"number": "1", "amount": "5"})


def other_keys() -> AbstractContextManager[None]:
    """The ring was rotated, and the old key thrown away too early."""
    return override_settings(LLM_FOUNDATION={**settings.LLM_FOUNDATION, "ENCRYPTION_KEYS": [new_key()]})


def waiting(here: Desk) -> Run:
    here.model.says(turn(("find_order", {"number": "1"}), REFUND))
    return llm.run("support", "Refund order 1", user=here.clerk)


def tokens(run: Run) -> dict[str, Any]:
    """What stands encrypted in the rows of a run."""
    messages = run.messages.order_by("sequence").values_list("payload_sealed", flat=True)
    sealed = run.calls.order_by("turn", "index").values_list("arguments_sealed", "preview_sealed", "result_sealed")
    return {"messages": list(messages), "calls": list(sealed)}


def assert_stopped(run: Run) -> None:
    run.refresh_from_db()
    assert (run.status, run.termination_reason) == ("failed", "unreadable")
    assert "No key of the ring opens what is stored at" in run.error
    assert not run.calls.filter(state__in=("proposed", "pending", "ready", "executing")).exists()
    assert_rows_fit(run)


# --- Its own run ------------------------------------------------------------------------------------------------------
def test_a_run_that_is_resumed_without_its_key_ends_and_says_why() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        before = tokens(run)
        with other_keys():
            go_on(run)
            assert here.model.asked == []
            assert_stopped(run)
        assert tokens(run) == before
        assert run.transcript[0].text == "Hello"


def test_a_run_that_waited_keeps_what_it_held() -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        run = waiting(here)
        before = tokens(run)
        call = run.pending_calls.get()
        with other_keys():
            llm.deny(call, by=here.approver, digest=call.digest)
            go_on(run)
            assert_stopped(run)

    now = tokens(run)
    assert now["messages"][:2] == before["messages"]
    assert now["calls"][0] == before["calls"][0]
    assert now["calls"][1][:2] == before["calls"][1][:2]


def test_with_its_key_back_it_can_be_read_and_gone_on_with() -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        with other_keys():
            go_on(run)
        here.model.says(text("Hello again."))
        later = llm.run("support", "Are you there?", user=here.clerk, continues=run)
    assert later.status == "completed"
    assert [one.text for one in later.transcript] == ["Hello", "Are you there?", "Hello again."]


@pytest.mark.parametrize("column", ["arguments_sealed", "result_sealed"])
def test_one_column_of_one_call_is_enough(column: str) -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        run = waiting(here)
        RunToolCall.objects.filter(run=run, tool_name="find_order").update(**{column: "gAAAAA damaged"})
        call = run.pending_calls.get()
        llm.deny(call, by=here.approver, digest=call.digest)
        go_on(run)
        assert_stopped(run)
    assert getattr(run.calls.get(tool_name="find_order"), column) == "gAAAAA damaged"


@pytest.mark.parametrize("outcome", ["happened", "give_up"])
def test_a_doubt_about_a_call_whose_changed_arguments_nobody_can_read_is_settled_all_the_same(outcome: Any) -> None:
    with desk("send_message") as here:
        here.model.says(calls("send_message", to="Ada"))
        call = llm.run("support", "Write to Ada", user=here.clerk).pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"to": "crash"})
        RunToolCall.objects.update(edited_sealed="gAAAAA damaged")
        run = llm.resolve(call, by=person("resolver", "resolve_toolcall"), outcome=outcome)
    assert_stopped(run)
    call.refresh_from_db()
    assert call.state == {"happened": "succeeded", "give_up": "failed"}[outcome]


def test_one_message_of_an_earlier_run_is_enough() -> None:
    with desk() as here, handing_to(DUMMY):
        here.model.says(text("Hello."))
        first = llm.run("support", "Hello", user=here.clerk)
        second = llm.run("support", "And?", user=here.clerk, continues=first, mode="queue")
        RunMessage.objects.filter(run=first, sequence=1).update(payload_sealed="gAAAAA damaged")
        go_on(second)
        assert_stopped(second)
    first.refresh_from_db()
    assert first.status == "completed"


def test_a_run_that_cannot_be_read_is_not_gone_on_with_and_nothing_is_stored() -> None:
    with desk() as here:
        here.model.says(text("Hello."))
        first = llm.run("support", "Hello", user=here.clerk)
        with other_keys(), pytest.raises(DecryptionFailed):
            llm.run("support", "And?", user=here.clerk, continues=first)
    assert Run.objects.get() == first


def test_a_token_of_another_row_is_not_read_either() -> None:
    with desk() as here, handing_to(DUMMY):
        mine = llm.run("support", "Hello", user=here.clerk, mode="queue")
        yours = llm.run("support", "Give me everything", user=here.approver, mode="queue")
        foreign = yours.messages.get().payload_sealed
        RunMessage.objects.filter(run=mine).update(payload_sealed=foreign)
        go_on(mine)
        assert_stopped(mine)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [({"role": "wizard", "content": "x"}, "InvalidMessage"), (["no", "message"], "InvalidMessage")],
)
def test_what_can_be_opened_and_is_no_message_ends_its_run_as_well(payload: Any, reason: str) -> None:
    with desk() as here, handing_to(DUMMY):
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        row = run.messages.get()
        row.payload = payload
        row.save()
        run = go_on(run)
    assert (run.status, run.termination_reason) == ("failed", reason)
    assert_rows_fit(run)


def test_what_is_no_json_or_was_deleted_ends_its_run_as_well() -> None:
    with desk() as here, handing_to(DUMMY):
        odd, empty = (llm.run("support", "Hello", user=here.clerk, mode="queue") for _ in range(2))
        row = odd.messages.get()
        token = encrypt("{", context=RunMessage.payload.place(row))
        odd.messages.update(payload_sealed=token)
        empty.messages.all().delete()
        for run in (odd, empty):
            run = go_on(run)
            assert (run.status, bool(run.termination_reason), bool(run.error)) == ("failed", True, True)


# --- No other ---------------------------------------------------------------------------------------------------------
def test_runs_that_began_with_the_new_key_go_on_beside_it() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.always_says(text("Hello."))
        with handing_to(DUMMY):
            old = llm.run("support", "Hello", user=here.clerk, mode="queue")
        with other_keys():
            with handing_to(DUMMY):
                new = llm.run("support", "Hello", user=here.clerk, mode="queue")
            for run in (old, new):
                message_is_lost(run)
            assert recover() == Recovered(handed_out=2)
            assert_stopped(old)
            new.refresh_from_db()
            assert (new.status, new.answer) == ("completed", "Hello.")


def test_a_sweep_takes_all_of_them_over() -> None:
    with desk() as here, handing_to(DUMMY):
        old = llm.run("support", "Hello", user=here.clerk, mode="queue")
        with other_keys():
            new = llm.run("support", "Hello", user=here.clerk, mode="queue")
            for run in (old, new):
                store.claim(run.pk, owner="worker", seconds=60)
                lease_runs_out(run)
            assert recover() == Recovered(taken_over=2)
            here.model.always_says(text("Hello."))
            go_on(old)
            assert go_on(new).status == "completed"
            assert_stopped(old)


def test_a_sweep_ends_a_run_that_nobody_can_read_where_it_has_to() -> None:
    """It was to be cancelled when its process died in a call."""
    with desk("find_order", "refund_order") as here, handing_to(DUMMY):
        run = waiting(here)
        Run.objects.update(status="running", lease_token=7)
        llm.cancel(run, by=here.clerk)
        lease_runs_out(run)
        with other_keys():
            Run.objects.update(lease_expires_at="2000-01-01T00:00:00Z")
            assert recover() == Recovered(taken_over=1)
    run.refresh_from_db()
    assert (run.status, run.calls.get(tool_name="refund_order").state) == ("cancelled", "cancelled")
    assert_rows_fit(run)


# --- What people can still do -----------------------------------------------------------------------------------------
def test_it_can_be_cancelled() -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        run = waiting(here)
        with other_keys():
            run = llm.cancel(run, by=here.clerk)
    assert (run.status, run.calls.get(tool_name="refund_order").state) == ("cancelled", "cancelled")
    assert_rows_fit(run)


def test_nobody_releases_what_nobody_can_read() -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        run = waiting(here)
        call = run.pending_calls.get()
        with other_keys(), pytest.raises(DecryptionFailed):
            llm.approve(call, by=here.approver, digest=call.digest)
        assert run.pending_calls.get() == call
        llm.approve(call, by=here.approver, digest=call.digest)
        here.model.says(text("Done."))
        assert go_on_until_it_rests(run).status == "completed"


def test_a_doubt_can_be_resolved_without_being_read() -> None:
    with desk("send_message") as here, handing_to(DUMMY):
        here.model.says(calls("send_message", to="crash"), text("Done."))
        call = llm.run("support", "Write", user=here.clerk).pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)
        run = go_on(call.run)
        assert run.status == "in_doubt"
        with other_keys():
            llm.resolve(call, by=person("resolver", "resolve_toolcall"), outcome="give_up")
            go_on(run)
            assert_stopped(run)


def test_a_list_of_runs_and_calls_is_still_a_list() -> None:
    with desk("refund_order", "find_order") as here, handing_to(DUMMY):
        run = waiting(here)
        with other_keys():
            assert [str(one) for one in Run.objects.all()] == [str(run.pk)]
            assert len([str(one) for one in RunToolCall.objects.all()]) == 2
            assert len([str(one) for one in run.messages.all()]) == 2
