"""Arguments that a person changes before a call runs: checked, kept beside the model's own, and told to the model."""

import json
import logging
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection

from llm_foundation import llm
from llm_foundation.exceptions import (
    DecisionNotPermitted,
    InvalidEdit,
    InvalidInput,
    StaleDigest,
)
from llm_foundation.models import Configuration, Decision, Run, RunEvent, RunToolCall
from llm_foundation.policy import PolicyAnswer, ProposedCall, allow, call_policy, refuse
from llm_foundation.policy.call_policies import policies
from llm_foundation.runs.decisions import obstacle
from llm_foundation.runs.edits import preview_of
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.practice import person, text, turn
from tests.runs.counter import Counter, counter, run_of, stored, verdicts
from tests.runs.passing_time import attempt_is_over, go_on_until_it_rests

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"number": "1138", "amount": "19.90"}
LESS = {"number": "1138", "amount": "9.90"}


# --- Where anybody may release ----------------------------------------------------------------------------------------
def test_the_tool_is_called_with_the_changed_arguments_and_the_model_is_told() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        run = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
        told = here.told()
    assert (run.status, Group.objects.get().name) == ("completed", "refund 1138 9.90")
    assert told == (
        "Note: a person changed the arguments of this call before it ran, to "
        '{"number":"1138","amount":"9.90"}\n\nrefunded 9.90'
    )


def test_the_transcript_keeps_the_call_as_the_model_made_it() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        run = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
        sent = here.model.asked[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == ASKED
    assert [made.arguments for message in run.transcript for made in message.tool_calls] == [ASKED]
    call = stored(call)
    assert (call.arguments, call.edited, call.effective_arguments, call.editor) == (ASKED, LESS, LESS, here.approver)


def test_the_decision_keeps_what_was_changed() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
    decision = call.decisions.get()
    assert (decision.verdict, decision.edited, decision.input) == ("approved", LESS, None)
    assert decision.digest == stored(call).digest != call.digest


def test_python_values_are_arguments_as_well() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        changed = {"number": "1138", "amount": Decimal("9.90")}
        llm.approve(call, by=here.approver, digest=call.digest, arguments=changed)
    assert stored(call).edited == LESS


@pytest.mark.parametrize("same", [ASKED, dict(reversed(ASKED.items()))])
def test_the_same_arguments_are_no_change(same: dict[str, str]) -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        llm.approve(call, by=here.approver, digest=call.digest, arguments=same)
        assert here.told() == "refunded 19.90"
    assert (stored(call).edited, stored(call).editor) == (None, None)


def test_one_and_true_are_different_arguments() -> None:
    @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC)
    def count(context: ToolContext, number: int | bool) -> str:
        """Count."""
        return repr(number)

    with counter() as here:
        made = tool(name="count", effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC)(count.function)
        here.grant(made)
        call = here.waiting("count", number=1)
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": True})
        assert here.told().endswith("\n\nTrue")


def test_the_model_is_told_of_long_arguments_in_short() -> None:
    with counter() as here:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC)
        def note(context: ToolContext, text: str) -> str:
            """Note."""
            return f"{len(text)} characters"

        here.grant(note)
        call = here.waiting("note", text="short")
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"text": "x" * 5_000})
        told = here.told()
    assert told.endswith("\n\n5000 characters")
    assert "characters are left out here" in told
    assert 2_000 < len(told) < 2_300


# --- What does not fit ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"number": "1138"}, "amount"),
        ({**LESS, "amount": "much"}, "amount"),
        ({**LESS, "owner": "root"}, "owner"),
        ({**LESS, "number": 5}, "number"),
        ([], "(arguments)"),
        ("amount", "(arguments)"),
        ({**LESS, "number": "\ud800"}, "(arguments)"),
        ({**LESS, "number": float("nan")}, "(arguments)"),
        ({**LESS, "number": object()}, "(arguments)"),
    ],
)
def test_what_does_not_fit_the_tool_says_so_for_each_field_and_nothing_is_written(arguments: Any, field: str) -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        before = run_of(call).revision
        with pytest.raises(InvalidEdit) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments=arguments)
        assert list(caught.value.problems) == [field]
        assert str(caught.value) == f"The changed arguments do not fit the tool: nothing was decided. ({field})"
        assert (run_of(call).revision, stored(call).digest, verdicts(call)) == (before, call.digest, [])
    assert not Group.objects.exists()


