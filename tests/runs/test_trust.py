"""What a run has seen decides where it may go on."""

import pytest
from django.contrib.auth.models import Group

from llm_foundation import llm
from llm_foundation.models import Provider, RunToolCall
from tests.models.builders import make_configuration, make_provider
from tests.practice import Desk, calls, desk, text

pytestmark = pytest.mark.django_db(transaction=True)


def waiting_with_personal_data(here: Desk) -> RunToolCall:
    here.model.says(
        calls("find_order", number="1"), calls("refund_order", number="1", amount="5"), text("Refunded."), text("Hm.")
    )
    run = llm.run("support", "Refund order 1", user=here.clerk)
    assert run.high_water == "personal"
    return run.pending_calls.get()


def test_a_run_that_holds_personal_data_does_not_follow_its_configuration_to_an_external_provider() -> None:
    with desk("find_order", "refund_order") as here:
        call = waiting_with_personal_data(here)
        Provider.objects.update(trust_zone="external")
        run = llm.approve(call, by=here.approver, digest=call.digest)
        assert len(here.model.asked) == 2

    assert (run.status, run.termination_reason) == ("failed", "trust_ceiling")
    assert run.error == (
        "Configuration 'support': the conversation holds personal data; provider 'practice' is declared external and"
        " may see internal at most. Nothing was sent."
    )
    assert Group.objects.get().name == "refund 1 5"
    assert run.calls.get(tool_name="refund_order").result == "refunded 5"


def test_a_fallback_in_an_external_zone_takes_the_tools_away_that_would_bring_personal_data_there() -> None:
    with desk("find_order", "refund_order") as here:
        call = waiting_with_personal_data(here)
        elsewhere = make_configuration("elsewhere", provider=make_provider("cloud", trust_zone="external"))
        here.configuration.fallback_entries.create(fallback=elsewhere, position=1)
        here.model.script[:0] = [calls("find_order", number="2")]
        run = llm.approve(call, by=here.approver, digest=call.digest)
        offered = [entry["function"]["name"] for entry in here.model.asked[-1]["tools"]]

    assert run.status == "completed"
    assert offered == ["refund_order"]
    assert [(one.tool_name, one.reason) for one in run.calls.filter(state="refused")] == [
        ("find_order", "trust_ceiling")
    ]
