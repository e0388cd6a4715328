"""Where nobody is there to decide, nothing waits for a decision: not even what came to need one on the way."""

import pytest

from llm_foundation import llm
from llm_foundation.models import ToolRecord
from llm_foundation.tools import DataClass, Effect, Tool, tool
from llm_foundation.vocabulary import TrustZone
from tests.practice import Desk, calls, desk, text

pytestmark = pytest.mark.django_db(transaction=True)

TOLD = "Error: A call of it may wait for a person, and nobody attends this run."


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


def test_where_somebody_attends_the_same_search_waits_for_them() -> None:
    with desk("find_order") as here:
        searching_for_personal_data(here)
        run = llm.run("support", "Where is order 1?", user=here.clerk)
        call = run.pending_calls.get()
        assert (run.status, call.reason) == ("waiting_for_approval", "reaches_out")
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "completed"
