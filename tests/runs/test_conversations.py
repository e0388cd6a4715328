"""Runs that go on from one another: what the later one knows of the earlier, and what is its own."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils.functional import SimpleLazyObject

from llm_foundation import llm
from llm_foundation.exceptions import RunNotFinished, RunNotPermitted
from llm_foundation.models import Run, RunMessage
from llm_foundation.tools import DataClass, Effect, tool
from tests.models.builders import make_configuration
from tests.practice import Desk, calls, desk, text, turn
from tests.runs.passing_time import go_on, go_on_until_it_rests
from tests.runs.soundness import assert_sound
from tests.runs.test_switching_providers import AWAY, HOME, LOOK, LOOK_AGAIN, assert_all_in, place
from tests.runs.wire_families import FAMILIES, Family
from tests.tasks.workers import DUMMY, handing_to

pytestmark = pytest.mark.django_db(transaction=True)

NEIGHBOURS = [
    pytest.param(home, away, id=f"{home.name}-{away.name}")
    for home, away in zip(FAMILIES, [*FAMILIES[1:], FAMILIES[0]], strict=True)
]


def asks(here: Desk, question: str, answer: str, **said: Any) -> Run:
    """One run with one answer."""
    here.model.says(text(answer))
    return llm.run("support", question, **{"user": here.clerk, **said})


def sent(here: Desk) -> list[tuple[str, str]]:
    """The last request's messages."""
    return [(one["role"], one["content"]) for one in here.model.asked[-1]["messages"]]


# --- What the later run knows -----------------------------------------------------------------------------------------
def test_three_runs_are_one_conversation() -> None:
    with desk() as here:
        first = asks(here, "Where is order 1138?", "On its way.")
        second = asks(here, "And 1139?", "Lost.", continues=first)
        third = asks(here, "And 1140?", "Here.", continues=second)
        said = sent(here)

    expected = ["Where is order 1138?", "On its way.", "And 1139?", "Lost.", "And 1140?"]
    assert [content for _, content in said] == expected
    assert [one.text for one in third.transcript] == [*expected, "Here."]
    assert len({run.conversation for run in (first, second, third)}) == 1
    assert (third.previous, second.previous, first.previous) == (second, first, None)
    for run in (first, second, third):
        assert_sound(run)


def test_nothing_of_the_earlier_transcript_is_copied() -> None:
    with desk() as here:
        run = asks(here, "one", "two")
        for _ in range(3):
            run = asks(here, "three", "four", continues=run)
        assert [each.messages.count() for each in Run.objects.all()] == [2] * 4
    assert RunMessage.objects.count() == 8
    assert (run.answer, len(run.transcript), len(run.own_messages)) == ("four", 8, 2)


def test_a_run_may_be_gone_on_with_in_two_ways_that_know_nothing_of_each_other() -> None:
    with desk() as here:
        root = asks(here, "Where is it?", "On its way.")
        left = asks(here, "Left?", "Left.", continues=root)
        right = asks(here, "Right?", "Right.", continues=root)
        further = asks(here, "Further?", "Further.", continues=left)

    assert [one.text for one in right.transcript] == ["Where is it?", "On its way.", "Right?", "Right."]
    assert [one.text for one in further.transcript][2:4] == ["Left?", "Left."]
    assert set(root.continuations.all()) == {left, right}


