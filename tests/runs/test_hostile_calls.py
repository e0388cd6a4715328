"""Models make up names, ids and arguments of any length and kind, and every database takes what they make up."""

import json
from typing import Annotated

import pytest
from pydantic import AfterValidator

from llm_foundation import llm
from llm_foundation.models import Run, RunToolCall
from llm_foundation.tools import DataClass, Effect, tool
from tests.practice import calls, completion, desk, text, turn
from tests.scripted_server import Behaviour

pytestmark = pytest.mark.django_db(transaction=True)


def with_ids(*ids: str) -> Behaviour:
    """The model calls ``find_order`` once for each of these ids."""
    made = [
        {"id": one, "type": "function", "function": {"name": "find_order", "arguments": json.dumps({"number": str(n)})}}
        for n, one in enumerate(ids)
    ]
    return completion({"role": "assistant", "content": None, "tool_calls": made}, "tool_calls")


@pytest.mark.parametrize(
    "ids",
    [
        ("call_" + "x" * 900,),
        ("y" * 300 + "1", "y" * 300 + "2"),
        ("call_a", "call_A"),
        ("call_é", "call_e"),
        ("call_a", "call_a "),
        ("call_\x00",),
        ("\ud83d",),
        ("call_1", "call_1"),
    ],
    ids=["long", "long and alike", "case", "accent", "space", "NUL", "half a character", "twice"],
)
def test_calls_with_odd_ids_are_executed_and_answered(ids: tuple[str, ...]) -> None:
    with desk("find_order") as here:
        here.model.says(with_ids(*ids), text("Found."))
        run = llm.run("support", "Where are they?", user=here.clerk)

    assert (run.status, run.answer) == ("completed", "Found.")
    assert [call.state for call in run.calls.all()] == ["succeeded"] * len(ids)
    assert [message.text for message in run.transcript if message.role == "tool"] == [
        f'{{"number": "{number}", "status": "sent"}}' for number in range(len(ids))
    ]


def test_calls_with_odd_ids_wait_and_go_on_like_others() -> None:
    odd = "call_" + "\x00é" * 300
    wanted = {"name": "refund_order", "arguments": '{"number": "1", "amount": "5"}'}
    made = [{"id": f"{odd}{number}", "type": "function", "function": wanted} for number in (1, 2)]
    with desk("refund_order") as here:
        here.model.says(
            completion({"role": "assistant", "tool_calls": made, "content": None}, "tool_calls"), text("ok")
        )
        run = llm.run("support", "Refund order 1 twice", user=here.clerk)
        first, second = run.pending_calls
        llm.deny(first, by=here.approver, digest=first.digest)
        run = llm.approve(second, by=here.approver, digest=second.digest)
    assert (run.status, [call.state for call in run.calls.all()]) == ("completed", ["denied", "succeeded"])


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (("x" * 1_000, {}), "x" * 255),
        (("find\x00order", {}), "findorder"),
        (("🧨" * 300, {}), "🧨" * 255),
        (("find_order", '{"a\\u0000b": 1}'), "find_order"),
        (("find_order", {"z" * 100_000: 1}), "find_order"),
    ],
    ids=["long name", "NUL in the name", "no letters", "NUL in a key", "long key"],
)
def test_calls_that_no_tool_can_take_are_refused_and_the_run_goes_on(made: tuple[str, object], kept: str) -> None:
    with desk("find_order") as here:
        here.model.says(turn(made), text("Sorry."))
        run = llm.run("support", "Find it", user=here.clerk)

    assert (run.status, run.answer) == ("completed", "Sorry.")
    call = run.calls.get()
    assert (call.state, call.tool_name) == ("refused", kept)


def no_order(number: str) -> str:
    raise ValueError(f"there is no order {number}")


def test_what_is_wrong_with_arguments_is_told_to_the_model_and_kept_encrypted() -> None:
    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def track(number: Annotated[str, AfterValidator(no_order)], marks: dict[str, int]) -> str:
            return number

        here.grant(track)
        here.model.says(calls("track", number="4711-Lovelace", marks={"Ada-Byron": "x"}), text("Sorry."))
        run = llm.run("support", "Track it", user=here.clerk)
        told = here.model.asked[1]["messages"][-1]["content"]

    call = run.calls.get()
    assert "there is no order 4711-Lovelace" in told
    assert "Ada-Byron" in told
    assert call.result == told
    assert (call.reason, call.explanation) == ("invalid_arguments", "Its arguments do not fit the tool.")
    in_clear = [list(rows.values()) for rows in (Run.objects, RunToolCall.objects, run.events)]
    assert "Lovelace" not in str(in_clear)
    assert "Byron" not in str(in_clear)
