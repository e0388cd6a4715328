"""Who may decide what, once, on what they saw."""

from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection, transaction
from django.utils import timezone

from llm_foundation import llm
from llm_foundation.conf import settings
from llm_foundation.exceptions import AlreadyDecided, DecisionNotPermitted, RunInsideTransaction, StaleDigest
from llm_foundation.models import Decision, Run, RunToolCall, ToolRecord
from tests.practice import Desk, calls, desk, text, turn
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def waiting_call(here: Desk, **arguments: Any) -> RunToolCall:
    here.model.says(calls("refund_order", **{"number": "1138", "amount": "19.90", **arguments}), text("Done."))
    return llm.run("support", "Refund order 1138", user=here.clerk).pending_calls.get()


def test_the_second_of_two_decisions_is_told_who_decided_and_what() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        llm.deny(call, by=here.approver, digest=call.digest)

        with pytest.raises(AlreadyDecided, match=r"approver has decided this call already \(denied") as caught:
            llm.approve(call, by=here.approver, digest=call.digest)

    assert (caught.value.decider, caught.value.verdict, caught.value.state) == ("approver", "denied", "denied")
    assert Decision.objects.count() == 1
    assert not Group.objects.exists()


def test_a_decision_on_another_digest_is_refused_and_nothing_is_written() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest=f"{call.digest[:-1]}x")
        assert call.run.pending_calls.get() == call
    assert not Decision.objects.exists()


def test_who_lacks_the_permission_decides_nothing() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        for decide in (llm.approve, llm.deny):
            with pytest.raises(DecisionNotPermitted) as caught:
                decide(call, by=here.clerk, digest=call.digest)
            assert caught.value.rule == "permission"
    assert not Decision.objects.exists()


def test_who_lacks_the_permission_learns_nothing_of_a_decided_call() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        llm.deny(call, by=here.approver, digest=call.digest)
        for nobody in (here.clerk, AnonymousUser(), None):
            with pytest.raises(DecisionNotPermitted) as caught:
                llm.approve(call, by=nobody, digest=call.digest)  # type: ignore[arg-type]
            assert "approver" not in str(caught.value)


@pytest.mark.parametrize("digest", [None, "", "\ud800", "é", 5])
def test_whatever_a_form_sends_for_a_digest_is_another_digest(digest: Any) -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest=digest)


@pytest.mark.parametrize("unknown", [None, "", "abc", 7, "9f8e7d6c-0000-4000-8000-000000000000"])
def test_what_is_no_calls_id_is_no_call(unknown: Any) -> None:
    with desk("refund_order") as here, pytest.raises(RunToolCall.DoesNotExist):
        llm.approve(unknown, by=here.approver, digest="")


def test_a_reason_of_any_characters_is_kept_and_reaches_the_model() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        run = llm.deny(call, by=here.approver, digest=call.digest, reason="No\x00 \ud83d 🙂")
        told = here.model.asked[1]["messages"][-1]["content"]
    assert told == "Error: a person denied this call; it was not executed. They said: No � 🙂"
    assert (run.status, Decision.objects.get().reason) == ("completed", "No � 🙂")


def test_a_reason_without_end_is_kept_whole_and_told_in_short() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        llm.deny(call, by=here.approver, digest=call.digest, reason="no " * 100_000)
        told = here.model.asked[-1]["messages"][-1]["content"]
    assert told.startswith("Error: a person denied this call; it was not executed. They said: no no")
    assert len(told) <= settings.MAX_RESULT_CHARACTERS
    assert len(call.decisions.get().reason) == 300_000


def test_the_facts_are_loaded_once_where_there_is_no_preview_to_make(django_assert_max_num_queries: Any) -> None:
    with desk("send_message") as here, handing_to(DUMMY):
        here.model.says(calls("send_message", to="Ada"))
        call = llm.run("support", "Write to Ada", user=here.clerk).pending_calls.get()
        with django_assert_max_num_queries(21):
            llm.approve(call, by=User.objects.get(pk=here.approver.pk), digest=call.digest)


def test_a_channel_may_have_any_name() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        run = llm.approve(call, by=here.approver, digest=call.digest, channel="the telephone\0 of the night shift")
    assert (run.status, call.decisions.get().channel) == ("completed", "the telephone of")


def test_a_decision_that_somebody_deleted_keeps_nobody_from_deciding() -> None:
    with desk("refund_order") as here:
        here.configuration.approval_policy = "four_eyes"
        here.configuration.save()
        call = waiting_call(here)
        for amount in ("9", "8"):
            llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": "1138", "amount": amount})
            call.refresh_from_db()
        call.decisions.get(number=1).delete()
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "completed"
    assert list(call.decisions.order_by("number").values_list("number", flat=True)) == [2, 3]


def test_who_may_not_use_the_tool_may_deny_its_calls_but_not_release_them() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        here.approver.user_permissions.remove(*here.approver.user_permissions.filter(codename="change_group"))
        approver = User.objects.get(pk=here.approver.pk)

        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=approver, digest=call.digest)
        assert caught.value.rule == "gate:not_permitted"

        assert llm.deny(call, by=approver, digest=call.digest).status == "completed"


def test_arguments_changed_in_the_database_make_the_shown_digest_worthless() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        forged = call.written_call
        forged["function"]["arguments"]["amount"] = "9000"
        RunToolCall.objects.filter(pk=call.pk).update(arguments_sealed=RunToolCall.written_call.seal(call, forged))

        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest=call.digest)
    assert not Group.objects.exists()


