"""Calls that a person fills something in for: who gives it, when it releases the call, and where it is kept."""

import json
import logging
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection

from llm_foundation import llm
from llm_foundation.exceptions import (
    AlreadyDecided,
    DecisionNotPermitted,
    InvalidInput,
    StaleDigest,
    ToolApprovalRequired,
)
from llm_foundation.models import Decision, RunEvent, RunToolCall, ToolRecord
from llm_foundation.policy import PolicyAnswer, ProposedCall, allow, call_policy, refuse
from llm_foundation.policy.call_policies import policies
from llm_foundation.runs.decisions import obstacle
from llm_foundation.runs.inputs import needs_input
from llm_foundation.tools import DataClass, Effect, ToolContext, registry, tool
from tests.practice import calls, person, text, turn
from tests.runs.counter import Pin, counter, run_of, stored, verdicts

pytestmark = pytest.mark.django_db(transaction=True)

PIN = {"pin": "hunter2"}


# --- Nothing but an input ---------------------------------------------------------------------------------------------
def test_a_call_that_waits_for_nothing_but_its_input_is_released_by_it() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        assert (run_of(call).status, call.reason) == ("waiting_for_input", "input")

        run = llm.answer(call, by=here.clerk, digest=call.digest, input={**PIN, "copies": "2"})

        assert (run.status, run.answer) == ("completed", "Done.")
        assert here.told() == "safe 7 opened 2 times with 7 digits"
    assert verdicts(call) == ["answered"]


def test_it_is_the_same_from_async_code() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        run = async_to_sync(llm.aanswer)(call, by=here.clerk, digest=call.digest, input=PIN)
    assert run.status == "completed"


def test_an_instance_of_the_model_is_an_input_too() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        llm.answer(call, by=here.clerk, digest=call.digest, input=Pin(pin="hunter2", copies=3))  # type: ignore[arg-type]
        assert here.told() == "safe 7 opened 3 times with 7 digits"


@pytest.mark.parametrize("who", ["clerk", "approver"])
def test_the_runs_own_people_and_those_who_decide_may_answer(who: str) -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        assert llm.answer(call, by=getattr(here, who), digest=call.digest, input=PIN).status == "completed"


def test_nobody_else_may_and_they_learn_nothing() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        gone = User.objects.create_user("gone", is_active=False, is_superuser=True)
        for stranger in (person("stranger", "change_group"), gone, AnonymousUser(), None):
            with pytest.raises(DecisionNotPermitted) as caught:
                llm.answer(call, by=stranger, digest="another", input={"nonsense": 1})  # type: ignore[arg-type]
            assert caught.value.rule == "permission"
        assert run_of(call).status == "waiting_for_input"
    assert verdicts(call) == []


def test_in_a_run_of_nobody_an_anonymous_visitor_is_not_its_owner() -> None:
    with counter("open_safe") as here:
        here.model.says(calls("open_safe", number="7"), text("Done."))
        call = llm.run("support", "Please", user=None).pending_calls.get()
        for nobody in (AnonymousUser(), None):
            with pytest.raises(DecisionNotPermitted):
                llm.answer(call, by=nobody, digest=call.digest, input=PIN)  # type: ignore[arg-type]


def test_who_may_not_use_the_tool_gives_it_no_input() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        ToolRecord.objects.filter(name="open_safe").update(enabled=False)
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)
    assert caught.value.rule == "gate:disabled"


def test_the_gate_is_asked_again_once_the_preview_is_made() -> None:
    previewed: list[Any] = []

    def slow(context: ToolContext, number: str) -> list[str]:
        previewed.append(context.input)
        return [number]

    def closes(call: ProposedCall) -> PolicyAnswer:
        return refuse("Closed.") if any(previewed) else allow()

    with policies.isolated(), counter() as here:
        call_policy(closes)

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC, preview=slow, input_model=Pin)
        def touch(context: ToolContext, number: str) -> str:
            """Touch."""
            return number

        here.grant(touch)
        call = here.waiting("touch", number="1")
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)
    assert (caught.value.rule, verdicts(call)) == ("gate:policy_refuses", [])