def test_changed_arguments_whose_preview_fails_are_refused() -> None:
    def fussy(context: ToolContext, number: str) -> list[str]:
        if number != "1":
            raise RuntimeError("secret-of-the-preview")
        return [number]

    with counter() as here:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, preview=fussy)
        def touch(context: ToolContext, number: str) -> str:
            """Touch."""
            return number

        here.grant(touch)
        call = here.waiting("touch", number="1")
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": "2"})
        assert caught.value.rule == "preview"
        assert "secret" not in str(caught.value)
        assert stored(call).preview == {"lines": ["1"], "failed": False}


# --- The gate sees what would run -------------------------------------------------------------------------------------
def test_call_policies_are_asked_about_the_changed_arguments_for_owner_and_approver() -> None:
    seen: list[tuple[str, Decimal]] = []

    def small_sums(call: ProposedCall) -> PolicyAnswer:
        seen.append((str(call.user), call.arguments["amount"]))
        return refuse("Too much.") if call.arguments["amount"] > 100 else allow()

    with policies.isolated(), counter("refund_order") as here:
        call_policy(tools=["refund_order"])(small_sums)
        call = here.waiting("refund_order", **ASKED)
        seen.clear()
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments={**ASKED, "amount": "900"})
        assert caught.value.rule == "gate:policy_refuses"
        assert seen == [("clerk", Decimal(900))]

        seen.clear()
        llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
        assert {("clerk", Decimal("9.90")), ("approver", Decimal("9.90"))} == set(seen)


def test_the_gate_is_asked_again_once_the_preview_is_made() -> None:
    previewed: list[str] = []

    def slow(context: ToolContext, number: str) -> list[str]:
        previewed.append(number)
        return [number]

    def closes(call: ProposedCall) -> PolicyAnswer:
        return refuse("Closed.") if "2" in previewed else allow()

    with policies.isolated(), counter() as here:
        call_policy(closes)

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, preview=slow)
        def touch(context: ToolContext, number: str) -> str:
            """Touch."""
            return number

        here.grant(touch)
        call = here.waiting("touch", number="1")
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments={"number": "2"})
    assert (caught.value.rule, verdicts(call)) == ("gate:policy_refuses", [])


def test_an_owner_who_lost_the_tool_has_no_call_of_it_changed() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        User.objects.get(pk=here.clerk.pk).user_permissions.clear()
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
    assert caught.value.rule == "gate:not_permitted"


def test_for_an_owner_whose_account_is_gone_nothing_is_changed() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        User.objects.filter(pk=here.clerk.pk).delete()
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.approver, digest=stored(call).digest, arguments=LESS)


def test_a_rule_of_the_arguments_sees_the_changed_ones() -> None:
    asked: list[Any] = []

    def large(arguments: Mapping[str, Any]) -> bool:
        asked.append(arguments["amount"])
        return bool(arguments["amount"] > 10)

    with counter() as here:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC, approval=large)
        def pay(context: ToolContext, amount: int) -> str:
            """Pay."""
            return f"paid {amount}"

        here.grant(pay)
        call = here.waiting("pay", amount=50)
        asked.clear()
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"amount": 40})
        assert set(asked) == {40}


# --- Four eyes --------------------------------------------------------------------------------------------------------
def test_under_four_eyes_a_change_waits_for_somebody_else() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        call = here.waiting("refund_order", **ASKED)

        run = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)

        edited = run.pending_calls.get()
        assert (run.status, edited.edited, edited.editor) == ("waiting_for_approval", LESS, here.approver)
        assert edited.digest != call.digest
        assert edited.preview["lines"] == ["Order 1138: pay back 9.90"]
        assert verdicts(call) == ["edited"]
        assert not Group.objects.exists()

        assert llm.approve(edited, by=here.second, digest=edited.digest).status == "completed"
        assert here.told().endswith("\n\nrefunded 9.90")
    assert Group.objects.get().name == "refund 1138 9.90"
    assert verdicts(call) == ["edited", "approved"]


