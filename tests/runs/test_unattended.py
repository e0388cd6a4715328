"""Where nobody is there to decide, nothing waits for a decision: not even what came to need one on the way."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from llm_foundation import llm
from llm_foundation.models import ToolRecord
from llm_foundation.tools import DataClass, Effect, Tool, ToolContext, tool
from llm_foundation.vocabulary import TrustZone
from tests.practice import Desk, calls, desk, text

pytestmark = pytest.mark.django_db(transaction=True)

TOLD = "Error: A call of it may wait for a person, and nobody attends this run."

NOT_OFFERED = "Error: The tool was not offered in this run."


def web_search() -> Tool:
    @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC, reaches=TrustZone.EXTERNAL)
    def web_search(words: str) -> str:
        return f"Found: {words}"

    return web_search


def searching_for_personal_data(here: Desk) -> None:
    here.grant(web_search())
    here.model.says(calls("find_order", number="1"), calls("web_search", words="order 1, sent"), text("It was sent."))


def test_a_search_that_would_carry_personal_data_out_is_refused_in_memory() -> None:
    with desk("find_order") as here:
        searching_for_personal_data(here)
        result = llm.run_in_memory("support", "Where is order 1?", user=here.clerk, unattended=True)
    assert result.answer == "It was sent."
    assert [message.text for message in result.messages if message.role == "tool"][-1] == TOLD


def test_a_search_that_would_carry_personal_data_out_is_refused_in_a_stored_run() -> None:
    with desk("find_order") as here:
        searching_for_personal_data(here)
        run = llm.run("support", "Where is order 1?", user=here.clerk, unattended=True)

    assert (run.status, run.answer) == ("completed", "It was sent.")
    call = run.calls.get(tool_name="web_search")
    assert (call.state, call.reason, call.result) == ("refused", "unattended", TOLD)


def test_a_tool_that_the_operator_makes_ask_while_an_unattended_run_goes_on_is_refused() -> None:
    with desk("find_order") as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def closing_time() -> str:
            ToolRecord.objects.filter(name="closing_time").update(always_ask=True)
            return "At six."

        here.grant(closing_time)
        here.model.says(calls("closing_time"), calls("closing_time"), text("At six."))
        run = llm.run("support", "When do you close?", user=here.clerk, unattended=True)
        offered = [entry["function"]["name"] for entry in here.model.asked[-1]["tools"]]

    assert (run.status, [call.state for call in run.calls.order_by("turn")]) == ("completed", ["succeeded", "refused"])
    assert offered == ["find_order"]


class Delivery(BaseModel):
    """What a person fills in."""

    address: str


def reading(name: str, **said: Any) -> Tool:
    @tool(name=name, data_class=DataClass.PUBLIC, **{"effect": Effect.READ_ONLY, **said})
    def read(context: ToolContext) -> str:
        return "read"

    return read


def tools_that_may_pause() -> list[Tool]:
    return [
        reading("by_code", approval=True),
        reading("by_arguments", approval=lambda arguments: False),
        reading("by_input", input_model=Delivery),
        reading("by_record"),
        reading("by_configuration"),
        reading("writing", effect=Effect.IDEMPOTENT_WRITE, approval=False),
    ]


@pytest.mark.parametrize("start", [llm.run, llm.run_in_memory])
def test_only_what_never_pauses_is_offered(start: Callable[..., Any]) -> None:
    with desk("find_order") as here:
        here.grant(*tools_that_may_pause(), reading("free"))
        ToolRecord.objects.filter(name="by_record").update(always_ask=True)
        here.configuration.always_ask.add(ToolRecord.objects.get(name="by_configuration"))
        here.model.says(text("Hello."))
        start("support", "Hello", user=here.clerk, unattended=True)
        offered = [entry["function"]["name"] for entry in here.model.asked[-1]["tools"]]
    assert offered == ["find_order", "free"]


@pytest.mark.parametrize("start", [llm.run, llm.run_in_memory])
def test_a_tool_that_may_pause_is_left_out_also_where_it_is_asked_for_by_name(start: Callable[..., Any]) -> None:
    with desk() as here:
        here.grant(*(pausing := tools_that_may_pause()[:3]))
        here.model.says(*(calls(one.name) for one in pausing), text("Hello."))
        start("support", "Hello", user=here.clerk, unattended=True, tools=pausing)
        asked = here.model.asked
    assert "tools" not in asked[0]
    assert [request["messages"][-1]["content"] for request in asked[1:]] == [NOT_OFFERED] * 3


def test_a_run_that_somebody_attends_may_go_on_where_nobody_did() -> None:
    with desk("send_message") as here:
        here.model.says(text("I cannot."), calls("send_message", to="Ada"))
        first = llm.run("support", "Write to Ada", user=here.clerk, unattended=True)
        second = llm.run("support", "Now I am here", user=here.clerk, continues=first)
    assert (first.status, second.status) == ("completed", "waiting_for_approval")


def test_where_somebody_attends_the_same_search_waits_for_them() -> None:
    with desk("find_order") as here:
        searching_for_personal_data(here)
        run = llm.run("support", "Where is order 1?", user=here.clerk)
        call = run.pending_calls.get()
        assert (run.status, call.reason) == ("waiting_for_approval", "reaches_out")
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "completed"
