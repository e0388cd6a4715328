"""What an attacker tries with changed arguments and inputs: each attempt fails, and leaves what it should."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from llm_foundation import llm
from llm_foundation.exceptions import (
    AlreadyDecided,
    DecisionExpired,
    DecisionNotPermitted,
    InvalidEdit,
    InvalidInput,
    StaleDigest,
)
from llm_foundation.models import Configuration, Decision, Run, RunToolCall
from llm_foundation.runs.decisions import obstacle
from llm_foundation.tools.inputs import MAX_CHARACTERS
from tests.practice import person
from tests.runs.counter import Counter, counter, run_of, stored, verdicts
from tests.runs.meeting import at_once, kinds
from tests.runs.passing_time import go_on, nobody_decides_in_time

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"number": "1138", "amount": "19.90"}
LESS = {"number": "1138", "amount": "9.90"}
PIN = {"pin": "4711"}

HIDDEN = "a\u202eb\u200bc\u2066d\x00e\r\n\u00e9 e\u0301 \ufb01 "


def forged(call: RunToolCall, **columns: Any) -> RunToolCall:
    """Somebody with the database changes the call's row."""
    RunToolCall.objects.filter(pk=call.pk).update(**columns)
    return stored(call)


def while_a_segment_is_at_it(call: RunToolCall) -> None:
    """Whoever decides now only writes it down: the segment that holds the run has not looked yet."""
    Run.objects.filter(pk=call.run_id).update(status="running")


def the_segment_looks(call: RunToolCall) -> Run:
    Run.objects.filter(pk=call.run_id).update(status="queued")
    return go_on(run_of(call))


def released_in_the_database(call: RunToolCall) -> Run:
    """Somebody with the database sends the call on its way, and a worker takes the run."""
    RunToolCall.objects.filter(pk=call.pk).update(state="ready")
    Run.objects.filter(pk=call.run_id).update(status="queued")
    return go_on(run_of(call))


# --- Twice, and at once -----------------------------------------------------------------------------------------------
def test_the_same_change_posted_twice_counts_once() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        approve = lambda: llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)  # noqa: E731
        assert kinds(at_once([approve] * 4)) == ["AlreadyDecided"] * 3 + ["Run"]
    assert Group.objects.get().name == "refund 1138 9.90"
    assert verdicts(call) == ["approved"]


def test_two_people_with_different_changes_at_once_do_not_mix() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        changes = [(here.approver, LESS), (here.second, {"number": "7", "amount": "1"})] * 2
        outcomes = at_once(
            [
                lambda by=by, arguments=arguments: llm.approve(call, by=by, digest=call.digest, arguments=arguments)
                for by, arguments in changes
            ]
        )
    assert kinds(outcomes) == ["AlreadyDecided"] * 3 + ["Run"]
    decided = stored(call)
    assert {"1138": here.approver, "7": here.second}[decided.edited["number"]] == decided.editor
    assert Group.objects.get().name == f"refund {decided.edited['number']} {decided.edited['amount']}"
    assert call.decisions.get().edited == decided.edited


def test_under_four_eyes_the_slower_of_two_changes_is_told_to_look_again() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        call = here.waiting("refund_order", **ASKED)
        outcomes = at_once(
            [
                lambda by=by, amount=amount: llm.approve(
                    call, by=by, digest=call.digest, arguments={**LESS, "amount": amount}
                )
                for by, amount in ((here.approver, "1"), (here.second, "2"))
            ]
        )
    assert kinds(outcomes) == ["Run", "StaleDigest"]
    assert verdicts(call) == ["edited"]
    assert not Group.objects.exists()


def test_of_many_answers_at_once_one_counts() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        outcomes = at_once([lambda: llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)] * 4)
        assert kinds(outcomes) == ["AlreadyDecided"] * 3 + ["Run"]
    assert verdicts(call) == ["answered"]


def test_an_answer_and_an_approval_at_once_leave_one_call_executed_or_one_that_waits() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        outcomes = at_once(
            [
                lambda: llm.answer(call, by=here.clerk, digest=call.digest, input={"pin": "0000"}),
                lambda: llm.approve(call, by=here.approver, digest=call.digest, input=PIN),
            ]
        )
    if verdicts(call) == ["approved"]:
        assert kinds(outcomes) == ["AlreadyDecided", "Run"]
        assert Group.objects.get().name == "paid 1138 19.90 pin 4711"
    else:
        assert (verdicts(call), kinds(outcomes)) == (["answered"], ["Run", "StaleDigest"])
        assert (run_of(call).status, stored(call).input) == ("waiting_for_approval", {"pin": "0000"})
        assert not Group.objects.exists()