def test_under_four_eyes_the_owner_may_change_the_arguments_but_not_release_them() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        here.clerk = person("boss", "change_group", "decide_toolcall")
        call = here.waiting("refund_order", **ASKED)
        edited = llm.approve(call, by=here.clerk, digest=call.digest, arguments=LESS).pending_calls.get()
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(edited, by=here.clerk, digest=edited.digest)
        assert caught.value.rule == "four_eyes"
        assert llm.approve(edited, by=here.approver, digest=edited.digest).status == "completed"


def test_a_second_change_takes_the_place_of_the_first() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        third = person("third", "change_group", "decide_toolcall")
        call = here.waiting("refund_order", **ASKED)
        first = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS).pending_calls.get()
        second = llm.approve(first, by=here.second, digest=first.digest, arguments={**LESS, "amount": "7"})
        edited = second.pending_calls.get()
        assert (edited.edited["amount"], edited.editor) == ("7", here.second)
        assert len({call.digest, first.digest, edited.digest}) == 3

        llm.approve(edited, by=third, digest=edited.digest)
    assert Group.objects.get().name == "refund 1138 7"
    assert verdicts(call) == ["edited", "edited", "approved"]


def test_a_change_back_to_what_the_model_said_is_a_change_that_the_model_is_not_told_of() -> None:
    with counter("refund_order", policy="four_eyes") as here:
        third = person("third", "change_group", "decide_toolcall")
        call = here.waiting("refund_order", **ASKED)
        first = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS).pending_calls.get()
        back = llm.approve(first, by=here.second, digest=first.digest, arguments=ASKED).pending_calls.get()
        llm.approve(back, by=third, digest=back.digest)
        assert here.told() == "refunded 19.90"


def test_rules_tightened_after_an_edited_release_bar_the_editor() -> None:
    with counter() as here:

        @tool(effect=Effect.TRANSACTIONAL_WRITE, data_class=DataClass.PUBLIC)
        def pay(context: ToolContext, amount: int) -> str:
            """Pay."""
            return f"paid {amount}"

        here.grant(pay)
        call = here.waiting("pay", amount=50)
        Configuration.objects.update(approval_policy="four_eyes")
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments={"amount": 40})
        assert edited.pending_calls.get().edited == {"amount": 40}


# --- A group ----------------------------------------------------------------------------------------------------------
def test_a_member_of_the_group_changes_and_releases_and_nobody_else_does_either() -> None:
    with counter("refund_order") as here:
        desk_leads = Group.objects.create(name="desk leads")
        here.second.groups.add(desk_leads)
        Configuration.objects.update(approval_policy="group", approval_group=desk_leads)
        call = here.waiting("refund_order", **ASKED)

        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
        assert (caught.value.rule, stored(call).edited, verdicts(call)) == ("group", None, [])

        assert llm.approve(call, by=here.second, digest=call.digest, arguments=LESS).status == "completed"
    assert Group.objects.filter(name="refund 1138 9.90").exists()


# --- While the run is executing ---------------------------------------------------------------------------------------
def changed_meanwhile(here: Counter, act: Callable[[RunToolCall], object], call: tuple[str, Any]) -> Run:
    """A run whose waiting call somebody deals with while another call of the same turn is executed."""

    @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
    def slow_read() -> str:
        act(RunToolCall.objects.pending().get())
        return "read"

    here.grant(slow_read)
    here.model.says(turn(call, ("slow_read", {})), text("Done."))
    return llm.run("support", "Please", user=here.clerk)


def test_a_change_made_while_the_run_is_executing_is_there_when_it_waits() -> None:
    with counter("refund_order", policy="four_eyes") as here:

        def edit(call: RunToolCall) -> None:
            llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)

        run = changed_meanwhile(here, edit, ("refund_order", ASKED))
        edited = run.pending_calls.get()
        assert (run.status, edited.edited) == ("waiting_for_approval", LESS)
        assert llm.approve(edited, by=here.second, digest=edited.digest).status == "completed"
    assert Group.objects.get().name == "refund 1138 9.90"


