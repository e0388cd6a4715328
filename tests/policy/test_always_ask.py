"""The operator's switch “always ask”, at the tool and at the configuration: it adds a pause, and takes none away."""

from dataclasses import replace
from itertools import product

import pytest

from llm_foundation import llm
from llm_foundation.chat.tool_calls import ToolCall
from llm_foundation.loop.state import Verdict
from llm_foundation.models import Configuration, RunToolCall, ToolRecord
from llm_foundation.policy.facts import load_policy
from llm_foundation.policy.gate import CallFacts, ToolFacts, judge
from llm_foundation.tools import DataClass, Effect, tool
from llm_foundation.vocabulary import TrustZone
from tests.practice import Desk, calls, desk, text, turn

STRICTNESS = [Verdict.ALLOW, Verdict.ASK, Verdict.REFUSE]


def test_whatever_else_is_so_a_call_that_is_asked_about_gets_no_more_lenient_answer() -> None:
    """All facts that the gate knows, each as it is and as it might be."""
    switches = ("enabled", "permitted", "granted")
    for values in product([False, True], repeat=len(switches) + 4):
        offered, is_valid, released, reaches = values[len(switches) :]
        facts = ToolFacts(
            name="weather",
            registered=True,
            data_class=DataClass.PUBLIC,
            ceiling=DataClass.SECRET,
            reaches=TrustZone.EXTERNAL if reaches else None,
            reach_ceiling=DataClass.PUBLIC if reaches else None,
            high_water=DataClass.PERSONAL,
            **dict(zip(switches, values, strict=False)),
        )
        call = CallFacts(offered=offered, problem=None if is_valid else "city: missing", asks=False, released=released)
        free = judge(replace(facts, asks=False, call=call)).verdict
        asked = judge(replace(facts, asks=True, call=replace(call, asks=True))).verdict
        assert STRICTNESS.index(asked) >= STRICTNESS.index(free)
        assert (asked is Verdict.REFUSE) == (free is Verdict.REFUSE)


@pytest.mark.parametrize("where", ["at the tool", "at the configuration"])
@pytest.mark.django_db
def test_a_tool_that_never_asks_is_asked_about_where_the_operator_wants_it(where: str) -> None:
    with desk("weather") as here:
        assert verdict(here, "weather", city="Ulm") is Verdict.ALLOW
        switch_on(here, "weather", where)
        assert verdict(here, "weather", city="Ulm") is Verdict.ASK


@pytest.mark.parametrize("where", ["at the tool", "at the configuration"])
@pytest.mark.django_db
def test_a_rule_that_lets_a_call_run_freely_is_not_even_asked(where: str) -> None:
    with desk() as here:
        asked: list[object] = []

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC, approval=lambda given: bool(asked.append(given)))
        def look_up(word: str) -> str:
            return word

        here.grant(look_up)
        assert verdict(here, "look_up", word="Ulm") is Verdict.ALLOW
        switch_on(here, "look_up", where)
        asked.clear()
        assert verdict(here, "look_up", word="Ulm") is Verdict.ASK
        assert asked == []


@pytest.mark.django_db
def test_a_tool_that_asks_by_itself_asks_with_the_switch_off() -> None:
    with desk("refund_order") as here:
        ToolRecord.objects.update(always_ask=False)
        here.configuration.always_ask.clear()
        assert verdict(here, "refund_order", number="1", amount="5") is Verdict.ASK


@pytest.mark.django_db
def test_the_switch_of_another_configuration_says_nothing_here() -> None:
    with desk("weather") as here:
        other = Configuration.objects.create(
            slug="other", name="Other", language_model=here.configuration.language_model
        )
        other.always_ask.add(ToolRecord.objects.get(name="weather"))
        assert verdict(here, "weather", city="Ulm") is Verdict.ALLOW


@pytest.mark.django_db
def test_the_switch_grants_nothing() -> None:
    with desk() as here:
        for where in ("at the tool", "at the configuration"):
            switch_on(here, "weather", where)
        assert verdict(here, "weather", city="Ulm") is Verdict.REFUSE


@pytest.mark.django_db(transaction=True)
def test_switching_it_off_releases_no_call_that_waits() -> None:
    with desk("weather") as here:
        switch_on(here, "weather", "at the configuration")
        here.model.says(calls("weather", city="Ulm"), text("It rains."))
        call = llm.run("support", "The weather?", user=here.clerk).pending_calls.get()
        here.configuration.always_ask.clear()
        assert call.run.pending_calls.get() == call
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "completed"


@pytest.mark.django_db(transaction=True)
def test_switching_it_on_stops_a_call_that_was_free_and_has_not_begun() -> None:
    """Two writes of one turn: the first one is free, and during it the operator wants to be asked."""
    with desk("send_message") as here:

        @tool(effect=Effect.IDEMPOTENT_WRITE, data_class=DataClass.PUBLIC, approval=False)
        def ring() -> str:
            ToolRecord.objects.filter(name="ring").update(always_ask=True)
            return "rung"

        here.grant(ring)
        here.model.says(turn(("ring", {}), ("ring", {})), text("Done."))
        run = llm.run("support", "Ring twice", user=here.clerk)
    assert run.status == "waiting_for_approval"
    assert list(RunToolCall.objects.order_by("index").values_list("state", flat=True)) == ["succeeded", "pending"]


def switch_on(here: Desk, name: str, where: str) -> None:
    if where == "at the tool":
        ToolRecord.objects.filter(name=name).update(always_ask=True)
    else:
        here.configuration.always_ask.add(ToolRecord.objects.get(name=name))


def verdict(here: Desk, name: str, **arguments: object) -> Verdict:
    policy = load_policy(here.configuration, user=here.clerk)
    call = ToolCall(id="call_1", name=name, arguments=arguments)
    return policy.judge_call(call, offered={name}, high_water=DataClass.PUBLIC).verdict