# --- Too late ---------------------------------------------------------------------------------------------------------
def test_after_its_time_a_call_takes_neither_a_change_nor_an_input() -> None:
    with counter("pay_out") as here:
        Configuration.objects.update(approval_ttl=5)
        call = here.waiting("pay_out", **ASKED)
        nobody_decides_in_time(call)
        with pytest.raises(DecisionExpired):
            llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS, input=PIN)
        with pytest.raises(DecisionExpired):
            llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)
    assert (stored(call).edited, stored(call).input, verdicts(call)) == (None, None, [])


def test_after_a_cancel_neither() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        llm.cancel(call.run, by=here.clerk)
        with pytest.raises(AlreadyDecided):
            llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS, input=PIN)
        with pytest.raises(AlreadyDecided):
            llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)
    assert not Group.objects.exists()


def test_the_digest_from_before_a_change_decides_nothing() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        call = here.waiting("refund_order", **ASKED)
        llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
        for decide in (llm.approve, llm.deny):
            with pytest.raises(StaleDigest):
                decide(call, by=here.second, digest=call.digest)
        with pytest.raises(StaleDigest):  # before anybody looks at what was sent
            llm.approve(call, by=here.second, digest=call.digest, arguments={"nonsense": 1})
    assert run_of(call).pending_calls.exists()


# --- What is sent -----------------------------------------------------------------------------------------------------
def test_a_megabyte_is_refused_and_nothing_is_written() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        with pytest.raises(InvalidEdit):
            llm.approve(
                call,
                by=here.approver,
                digest=call.digest,
                arguments={**LESS, "number": "x" * MAX_CHARACTERS},
                input=PIN,
            )
        with pytest.raises(InvalidInput):
            llm.answer(call, by=here.clerk, digest=call.digest, input={"pin": "x" * MAX_CHARACTERS})
    assert (stored(call).edited, stored(call).input, verdicts(call)) == (None, None, [])


def test_a_long_text_is_kept_whole() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        llm.answer(call, by=here.clerk, digest=call.digest, input={"pin": "é" * 100_000})
        assert here.told() == "safe 7 opened 1 times with 100000 digits"


def test_hidden_characters_are_kept_exactly() -> None:
    with counter("pay_out", policy="four_eyes") as here:
        call = here.waiting("pay_out", **ASKED)
        changed = {"number": HIDDEN, "amount": "9.90"}
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments=changed, input={"pin": HIDDEN})
    waiting = edited.pending_calls.get()
    assert (waiting.edited, waiting.input) == (changed, {"pin": HIDDEN})
    assert (call.decisions.get().edited, call.decisions.get().input) == (changed, {"pin": HIDDEN})


@pytest.mark.parametrize("nested", [{"number": [[[[]]]], "amount": "1"}, {"INVALID_JSON": "{"}])
def test_arguments_that_violate_the_schema_reach_no_tool(nested: Any) -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        with pytest.raises(InvalidEdit):
            llm.approve(call, by=here.approver, digest=call.digest, arguments=nested)
    assert verdicts(call) == []


def test_arguments_nested_without_end_are_refused() -> None:
    endless: dict[str, Any] = {}
    endless["number"] = endless
    deep: Any = "x"
    for _level in range(3_000):
        deep = [deep]
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        for arguments in (endless, {**LESS, "number": deep}):
            with pytest.raises(InvalidEdit):
                llm.approve(call, by=here.approver, digest=call.digest, arguments=arguments)


# --- Alone under four eyes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("is_superuser", [False, True])
def test_under_four_eyes_an_editor_releases_nothing_alone(is_superuser: bool) -> None:
    with counter("refund_order", policy="four_eyes") as here:
        here.approver.is_superuser = is_superuser
        here.approver.save()
        call = here.waiting("refund_order", **ASKED)
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS).pending_calls.get()

        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(edited, by=here.approver, digest=edited.digest)
        assert caught.value.rule == "four_eyes"

        again = llm.approve(edited, by=here.approver, digest=edited.digest, arguments=ASKED).pending_calls.get()
        with pytest.raises(DecisionNotPermitted):
            llm.approve(again, by=here.approver, digest=again.digest)
    assert not Group.objects.exists()


def test_under_four_eyes_who_gave_the_input_releases_nothing_alone() -> None:
    with counter("pay_out", policy="four_eyes") as here:
        call = here.waiting("pay_out", **ASKED)
        run = llm.approve(call, by=here.approver, digest=call.digest, input=PIN)
        answered = run.pending_calls.get()
        assert (run.status, verdicts(call)) == ("waiting_for_approval", ["answered"])
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(answered, by=here.approver, digest=answered.digest)
        assert caught.value.rule == "four_eyes"
        assert llm.approve(answered, by=here.second, digest=answered.digest).status == "completed"