def test_a_change_released_while_the_run_is_executing_is_executed_by_the_same_segment() -> None:
    with counter("refund_order", policy="four_eyes") as here:

        def edit_and_release(call: RunToolCall) -> None:
            llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS)
            llm.approve(call, by=here.second, digest=stored(call).digest)

        run = changed_meanwhile(here, edit_and_release, ("refund_order", ASKED))
    assert (run.status, run.attempts, Group.objects.get().name) == ("completed", 1, "refund 1138 9.90")


def test_a_run_says_that_it_waits_for_approval_where_its_call_was_changed_meanwhile() -> None:
    with counter("pay_little", policy="four_eyes") as here:

        def edit(call: RunToolCall) -> None:
            llm.approve(call, by=here.approver, digest=call.digest, arguments={"amount": "6"})

        run = changed_meanwhile(here, edit, ("pay_little", {"amount": "5"}))
    assert (run.status, run.pending_calls.get().edited) == ("waiting_for_approval", {"amount": "6"})


# --- With an input ----------------------------------------------------------------------------------------------------
def test_one_approval_may_change_the_arguments_and_give_the_input() -> None:
    with counter("pay_out") as here:
        call = here.waiting("pay_out", **ASKED)
        run = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS, input={"pin": "4711"})
        assert run.status == "completed"
    assert Group.objects.get().name == "paid 1138 9.90 pin 4711"


def test_under_four_eyes_both_wait_and_without_the_input_a_change_is_kept() -> None:
    with counter("pay_out", policy="four_eyes") as here:
        call = here.waiting("pay_out", **ASKED)
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments=LESS).pending_calls.get()
        with pytest.raises(InvalidInput):
            llm.approve(edited, by=here.second, digest=edited.digest)
        both = llm.approve(edited, by=here.approver, digest=edited.digest, input={"pin": "4711"}).pending_calls.get()
        assert (both.edited, both.input, verdicts(call)) == (LESS, {"pin": "4711"}, ["edited", "answered"])
        assert llm.approve(both, by=here.second, digest=both.digest).status == "completed"


def test_a_change_to_what_needs_no_approval_is_approved_all_the_same() -> None:
    with counter("pay_little", policy="four_eyes") as here:
        call = here.waiting("pay_little", amount="500")
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments={"amount": "5"}).pending_calls.get()
        run = llm.answer(edited, by=here.approver, digest=edited.digest, input={"pin": "4711"})
        assert run.status == "waiting_for_approval"
        answered = run.pending_calls.get()
        with pytest.raises(DecisionNotPermitted):
            llm.approve(answered, by=here.approver, digest=answered.digest)
        assert llm.approve(answered, by=here.second, digest=answered.digest).status == "completed"


# --- A look beforehand ------------------------------------------------------------------------------------------------
def test_the_preview_of_a_change_can_be_seen_before_anything_is_decided() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        before = run_of(call).revision
        shown = preview_of(call, LESS, by=here.approver)
        same = preview_of(call, ASKED, by=here.approver)
        assert shown is not None
        assert same is not None
        assert (shown.lines, same.lines) == (
            ("Order 1138: pay back 9.90",),
            ("Order 1138: pay back 19.90",),
        )
        assert (run_of(call).revision, stored(call).edited, verdicts(call)) == (before, None, [])


def test_nobody_sees_it_who_may_not_change_anything() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        decider = person("decider", "decide_toolcall")
        for stranger, rule in ((here.clerk, "permission"), (decider, "gate:not_permitted")):
            for arguments in (LESS, ASKED):
                with pytest.raises(DecisionNotPermitted) as caught:
                    preview_of(call, arguments, by=stranger)
                assert caught.value.rule == rule
            found = obstacle(call, by=stranger, verdict=Decision.Verdict.EDITED)
            assert isinstance(found, DecisionNotPermitted)
        with pytest.raises(InvalidEdit):
            preview_of(call, {"number": 1}, by=here.approver)