def test_an_input_that_does_not_fit_says_so_for_each_field_and_nothing_is_written() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        before = run_of(call).revision
        with pytest.raises(InvalidInput) as caught:
            llm.answer(call, by=here.clerk, digest=call.digest, input={"pin": "12", "copies": "many"})
        assert caught.value.problems == {
            "pin": ["Enter at least 4 characters."],
            "copies": ["Enter a whole number."],
        }
        assert stored(call).digest == call.digest
        assert run_of(call).revision == before
        assert llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).status == "completed"


def test_a_tool_that_asks_for_no_input_takes_none() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", number="1", amount="5")
        for give in (llm.answer, llm.approve):
            with pytest.raises(InvalidInput) as caught:
                give(call, by=here.approver, digest=call.digest, input=PIN)
            assert caught.value.problems == {"(input)": ["This tool asks for no input."]}
    assert not Group.objects.exists()


def test_an_approval_of_such_a_call_gives_its_input_as_well() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        assert llm.approve(call, by=here.approver, digest=call.digest, input=PIN).status == "completed"
    assert verdicts(call) == ["approved"]


def test_a_call_that_waits_for_its_input_can_be_denied() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        assert llm.deny(call, by=here.approver, digest=call.digest, reason="Not today").status == "completed"
        assert here.told() == "Error: a person denied this call; it was not executed. They said: Not today"


# --- Input and approval -----------------------------------------------------------------------------------------------
def test_a_write_asks_for_both_and_the_answer_alone_releases_nothing() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        assert (run_of(call).status, call.reason) == ("waiting_for_approval", "asks")

        run = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)

        answered = run.pending_calls.get()
        assert (run.status, answered.input_giver, answered.digest != call.digest) == (
            "waiting_for_approval",
            here.clerk,
            True,
        )
        assert not Group.objects.exists()
        assert llm.approve(answered, by=here.approver, digest=answered.digest).status == "completed"
    assert Group.objects.get().name == "paid 1138 5 pin hunter2"
    assert verdicts(call) == ["answered", "approved"]


def test_the_preview_is_made_again_with_the_input() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        assert call.preview["lines"] == ["Order 1138: pay out 5, ? copies"]
        answered = llm.answer(call, by=here.clerk, digest=call.digest, input={**PIN, "copies": 4}).pending_calls.get()
    assert answered.preview["lines"] == ["Order 1138: pay out 5, 4 copies"]


def test_the_approver_may_give_both_at_once() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        assert llm.approve(call, by=here.approver, digest=call.digest, input=PIN).status == "completed"
    decision = call.decisions.get()
    assert (decision.verdict, decision.input, decision.edited) == ("approved", PIN, None)


def test_without_the_input_no_approval_counts() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        with pytest.raises(InvalidInput) as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
        assert caught.value.problems == {"pin": ["Fill in this field."]}
    assert verdicts(call) == []


def test_a_second_answer_takes_the_place_of_the_first() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        first = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).pending_calls.get()
        second = llm.answer(first, by=here.second, digest=first.digest, input={"pin": "swordfish"}).pending_calls.get()
        assert len({call.digest, first.digest, second.digest}) == 3
        assert second.input_giver == here.second
        llm.approve(second, by=here.approver, digest=second.digest)
    assert Group.objects.get().name == "paid 1138 5 pin swordfish"


def test_where_only_large_sums_are_approved_the_answer_releases_a_small_one() -> None:
    with counter("pay_little") as here:
        call = here.waiting("pay_little", amount="5")
        assert run_of(call).status == "waiting_for_input"
        assert llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).status == "completed"

        large = here.waiting("pay_little", amount="500")
        assert run_of(large).status == "waiting_for_approval"
        assert llm.answer(large, by=here.clerk, digest=large.digest, input=PIN).status == "waiting_for_approval"
    assert Group.objects.get().name == "paid 5"


def test_an_operator_who_asks_for_approval_meanwhile_is_obeyed_and_the_run_says_what_it_waits_for() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        ToolRecord.objects.filter(name="open_safe").update(always_ask=True)

        run = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)

        assert run.status == "waiting_for_approval"
        answered = run.pending_calls.get()
        assert llm.approve(answered, by=here.approver, digest=answered.digest).status == "completed"


