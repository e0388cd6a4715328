"""A project's own rules over whole runs: they are asked in each step, and again for whoever releases a call."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.exceptions import DecisionNotPermitted, ToolApprovalRequired
from llm_foundation.models import Configuration, Run, RunMessage, RunToolCall
from llm_foundation.policy import PolicyAnswer, ProposedCall, allow, ask, call_policy, refuse
from llm_foundation.policy.call_policies import CallPolicies, policies
from llm_foundation.vocabulary import DataClass, Effect
from tests.practice import Desk, calls, desk, text, turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def isolated() -> Iterator[CallPolicies]:
    with policies.isolated() as here:
        yield here


class House:
    """Rules that a test changes while a run goes on, and what they were shown."""

    def __init__(self, answer: PolicyAnswer | Callable[[ProposedCall], PolicyAnswer]) -> None:
        self.answer: Any = answer
        self.seen: list[ProposedCall] = []
        call_policy(self)

    def __call__(self, call: ProposedCall) -> PolicyAnswer:
        self.seen.append(call)
        answer: PolicyAnswer = self.answer(call) if callable(self.answer) else self.answer
        return answer


def looking_up(here: Desk) -> None:
    here.model.says(calls("find_order", number="1138"), text("It was sent."))


def waiting_refund(here: Desk) -> RunToolCall:
    here.model.says(calls("refund_order", number="1138", amount="19.90"), text("Done."))
    return llm.run("support", "Refund order 1138", user=here.clerk).pending_calls.get()


def test_a_policy_sees_the_call_who_acts_and_how_it_came_to_it() -> None:
    house = House(allow())
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="7"), calls("find_order", number="1138"), text("It was sent."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk)

    first, second = house.seen
    assert (second.tool, dict(second.arguments), second.user) == ("find_order", {"number": "1138"}, here.clerk)
    assert (second.effect, second.data_class) == (Effect.READ_ONLY, DataClass.PERSONAL)
    assert (second.configuration, second.run_id) == ("support", run.pk)
    assert (first.high_water, second.high_water) == (DataClass.PUBLIC, DataClass.PERSONAL)
    assert [message.role for message in second.history] == ["user", "assistant", "tool", "assistant"]
    assert second.history[-1].tool_calls[0].arguments == {"number": "1138"}
    with pytest.raises(TypeError):
        second.arguments["number"] = "1"  # type: ignore[index]


def test_arguments_are_shown_as_the_tool_takes_them() -> None:
    house = House(allow())
    with desk("refund_order") as here:
        waiting_refund(here)
    assert house.seen[0].arguments["amount"] == Decimal("19.90")


def test_a_policy_that_asks_stops_a_call_that_would_have_run_freely() -> None:
    house = House(lambda call: ask("It is a customer of ours.") if call.arguments["number"] == "1138" else allow())
    with desk("find_order") as here:
        here.model.says(turn(("find_order", {"number": "7"}), ("find_order", {"number": "1138"})), text("Sent."))
        run = llm.run("support", "Where are they?", user=here.clerk)
        free, asked = run.calls.order_by("index")
        assert (free.state, asked.state, asked.reason) == ("succeeded", "pending", "policy_asks")
        assert asked.explanation == "It is a customer of ours."

        house.seen.clear()
        assert llm.approve(asked, by=here.approver, digest=asked.digest).answer == "Sent."
    assert {call.user for call in house.seen} == {here.approver, here.clerk}


def test_a_policy_that_refuses_answers_the_model_with_its_reason_and_no_person_is_asked() -> None:
    House(refuse("Refunds are closed for today."))
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1138", amount="19.90"), text("Come back tomorrow."))
        run = llm.run("support", "Refund order 1138", user=here.clerk)
    call = run.calls.get()
    assert (run.answer, call.state, call.reason) == ("Come back tomorrow.", "refused", "policy_refuses")
    assert call.result == "Error: Refunds are closed for today."


def test_a_policy_that_allows_takes_no_question_and_no_refusal_away() -> None:
    House(allow())
    with desk("refund_order") as here:
        here.model.says(calls("send_message", to="clerk"), text("Sorry."))
        run = llm.run("support", "Write to the clerk", user=here.clerk)
        assert run.calls.get().reason == "not_granted"
        assert waiting_refund(here).reason == "asks"


def test_a_policy_is_not_asked_about_what_another_rule_refuses() -> None:
    house = House(allow())
    with desk("find_order") as here:
        here.model.says(
            turn(("refund_order", {"number": "1"}), ("find_order", {"nr": "1"}), ("magic", {})), text("Sorry.")
        )
        llm.run("support", "Do it", user=here.clerk)
    assert house.seen == []


@pytest.mark.parametrize("stored", [True, False])
def test_a_policy_that_fails_refuses(stored: bool, caplog: pytest.LogCaptureFixture) -> None:
    House(lambda call: 1 / 0)  # type: ignore[arg-type, return-value]
    start = llm.run if stored else llm.run_in_memory
    with desk("find_order") as here:
        looking_up(here)
        start("support", "Where is order 1138?", user=here.clerk)
        told = here.model.asked[-1]["messages"][-1]["content"]
    assert told == "Error: A rule for such calls failed, so they are refused; the reason is in the log."
    assert "raised ZeroDivisionError" in caplog.text


def test_a_run_in_memory_asks_the_same_policies() -> None:
    house = House(lambda call: ask("Look at it.") if len(call.history) > 2 else allow())
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="7"), calls("find_order", number="1138"))
        with pytest.raises(ToolApprovalRequired) as caught:
            llm.run_in_memory("support", "Where is order 1138?", user=here.clerk)
    assert [call.arguments for call in caught.value.pending] == [{"number": "1138"}]
    assert {call.run_id for call in house.seen} == {None}


def test_nobody_is_asked_where_nobody_attends() -> None:
    House(ask("Look at it."))
    with desk("find_order") as here:
        looking_up(here)
        run = llm.run("support", "Where is order 1138?", user=here.clerk, unattended=True)
        looking_up(here)
        result = llm.run_in_memory("support", "Where is order 1138?", user=here.clerk, unattended=True)

    assert (run.status, run.calls.get().reason) == ("completed", "unattended")
    assert result.messages[-2].text == "Error: A call of it may wait for a person, and nobody attends this run."


def test_a_policy_may_refuse_the_person_who_wants_to_release_the_call() -> None:
    House(
        lambda call: refuse("Not for approvers.") if call.user and call.user.get_username() == "approver" else allow()
    )
    with desk("refund_order") as here:
        call = waiting_refund(here)
        with pytest.raises(DecisionNotPermitted, match=r"Not for approvers\.") as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
        assert caught.value.rule == "gate:policy_refuses"
        assert llm.deny(call, by=here.approver, digest=call.digest).status == "completed"


def test_who_releases_a_call_is_judged_with_the_transcript_as_it_is_stored() -> None:
    house = House(lambda call: allow() if call.history[0].text == "Refund order 1138" else refuse("Another run."))
    with desk("refund_order") as here:
        call = waiting_refund(here)
        assert llm.approve(call, by=here.approver, digest=call.digest).answer == "Done."
    assert [message.role for message in house.seen[-1].history] == ["user", "assistant"]
    assert all(call.run_id for call in house.seen)


def test_a_released_call_stays_released_when_a_policy_comes_to_ask_about_it() -> None:
    house = House(allow())
    with desk("refund_order") as here:
        call = waiting_refund(here)
        house.answer = ask("It is late.")
        assert llm.approve(call, by=here.approver, digest=call.digest).answer == "Done."
    assert Group.objects.filter(name="refund 1138 19.90").exists()


def test_a_released_call_is_refused_when_a_policy_comes_to_refuse_it() -> None:
    house = House(allow())
    with desk("refund_order") as here:
        call = waiting_refund(here)
        house.answer = lambda call: refuse("Too late.") if call.user == here.clerk else allow()
        run = llm.approve(call, by=here.approver, digest=call.digest)
    call.refresh_from_db()
    assert (run.answer, call.state, call.reason) == ("Done.", "refused", "policy_refuses")
    assert not Group.objects.exists()


def test_what_a_policy_says_is_stored_whatever_it_is() -> None:
    House(ask("It is\x00 much\ud800." + "x" * 5_000))
    with desk("find_order") as here:
        looking_up(here)
        call = llm.run("support", "Where is order 1138?", user=here.clerk).pending_calls.get()
    assert call.explanation.startswith("It is much")
    assert len(call.explanation) == 2_000


def test_policies_cost_no_query_and_read_no_message(django_assert_num_queries: Any) -> None:
    House(allow())
    with desk("find_order") as here:
        looking_up(here)
        with django_assert_num_queries(3):
            llm.run_in_memory("support", "Where is order 1?")


def test_a_transcript_that_cannot_be_read_refuses_the_approval_whose_policy_asks_for_it() -> None:
    House(lambda call: allow() if call.history else refuse("Nothing was said."))
    with desk("refund_order") as here:
        call = waiting_refund(here)
        RunMessage.objects.filter(run=call.run, sequence=1).update(payload_sealed="damaged")
        with pytest.raises(DecisionNotPermitted) as caught:
            llm.approve(call, by=here.approver, digest=call.digest)
    assert caught.value.rule == "gate:policy_failed"


async def test_policies_of_async_runs_may_ask_the_database() -> None:
    from asgiref.sync import sync_to_async

    House(lambda call: ask("There are others.") if Run.objects.count() and Configuration.objects.count() else allow())
    practice = desk("find_order")
    here = await sync_to_async(practice.__enter__)()
    looking_up(here)
    run = await llm.arun("support", "Where is order 1138?", user=here.clerk)
    await sync_to_async(practice.__exit__)(None, None, None)
    assert run.status == "waiting_for_approval"