# --- Doubt ------------------------------------------------------------------------------------------------------------
def test_who_says_that_a_changed_call_happened_tells_the_model_of_the_change() -> None:
    with counter("send_message") as here:
        call = here.waiting("send_message", to="Ada")
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"to": "crash"})
        assert stored(call).state == "in_doubt"
        resolver = person("resolver", "resolve_toolcall")
        llm.resolve(call, by=resolver, outcome="happened", result="It was sent.")
        told = here.told()
    assert told == (
        'Note: a person changed the arguments of this call before it ran, to {"to":"crash"}\n\nIt was sent.'
    )


def test_a_changed_call_that_did_not_happen_waits_again_with_its_change() -> None:
    with counter("send_message") as here:
        call = here.waiting("send_message", to="Ada")
        llm.approve(call, by=here.approver, digest=call.digest, arguments={"to": "crash"})
        attempt_is_over(call)
        run = llm.resolve(call, by=person("resolver", "resolve_toolcall"), outcome="did_not_happen")
        again = go_on_until_it_rests(run).pending_calls.get()
        assert (again.effective_arguments, again.editor) == ({"to": "crash"}, here.approver)
        llm.approve(again, by=here.approver, digest=again.digest, arguments={"to": "Bob"})
    assert Group.objects.get().name == "sent to Bob"


# --- Kept from everybody else -----------------------------------------------------------------------------------------
def test_changed_arguments_stand_in_clear_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with counter("refund_order", policy="four_eyes") as here:
        call = here.waiting("refund_order", **ASKED)
        secret = {"number": "hunter2", "amount": "1"}
        edited = llm.approve(call, by=here.approver, digest=call.digest, arguments=secret).pending_calls.get()
        with pytest.raises(StaleDigest):
            llm.approve(call, by=here.second, digest=call.digest)
        llm.deny(edited, by=here.second, digest=edited.digest)
    assert "hunter2" not in caplog.text
    assert "hunter2" not in repr([stored(call), *call.decisions.all()])
    for table in (RunToolCall, Decision, RunEvent):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table._meta.db_table}")
            assert "hunter2" not in str(cursor.fetchall())


# --- Deny and stop ----------------------------------------------------------------------------------------------------
def test_who_denies_and_stops_cancels_the_run() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        run = llm.deny(call, by=here.approver, digest=call.digest, reason="Fraud", stop=True)
        assert (run.status, run.termination_reason) == ("cancelled", "cancelled")
        assert len(here.model.asked) == 1
    assert stored(call).state == "denied"
    assert [message.text for message in run.transcript][-1] == (
        "Error: a person denied this call; it was not executed. They said: Fraud"
    )
    kinds = [entry.kind for entry in run.events.order_by("sequence")]
    assert kinds[-3:] == ["call.decided", "run.cancel_requested", "run.finished"]


def test_a_run_that_is_executing_hears_of_the_stop_between_two_steps() -> None:
    with counter("refund_order") as here:

        def deny(call: RunToolCall) -> None:
            llm.deny(call, by=here.approver, digest=call.digest, stop=True)

        run = changed_meanwhile(here, deny, ("refund_order", ASKED))
        assert (run.status, len(here.model.asked)) == ("cancelled", 1)
    assert [call.state for call in run.calls.order_by("index")] == ["denied", "succeeded"]


def test_a_run_with_a_call_in_doubt_is_stopped_once_somebody_has_resolved_it() -> None:
    with counter("refund_order", "send_message") as here:
        here.model.says(turn(("send_message", {"to": "crash"}), ("refund_order", ASKED)))
        message, refund = llm.run("support", "Both", user=here.clerk).pending_calls
        llm.approve(message, by=here.approver, digest=message.digest)

        assert llm.deny(refund, by=here.approver, digest=refund.digest, stop=True).status == "in_doubt"

        resolver = person("resolver", "resolve_toolcall")
        assert llm.resolve(message, by=resolver, outcome="give_up").status == "cancelled"


def test_without_stop_the_run_goes_on() -> None:
    with counter("refund_order") as here:
        call = here.waiting("refund_order", **ASKED)
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "completed"