def test_a_run_that_waits_for_an_input_and_for_an_approval_waits_for_approval() -> None:
    with counter("open_safe", "refund_order") as here:
        here.model.says(turn(("open_safe", {"number": "7"}), ("refund_order", {"number": "1", "amount": "5"})))
        run = llm.run("support", "Both", user=here.clerk)
        assert run.status == "waiting_for_approval"
        safe, refund = run.pending_calls

        run = llm.deny(refund, by=here.approver, digest=refund.digest)
        assert (run.status, run.pending_calls.get()) == ("waiting_for_input", safe)


# --- What screens ask beforehand --------------------------------------------------------------------------------------
def test_screens_are_told_whether_an_input_is_needed_and_what_keeps_whom_from_giving_it() -> None:
    with counter("pay_out", "refund_order") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        tool = registry.get("pay_out")
        assert needs_input(call, tool)
        assert obstacle(call, by=here.clerk, verdict=Decision.Verdict.ANSWERED) is None
        assert obstacle(call, by=here.approver, verdict=Decision.Verdict.APPROVED) is None
        stranger = obstacle(call, by=person("stranger"), verdict=Decision.Verdict.ANSWERED)
        assert isinstance(stranger, DecisionNotPermitted)

        answered = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).pending_calls.get()
        assert not needs_input(answered, tool)

        refund = here.waiting("refund_order", number="1", amount="5")
        assert isinstance(obstacle(refund, by=here.approver, verdict=Decision.Verdict.ANSWERED), InvalidInput)


# --- Never unattended, never in memory --------------------------------------------------------------------------------
def test_nobody_is_asked_for_an_input_where_nobody_attends() -> None:
    with counter("open_safe", "find_order") as here:
        here.model.says(text("Nothing to do."))
        llm.run("support", "Look", user=here.clerk, unattended=True)
        offered = [entry["function"]["name"] for entry in here.model.asked[0]["tools"]]
    assert offered == ["find_order"]


def test_a_run_in_memory_says_that_a_person_is_needed() -> None:
    with counter("open_safe") as here:
        here.model.says(calls("open_safe", number="7"))
        with pytest.raises(ToolApprovalRequired) as caught:
            llm.run_in_memory("support", "Look", user=here.clerk)
    assert [call.name for call in caught.value.pending] == ["open_safe"]


# --- Kept from everybody else -----------------------------------------------------------------------------------------
def test_an_input_stands_in_clear_nowhere(caplog: pytest.LogCaptureFixture, settings: Any) -> None:
    caplog.set_level(logging.DEBUG)
    settings.LLM_FOUNDATION = {**settings.LLM_FOUNDATION, "PRIVACY": "full"}
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        answered = llm.answer(call, by=here.clerk, digest=call.digest, input=PIN).pending_calls.get()
        llm.approve(answered, by=here.approver, digest=answered.digest)
        asked = json.dumps(here.model.asked)

    assert "hunter2" not in asked
    assert "hunter2" not in caplog.text
    assert "hunter2" not in repr([stored(call), *call.decisions.all()])
    assert "hunter2" not in json.dumps(list(RunEvent.objects.values_list("payload", flat=True)))
    for table in (RunToolCall, Decision, RunEvent):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table._meta.db_table}")
            assert "hunter2" not in str(cursor.fetchall())
    assert stored(call).input == PIN


# --- Decided once -----------------------------------------------------------------------------------------------------
def test_the_second_of_two_answers_is_told_who_gave_the_first() -> None:
    with counter("open_safe") as here:
        call = here.waiting("open_safe", number="7")
        llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)
        with pytest.raises(AlreadyDecided, match="clerk has decided this call already \\(input given"):
            llm.answer(call, by=here.approver, digest=call.digest, input=PIN)


def test_the_digest_from_before_an_answer_is_worthless() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", number="1138", amount="5")
        llm.answer(call, by=here.clerk, digest=call.digest, input=PIN)
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest=call.digest)
    assert not Group.objects.exists()