# --- With the database ------------------------------------------------------------------------------------------------
def test_an_input_swapped_after_the_approval_releases_nothing_more() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        answered = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).pending_calls.get()
        other = RunToolCall.input.seal(answered, {"pin": "0000"})
        forged(answered, input_sealed=other)
        with pytest.raises(StaleDigest):
            llm.approve(answered, by=here.approver, digest=answered.digest)

        run = released_in_the_database(answered)
        assert run.status == "waiting_for_approval"

        # The segment has shown the call anew, forged as it is: that digest is not enough to release it.
        again = run.pending_calls.get()
        assert isinstance(obstacle(again, by=here.approver, verdict=Decision.Verdict.APPROVED), StaleDigest)
        with pytest.raises(StaleDigest, match="no decision has put there"):
            llm.approve(again, by=here.approver, digest=again.digest)
        assert not Group.objects.exists()

        assert llm.approve(again, by=here.approver, digest=again.digest, input=PIN).status == "completed"
    assert Group.objects.get().name == "paid 1138 19.90 pin 4711"


def swapped_edit(call: RunToolCall, here: Counter) -> dict[str, Any]:
    return {"edited_sealed": RunToolCall.edited.seal(call, {**LESS, "amount": "900"})}


def swapped_input(call: RunToolCall, here: Counter) -> dict[str, Any]:
    return {"input_sealed": RunToolCall.input.seal(call, {"pin": "0000"})}


def swapped_editor(call: RunToolCall, here: Counter) -> dict[str, Any]:
    return {"editor": here.second}


def swapped_giver(call: RunToolCall, here: Counter) -> dict[str, Any]:
    return {"input_giver": here.second}


@pytest.mark.parametrize("swapped", [swapped_edit, swapped_input, swapped_editor, swapped_giver])
def test_what_was_added_and_is_swapped_between_approval_and_execution_is_not_executed(
    swapped: Callable[[RunToolCall, Counter], dict[str, Any]],
) -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        while_a_segment_is_at_it(call)
        llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS, input=PIN)
        forged(call, **swapped(call, here))

        run = the_segment_looks(call)

        again = run.pending_calls.get()
        assert run.status == "waiting_for_approval"
        with pytest.raises(StaleDigest, match="no decision has put there"):
            llm.approve(again, by=here.approver, digest=again.digest)
    assert not Group.objects.exists()


@pytest.mark.parametrize("what", ["edited", "input"])
def test_a_decision_that_is_forged_with_its_call_vouches_for_nothing(what: str) -> None:
    with counter("pay_out", policy="four_eyes") as here:
        call = here.waiting("pay_out", **ASKED)
        run = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS, input=PIN)
        given, decision = run.pending_calls.get(), call.decisions.get()
        other = {"edited": {**LESS, "amount": "900"}, "input": {"pin": "0000"}}[what]
        column = f"{what}_sealed"
        Decision.objects.update(**{column: getattr(Decision, what).seal(decision, other)})
        forged(given, **{column: getattr(RunToolCall, what).seal(given, other)})
        again = released_in_the_database(given).pending_calls.get()
        with pytest.raises(StaleDigest, match="no decision has put there"):
            llm.approve(again, by=here.second, digest=again.digest)


def test_an_editor_whose_name_is_wiped_off_a_released_change_does_not_release_it_under_tighter_rules() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        while_a_segment_is_at_it(call)
        llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
        Configuration.objects.update(approval_policy="four_eyes")
        forged(call, editor=None)
        again = the_segment_looks(call).pending_calls.get()
        with pytest.raises(DecisionNotPermitted, match="you edited the arguments"):
            llm.approve(again, by=here.approver, digest=again.digest)
        with pytest.raises(StaleDigest, match="no decision has put there"):
            llm.approve(again, by=here.second, digest=again.digest)
    assert not Group.objects.exists()


def test_an_input_put_back_from_an_earlier_answer_is_not_the_one_that_counts() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        first = llm.answer(call, by=here.clerk, digest=call.digest, input={"pin": "0000"}).pending_calls.get()
        second = llm.answer(first, by=here.clerk, digest=first.digest, input=PIN).pending_calls.get()
        forged(second, input_sealed=first.input_sealed)
        again = released_in_the_database(second).pending_calls.get()
        with pytest.raises(StaleDigest):
            llm.approve(again, by=here.approver, digest=again.digest)