def test_a_state_set_in_the_database_releases_nothing() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        RunToolCall.objects.filter(pk=call.pk).update(state="ready")
        Run.objects.filter(pk=call.run_id).update(status="queued")

        run = go_on(call)

        assert run.status == "waiting_for_approval"
        assert run.pending_calls.get() == call
    assert not Group.objects.exists()


def test_a_forged_decision_releases_nothing() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        Decision.objects.create(
            call=call,
            verdict="approved",
            decider=here.approver,
            channel="code",
            digest=call.digest,
            decided_at=timezone.now(),
            seal="00000000." + "0" * 64,
        )
        RunToolCall.objects.filter(pk=call.pk).update(state="ready")
        Run.objects.filter(pk=call.run_id).update(status="queued")

        assert go_on(call).status == "waiting_for_approval"
    assert not Group.objects.exists()


def test_a_tool_switched_off_while_its_call_waited_is_refused_when_it_is_approved() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        ToolRecord.objects.update(enabled=False)
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
    assert caught.value.rule == "gate:disabled"


def test_an_owner_deactivated_while_the_call_waited_has_no_call_executed() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        User.objects.filter(pk=here.clerk.pk).update(is_active=False)

        run = llm.approve(call, by=here.approver, digest=call.digest)

    call.refresh_from_db()
    assert (call.state, call.reason, run.status) == ("refused", "not_permitted", "completed")
    assert not Group.objects.exists()


def test_inside_a_transaction_no_decision_is_taken_and_no_run_is_started() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        with transaction.atomic():
            with pytest.raises(RunInsideTransaction):
                llm.approve(call, by=here.approver, digest=call.digest)
            with pytest.raises(RunInsideTransaction):
                llm.run("support", "Hello", user=here.clerk)
    assert Run.objects.count() == 1


def test_of_many_decisions_at_once_exactly_one_counts() -> None:
    with desk("refund_order") as here:
        call = waiting_call(here)
        outcomes = at_once(8, lambda: llm.approve(call, by=here.approver, digest=call.digest))

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyDecided"] * 7 + ["Run"]
    assert Decision.objects.count() == 1
    assert Group.objects.get().name == "refund 1138 19.90"
    assert Run.objects.get().status == "completed"


def go_on(call: RunToolCall) -> Run:
    """Resume the run as whoever is free would."""
    from llm_foundation.runs.tasks import enqueue

    enqueue(call.run_id)
    return Run.objects.get(pk=call.run_id)


def at_once(number: int, act: Any) -> list[Any]:
    """Do it in that many threads at the same moment; what is raised counts as an outcome."""
    start, outcomes = Barrier(number), []

    def one() -> None:
        start.wait()
        try:
            outcomes.append(act())
        except Exception as error:  # noqa: BLE001
            outcomes.append(error)
        finally:
            connection.close()

    threads = [Thread(target=one) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_two_calls_of_one_turn_are_decided_apart_and_the_run_ends_after_the_second() -> None:
    with desk("refund_order") as here:
        here.model.says(
            turn(("refund_order", {"number": "1", "amount": "5"}), ("refund_order", {"number": "2", "amount": "7"})),
            text("One of them."),
        )
        run = llm.run("support", "Refund both", user=here.clerk)
        first, second = run.pending_calls

        run = llm.approve(first, by=here.approver, digest=first.digest)
        assert (run.status, run.pending_calls.get()) == ("waiting_for_approval", second)
        assert Group.objects.get().name == "refund 1 5"

        run = llm.deny(second, by=here.approver, digest=second.digest)
        results = [message["content"] for message in here.model.asked[1]["messages"] if message["role"] == "tool"]

    assert run.status == "completed"
    assert results == ["refunded 5", "Error: a person denied this call; it was not executed."]


def test_a_sibling_of_a_call_in_doubt_can_still_be_decided_and_the_run_stays_in_doubt() -> None:
    with desk("refund_order", "send_message") as here:
        here.model.says(turn(("send_message", {"to": "crash"}), ("refund_order", {"number": "1", "amount": "5"})))
        run = llm.run("support", "Write and refund", user=here.clerk)
        message, refund = run.pending_calls
        assert llm.approve(message, by=here.approver, digest=message.digest).status == "in_doubt"

        run = llm.approve(refund, by=here.approver, digest=refund.digest)

    assert run.status == "in_doubt"
    assert [call.state for call in run.calls.order_by("index")] == ["in_doubt", "succeeded"]
    assert Group.objects.get().name == "refund 1 5"


def test_two_siblings_approved_at_the_same_moment_both_run_and_the_run_does_not_stay_waiting() -> None:
    with desk("refund_order") as here:
        here.model.says(
            turn(("refund_order", {"number": "1", "amount": "5"}), ("refund_order", {"number": "2", "amount": "7"})),
            text("Both."),
        )
        run = llm.run("support", "Refund both", user=here.clerk)
        waiting = list(run.pending_calls)
        at_once(2, lambda: (call := waiting.pop()) and llm.approve(call, by=here.approver, digest=call.digest))

    run.refresh_from_db()
    assert (run.status, run.answer) == ("completed", "Both.")
    assert sorted(Group.objects.values_list("name", flat=True)) == ["refund 1 5", "refund 2 7"]