def test_calls_and_their_results_are_known_as_well() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1138"))
        first = asks(here, "Where is it?", "Sent.")
        asks(here, "Thank you.", "You are welcome.", continues=first)
        request = here.model.asked[-1]

    assert [one["role"] for one in request["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert request["messages"][2]["tool_call_id"] == request["messages"][1]["tool_calls"][0]["id"]


def test_a_call_of_the_later_run_gets_an_id_that_the_earlier_one_has_not_used() -> None:
    with desk("find_order") as here:
        same = calls("find_order", number="1")
        here.model.says(same)
        first = asks(here, "Where is 1?", "Sent.")
        here.model.says(same)
        second = asks(here, "And again?", "Still sent.", continues=first)
    ids = [call.id for message in second.transcript for call in message.tool_calls]
    assert (len(ids), len(set(ids))) == (2, 2)
    assert_sound(second)


def test_a_later_run_that_waits_is_resumed_with_the_whole_conversation() -> None:
    with desk("refund_order") as here, handing_to(DUMMY):
        first = asks(here, "Where is it?", "Lost.")
        here.model.says(calls("refund_order", number="1", amount="5"), text("Refunded."))
        second = llm.run("support", "Then refund it.", user=here.clerk, continues=first, mode="queue")
        second = go_on(second)
        call = second.pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)
        second = go_on_until_it_rests(second)
        said = [content for _, content in sent(here)]

    assert (second.status, second.answer) == ("completed", "Refunded.")
    assert [*said[:3], *said[4:]] == ["Where is it?", "Lost.", "Then refund it.", "refunded 5"]
    assert [one.text for one in second.transcript][:3] == ["Where is it?", "Lost.", "Then refund it."]
    assert_sound(second)


def test_a_failed_run_can_be_gone_on_with() -> None:
    from tests.loopback import answer

    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"), answer(status=401))
        first = llm.run("support", "Where is it?", user=here.clerk)
        assert (first.status, first.termination_reason) == ("failed", "provider:AuthenticationFailed")
        second = asks(here, "Please try again.", "Sent.", continues=first)
        roles = [role for role, _ in sent(here)]
    assert (second.status, roles) == ("completed", ["user", "assistant", "tool", "user"])


# --- What is its own --------------------------------------------------------------------------------------------------
def test_each_run_has_the_prompt_that_the_configuration_has_when_it_starts_and_no_other() -> None:
    with desk() as here:
        configuration = here.configuration
        runs: list[Run] = []
        for prompt in ("Be brief.", "Be kind.", "", "Be both."):
            configuration.system_prompt = prompt
            configuration.save()
            runs.append(asks(here, "Hello", "Hello.", continues=runs[-1] if runs else None))
            said = sent(here)
            systems = [content for role, content in said if role == "system"]
            assert systems == ([prompt] if prompt else [])
            assert len(said) == len(systems) + 2 * len(runs) - 1
        assert [run.transcript[0].text for run in runs] == ["Be brief.", "Be kind.", "Hello", "Be both."]
    assert runs[-1].answer == "Hello."


def test_the_later_run_may_be_of_another_configuration() -> None:
    with desk() as here:
        first = asks(here, "Where is it?", "On its way.")
        other = make_configuration("sales", language_model=here.configuration.language_model, system_prompt="Sell.")
        here.model.says(text("Buy two."))
        second = llm.run("sales", "What else?", user=here.clerk, continues=first)
        said = sent(here)
    assert (second.configuration, said[0]) == (other, ("system", "Sell."))
    assert [content for _, content in said[1:]] == ["Where is it?", "On its way.", "What else?"]


def test_counters_and_limits_start_anew() -> None:
    with desk("find_order") as here:
        here.configuration.max_rounds = 2
        here.configuration.save()
        here.model.says(calls("find_order", number="1"))
        first = asks(here, "Where is 1?", "Sent.")
        here.configuration.max_rounds = 5
        here.configuration.save()
        here.model.says(calls("find_order", number="2"))
        second = asks(here, "Where is 2?", "Sent.", continues=first)

    assert (first.rounds, second.rounds, second.calls_made, second.truncated) == (2, 2, 1, "")
    assert (first.run_limits().max_rounds, second.run_limits().max_rounds) == (2, 5)
    assert [call.turn for call in second.calls.all()] == [1]


def test_what_may_be_called_is_asked_anew() -> None:
    with desk("find_order", "weather") as here:
        first = asks(here, "Hello", "Hello.")
        here.configuration.tools.remove(*here.configuration.tools.filter(name="find_order"))
        second = asks(here, "Hello", "Hello.", continues=first)
        third = asks(here, "Hello", "Hello.", continues=second, tools=[])
    assert [run.offer for run in (first, second, third)] == [["find_order", "weather"], ["weather"], []]


def test_a_run_that_nobody_attends_continues_one_that_was_attended() -> None:
    with desk("refund_order", "find_order") as here:
        first = asks(here, "Hello", "Hello.")
        second = asks(here, "Hello", "Hello.", continues=first, unattended=True)
    assert (first.offer, second.offer) == (["find_order", "refund_order"], ["find_order"])


# --- Context that belongs to a provider -------------------------------------------------------------------------------
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_context_of_an_earlier_run_goes_back_to_its_owner(family: Family) -> None:
    with (
        desk("find_order") as here,
        place(family, "home", family.calls(LOOK), family.says("Sent."), family.says("You are welcome.")) as first,
    ):
        first.serves()
        earlier = llm.run("support", "Where is order 1138?", user=here.clerk)
        later = llm.run("support", "Thank you.", user=here.clerk, continues=earlier)
        *_, back = first.requests

    assert (later.status, later.error, later.answer) == ("completed", "", "You are welcome.")
    assert_all_in(back, *family.context(LOOK))


@pytest.mark.parametrize(("home", "away"), NEIGHBOURS)
def test_context_of_an_earlier_run_goes_to_nobody_else(home: Family, away: Family) -> None:
    """The configuration moves to another provider between the runs, and back again."""
    with (
        desk("find_order") as here,
        place(home, "home", home.calls(LOOK), home.says("Sent."), home.says("Welcome.")) as first,
        place(away, "away", away.calls(LOOK_AGAIN), away.says("That as well.")) as second,
    ):
        first.serves()
        one = llm.run("support", "Where is order 1138?", user=here.clerk)
        second.serves()
        two = llm.run("support", "And 1139?", user=here.clerk, continues=one)
        first.serves()
        three = llm.run("support", "Thank you.", user=here.clerk, continues=two)

    assert [run.status for run in (one, two, three)] == ["completed"] * 3
    for foreign in second.requests:
        assert HOME.mark not in foreign
        assert_all_in(foreign, "Let me pay that back.", "find_order", "1138", "Sent.")
    *_, back = first.requests
    assert_all_in(back, *home.context(LOOK))
    assert AWAY.mark not in back
    assert_all_in(back, "There was a second one.", "1139", "That as well.")


# --- How it is said ---------------------------------------------------------------------------------------------------
def test_the_earlier_run_may_be_named_by_its_id_and_the_user_be_a_lazy_one() -> None:
    with desk() as here:
        first = asks(here, "Hello", "Hello.")
        second = asks(here, "And?", "So.", continues=str(first.pk), user=SimpleLazyObject(lambda: here.clerk))
        third = asks(here, "And?", "So.", continues=second.pk)
    assert [one.text for one in third.transcript] == ["Hello", "Hello.", "And?", "So.", "And?", "So."]


def test_the_earlier_run_is_read_as_it_is_stored() -> None:
    """Whatever the object says that is handed in."""
    with desk() as here, handing_to(DUMMY):
        first = llm.run("support", "Hello", user=here.clerk, mode="queue")
        first.status, first.owner = "completed", here.approver
        with pytest.raises(RunNotPermitted):
            llm.run("support", "And?", user=here.approver, continues=first)
        with pytest.raises(RunNotFinished):
            llm.run("support", "And?", user=here.clerk, continues=first)


def test_the_async_twin_goes_on_as_well() -> None:
    with desk() as here:
        first = asks(here, "Hello", "Hello.")
        here.model.says(text("So."))
        second = async_to_sync(llm.arun)("support", "And?", user=here.clerk, continues=first)
    assert [one.text for one in second.transcript] == ["Hello", "Hello.", "And?", "So."]


def test_a_long_conversation_is_read_with_few_queries(django_assert_max_num_queries: Any) -> None:
    with desk() as here:
        run = None
        for _ in range(6):
            run = asks(here, "one", "two", continues=run)
        assert run is not None
        with django_assert_max_num_queries(3):
            assert len(run.transcript) == 12


def test_a_run_that_ended_by_a_limit_with_calls_left_open_can_be_gone_on_with() -> None:
    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def look() -> str:
            return "seen"

        here.grant(look)
        here.configuration.max_rounds = 1
        here.configuration.save()
        here.model.says(turn(("look", {}), ("look", {})), calls("look"))
        first = llm.run("support", "Look", user=here.clerk)
        assert (first.status, first.truncated) == ("completed", "rounds")
        second = asks(here, "And?", "Nothing.", continues=first)
    assert second.status == "completed"
    assert_sound(second)