@pytest.mark.parametrize("columns", [{"editor": None}, {"edited_sealed": ""}])
def test_an_editor_who_wipes_their_traces_releases_nothing(columns: dict[str, Any]) -> None:
    with counter("refund_order", policy="four_eyes") as here:
        call = here.waiting("refund_order", **ASKED)
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS).pending_calls.get()
        again = released_in_the_database(forged(edited, **columns)).pending_calls.get()
        with pytest.raises((StaleDigest, DecisionNotPermitted)):
            llm.approve(again, by=here.approver, digest=again.digest)
    assert not Group.objects.exists()


def test_what_somebody_gave_whose_account_is_gone_has_to_be_given_anew() -> None:
    with counter("pay_out", policy="four_eyes") as here:
        call = here.waiting("pay_out", **ASKED)
        run = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS, input=PIN)
        User.objects.filter(pk=here.approver.pk).delete()
        again = released_in_the_database(run.pending_calls.get()).pending_calls.get()
        with pytest.raises(StaleDigest, match="account"):
            llm.approve(again, by=here.second, digest=again.digest)
        third = person("third", "change_group", "decide_toolcall")
        anew = llm.approve(again, by=third, digest=again.digest, arguments={**LESS, "amount": "8"}, input=PIN)
        waiting = anew.pending_calls.get()
        assert llm.approve(waiting, by=here.second, digest=waiting.digest).status == "completed"
    assert Group.objects.get().name == "paid 1138 8 pin 4711"


def test_changed_arguments_of_another_call_do_not_open_here() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        other = here.waiting("refund_order", number="1", amount="1")
        llm.approve(other, by=here.approver, digest=other.digest, arguments={"number": "1", "amount": "900"})
        call = here.waiting("refund_order", **ASKED)
        moved = forged(call, edited_sealed=stored(other).edited_sealed, editor=here.approver)
        assert obstacle(moved, by=here.second, verdict=Decision.Verdict.APPROVED) is not None
        assert released_in_the_database(moved).status == "failed"
    assert not Group.objects.exists()


def test_a_decision_that_was_given_another_input_is_not_genuine() -> None:
    with counter("open_safe") as here:
        Configuration.objects.update(approval_ttl=5)
        call = here.waiting("open_safe", number="7")
        decision = Decision(call=call, verdict="answered", decider=here.clerk, channel="code", digest=call.digest)
        decision.input, decision.decided_at, decision.seal = PIN, call.pending_since, "00000000." + "0" * 64
        decision.save()
        forged(call, input_sealed=RunToolCall.input.seal(call, PIN), input_giver=here.clerk)
        run = released_in_the_database(call)
        assert run.status == "waiting_for_input"
        assert len(here.model.asked) == 1


def test_a_released_call_whose_input_is_gone_is_not_executed() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        assert released_in_the_database(call).status == "waiting_for_input"
        assert len(here.model.asked) == 1


# --- Strangers --------------------------------------------------------------------------------------------------------
def test_another_users_call_is_nobodys_business() -> None:
    with counter("open_safe", "refund_order") as here:
        call = here.waiting("open_safe", number="7")
        stranger = person("stranger", "change_group")
        own = Run.objects.create(configuration=here.configuration, owner=stranger, has_owner=True)
        assert own.pending_calls.count() == 0
        attempts: list[Any] = [
            lambda: llm.answer(call, by=stranger, digest=call.digest, input=PIN),
            lambda: llm.answer(str(call.pk), by=stranger, digest=call.digest, input=PIN),
            lambda: llm.approve(call, by=stranger, digest=call.digest, arguments={"nonsense": 1}),
            lambda: llm.approve(call, by=stranger, digest="", input={"nonsense": 1}),
            lambda: llm.deny(call, by=stranger, digest=call.digest, stop=True),
        ]
        for attempt in attempts:
            with pytest.raises(DecisionNotPermitted) as caught:
                attempt()
            assert caught.value.rule == "permission"
            assert "open_safe" not in str(caught.value)
    assert (run_of(call).status, verdicts(call)) == ("waiting_for_input", [])


def test_an_owner_who_may_not_decide_changes_no_arguments() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        with pytest.raises(DecisionNotPermitted):
            llm.approve(call, by=here.clerk, digest=call.digest, arguments=LESS)
    assert verdicts(call) == []


def test_an_answer_of_somebody_who_may_answer_no_more_is_asked_for_again() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        while_a_segment_is_at_it(call)
        llm.answer(call, by=here.second, digest=call.digest, input=PIN)
        User.objects.get(pk=here.second.pk).user_permissions.clear()

        run = the_segment_looks(call)

        assert run.status == "waiting_for_input"
        assert len(here.model.asked) == 1
