"""A project's own rules: how they are registered, and what their answers mean."""

import logging
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module, reload
from typing import Any

import pytest
from django.utils.translation import gettext_lazy

from llm_foundation.loop.state import Verdict
from llm_foundation.policy import PolicyAnswer, ProposedCall, allow, ask, call_policy, refuse
from llm_foundation.policy.call_policies import CallPolicies, objections, policies
from tests.practice import TOOLS
from tests.runs.meeting import Gate, beside, elsewhere

CALL = ProposedCall(tool="refund_order", arguments={"number": "1138", "amount": Decimal(5)}, configuration="support")


@pytest.fixture(autouse=True)
def isolated() -> Iterator[CallPolicies]:
    with policies.isolated() as here:
        yield here


def verdicts(call: ProposedCall = CALL) -> list[tuple[Verdict, str, str]]:
    return [tuple(found) for found in objections(policies.all(), call)]  # type: ignore[misc]


def test_a_policy_stays_the_function_that_it_is() -> None:
    @call_policy
    def small_ones(call: ProposedCall) -> PolicyAnswer:
        return allow() if call.arguments["amount"] < 10 else ask("It is much.")

    assert small_ones(CALL) == allow()
    assert small_ones(ProposedCall(tool="refund_order", arguments={"amount": 50})) == ask("It is much.")
    assert verdicts() == []


def test_all_who_ask_are_heard_and_the_first_refusal_settles_it() -> None:
    heard: list[str] = []

    def says(answer: PolicyAnswer, name: str) -> None:
        @call_policy()
        def rule(call: ProposedCall) -> PolicyAnswer:
            heard.append(name)
            return answer

    says(ask("It is the third today."), "first")
    says(allow(), "second")
    says(ask("It is much."), "third")
    assert verdicts() == [
        (Verdict.ASK, "policy_asks", "It is the third today."),
        (Verdict.ASK, "policy_asks", "It is much."),
    ]

    says(refuse("Not on Sundays."), "fourth")
    says(ask("It is late."), "fifth")
    heard.clear()
    assert verdicts()[-1] == (Verdict.REFUSE, "policy_refuses", "Not on Sundays.")
    assert heard == ["first", "second", "third", "fourth"]


def test_a_policy_that_raises_refuses_and_the_log_keeps_to_itself_what_it_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @call_policy
    def broken(call: ProposedCall) -> PolicyAnswer:
        raise ValueError(f"order {call.arguments['number']} is odd")

    [(verdict, reason, why)] = verdicts()
    assert (verdict, reason) == (Verdict.REFUSE, "policy_failed")
    assert "1138" not in why
    [record] = caplog.records
    assert (record.name, record.levelno) == ("llm_foundation.policy", logging.ERROR)
    assert "broken raised ValueError" in record.getMessage()
    assert "in broken" in record.getMessage()
    assert "1138" not in caplog.text


@pytest.mark.parametrize("answer", [None, True, False, "allow", Verdict.ALLOW, PolicyAnswer("allow")])  # type: ignore[arg-type]
def test_whatever_else_a_policy_returns_is_no_answer_and_refuses(answer: Any) -> None:
    call_policy(lambda call: answer)
    assert [found[1] for found in verdicts()] == ["policy_failed"]


@pytest.mark.parametrize("why", ["", "  ", None, 5])
def test_who_asks_or_refuses_says_why(why: Any) -> None:
    for answer in (ask, refuse):
        with pytest.raises(TypeError, match="a sentence that says why"):
            answer(why)
    assert ask(gettext_lazy("It is much.")).why == "It is much."  # type: ignore[arg-type]


def test_a_policy_is_asked_about_the_tools_and_configurations_that_it_names() -> None:
    call_policy(tools=[TOOLS["refund_order"], "send_message"])(lambda call: allow())
    call_policy(configurations=["support"])(lambda call: allow())
    call_policy(lambda call: allow())
    of_tools, of_configurations, of_all = policies.all()

    assert policies.for_call(tool="refund_order", configuration="support") == (of_tools, of_configurations, of_all)
    assert policies.for_call(tool="send_message", configuration="sales") == (of_tools, of_all)
    assert policies.for_call(tool="weather", configuration="sales") == (of_all,)


@pytest.mark.parametrize("names", ["refund_order", TOOLS["refund_order"], [], [""], [None], 5])
@pytest.mark.parametrize("word", ["tools", "configurations"])
def test_what_is_no_list_of_names_restricts_nothing_and_is_refused(word: str, names: Any) -> None:
    with pytest.raises(TypeError, match=rf"@call_policy\({word}=…\) takes a list of names"):
        call_policy(**{word: names})


async def later(call: ProposedCall) -> PolicyAnswer:
    return allow()


def in_pieces(call: ProposedCall) -> Iterator[PolicyAnswer]:
    yield allow()


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("refund_order", "is a function"),
        (TOOLS["refund_order"], "is a function"),
        (PolicyAnswer, "is a function"),
        (later, "a plain function"),
        (in_pieces, "a plain function"),
        (allow, "is called with the call alone"),
        (lambda call, user: allow(), "is called with the call alone"),
    ],
)
def test_what_cannot_be_a_policy_is_refused_when_it_is_registered(function: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        call_policy(function)
    assert policies.all() == ()


def test_a_module_that_is_loaded_once_more_registers_its_policies_once() -> None:
    module = import_module("tests.policy.house_rules")
    for _ in range(2):
        reload(module)
    assert [policy.function for policy in policies.all()] == [module.first, module.second]


def test_policies_of_one_name_are_all_asked() -> None:
    def made(answer: PolicyAnswer) -> None:
        @call_policy
        def rule(call: ProposedCall) -> PolicyAnswer:
            return answer

    made(ask("One."))
    made(ask("Two."))
    assert [found[2] for found in verdicts()] == ["One.", "Two."]

    reload(import_module("tests.policy.house_rules"))
    assert len(policies.all()) == 4


def test_the_history_is_read_when_it_is_asked_for_and_only_once() -> None:
    reads: list[str] = []

    def read() -> tuple[Any, ...]:
        reads.append("read")
        return ("a message",)

    call = ProposedCall(tool="weather", arguments={}, read_history=read)
    assert reads == []
    assert (call.history, call.history) == (("a message",), ("a message",))
    assert reads == ["read"]


def test_a_history_that_is_read_slowly_keeps_no_other_call_waiting() -> None:
    gate = Gate()
    slow = ProposedCall(tool="refund_order", arguments={}, read_history=lambda: gate.stop_here() or ())
    with beside(lambda: slow.history):
        gate.wait_until_reached()
        assert elsewhere(lambda: ProposedCall(tool="refund_order", arguments={}).history) == ()
        gate.open()


def test_a_call_in_a_log_shows_neither_its_arguments_nor_its_history() -> None:
    assert "1138" not in repr(CALL)
    assert "refund_order" in repr(CALL)
