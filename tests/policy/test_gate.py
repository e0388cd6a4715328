"""The gate, rule by rule: values in, a verdict and its reason out."""

from dataclasses import replace

import pytest

from llm_foundation.loop.state import Verdict
from llm_foundation.policy.gate import CallFacts, Objection, ToolFacts, judge
from llm_foundation.vocabulary import DataClass, TrustZone

FREE = ToolFacts(
    name="find_order",
    registered=True,
    enabled=True,
    permitted=True,
    granted=True,
    data_class=DataClass.PERSONAL,
    ceiling=DataClass.SECRET,
    asks=False,
)
CALL = CallFacts(offered=True, problem=None, asks=False)


def test_a_tool_that_no_rule_objects_to_is_allowed() -> None:
    assert judge(FREE).verdict is Verdict.ALLOW
    assert judge(replace(FREE, call=CALL)).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"registered": False}, "unknown"),
        ({"enabled": False}, "disabled"),
        ({"group": "money", "group_enabled": False}, "group_disabled"),
        ({"permitted": False}, "not_permitted"),
        ({"granted": False}, "not_granted"),
        ({"ceiling": DataClass.INTERNAL}, "trust_ceiling"),
        ({"call": replace(CALL, offered=False)}, "not_offered"),
        ({"call": replace(CALL, problem="number: missing")}, "invalid_arguments"),
    ],
)
def test_each_rule_refuses_by_itself_and_names_its_reason(changes: dict[str, object], reason: str) -> None:
    decision = judge(replace(FREE, **changes))  # type: ignore[arg-type]
    assert (decision.verdict, decision.reason) == (Verdict.REFUSE, reason)
    assert decision.explanation


def test_what_is_wrong_with_arguments_is_a_detail_for_the_model_and_no_part_of_the_explanation() -> None:
    decision = judge(replace(FREE, call=replace(CALL, problem="number: there is no order 1138")))
    assert decision.explanation == "Its arguments do not fit the tool."
    assert decision.told == "number: there is no order 1138"
    assert judge(replace(FREE, enabled=False)).told == "The tool is switched off."


def test_of_several_reasons_the_least_revealing_one_is_given() -> None:
    everything_wrong = ToolFacts(name="secret_tool", registered=False)
    assert judge(everything_wrong).reason == "unknown"
    assert judge(replace(FREE, enabled=False, permitted=False, granted=False)).reason == "disabled"


@pytest.mark.parametrize("ceiling", list(DataClass))
@pytest.mark.parametrize("data_class", list(DataClass))
def test_results_must_fit_the_ceiling_of_the_least_trusted_zone(data_class: DataClass, ceiling: DataClass) -> None:
    verdict = judge(replace(FREE, data_class=data_class, ceiling=ceiling)).verdict
    order = [DataClass.PUBLIC, DataClass.INTERNAL, DataClass.PERSONAL, DataClass.CONFIDENTIAL, DataClass.SECRET]
    expected = Verdict.ALLOW if order.index(data_class) <= order.index(ceiling) else Verdict.REFUSE
    assert verdict is expected


def test_a_tool_that_asks_asks_by_the_call_where_there_is_one() -> None:
    assert judge(replace(FREE, asks=True)).verdict is Verdict.ASK
    assert judge(replace(FREE, asks=True, call=CALL)).verdict is Verdict.ALLOW
    assert judge(replace(FREE, call=replace(CALL, asks=True))).verdict is Verdict.ASK


def test_a_tool_that_sends_out_never_runs_freely_once_the_run_holds_more_than_its_zone_may_see() -> None:
    search = replace(FREE, reaches=TrustZone.EXTERNAL, reach_ceiling=DataClass.INTERNAL, call=CALL)
    assert judge(replace(search, high_water=DataClass.INTERNAL)).verdict is Verdict.ALLOW
    assert judge(replace(search, high_water=DataClass.PERSONAL)).reason == "reaches_out"
    assert judge(replace(search, high_water=DataClass.PERSONAL)).verdict is Verdict.ASK


def test_a_release_answers_the_question_but_overrules_no_refusal() -> None:
    released = replace(FREE, call=replace(CALL, asks=True, released=True))
    assert judge(released).verdict is Verdict.ALLOW
    assert judge(replace(released, enabled=False)).verdict is Verdict.REFUSE


MUCH = Objection(Verdict.ASK, "policy_asks", "It is much.")
SUNDAY = Objection(Verdict.REFUSE, "policy_refuses", "Not on Sundays.")


def test_a_call_policy_may_ask_and_refuse_and_its_words_are_the_explanation() -> None:
    asked = judge(replace(FREE, call=replace(CALL, objections=(MUCH,))))
    refused = judge(replace(FREE, call=replace(CALL, objections=(MUCH, SUNDAY))))
    assert (asked.verdict, asked.reason, asked.explanation) == (Verdict.ASK, "policy_asks", "It is much.")
    assert (refused.verdict, refused.reason, refused.told) == (Verdict.REFUSE, "policy_refuses", "Not on Sundays.")


def test_a_release_answers_the_question_of_a_call_policy_but_overrules_no_refusal_of_it() -> None:
    released = replace(CALL, released=True, objections=(MUCH,))
    assert judge(replace(FREE, call=released)).verdict is Verdict.ALLOW
    assert judge(replace(FREE, call=replace(released, objections=(SUNDAY,)))).reason == "policy_refuses"


def test_who_decides_is_told_everything_that_asks() -> None:
    asked = judge(
        replace(FREE, call=replace(CALL, asks=True, objections=(MUCH, MUCH._replace(explanation="It is late."))))
    )
    assert (asked.reason, asked.explanation) == (
        "policy_asks",
        "It is much. It is late. A person decides each call of this tool.",
    )
