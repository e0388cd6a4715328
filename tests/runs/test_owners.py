"""On whose behalf a run acts, and that it acts on nobody else's."""

import pytest
from django.contrib.auth.models import User
from django.utils.functional import SimpleLazyObject

from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.tools import DataClass, Effect, ToolContext, tool
from tests.practice import calls, desk, text

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_user_of_a_request_can_own_a_run_that_calls_tools() -> None:
    """``request.user`` is a lazy object: it looks like a user, but its class is another one."""
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1"), text("It is on its way."))
        run = llm.run("support", "Where is order 1?", user=SimpleLazyObject(lambda: here.clerk))

    assert (run.status, run.answer) == ("completed", "It is on its way.")
    assert Run.objects.get().owner == here.clerk


def test_the_user_of_a_request_can_decide() -> None:
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1", amount="5"), text("Refunded."))
        call = llm.run("support", "Refund order 1", user=here.clerk).pending_calls.get()
        run = llm.approve(call, by=SimpleLazyObject(lambda: here.approver), digest=call.digest)
    assert run.status == "completed"


def test_a_run_whose_owner_is_deleted_meanwhile_ends_and_does_not_go_on_as_nobodys() -> None:
    with desk() as here:

        @tool(effect=Effect.READ_ONLY, data_class=DataClass.PUBLIC)
        def close_account(context: ToolContext) -> str:
            User.objects.filter(pk=context.user.pk).delete()
            return "closed"

        here.grant(close_account)
        here.model.says(calls("close_account"), text("Goodbye."))
        run = llm.run("support", "Close my account", user=here.clerk)
        asked = len(here.model.asked)

    assert (run.status, run.termination_reason, asked) == ("failed", "OwnerGone", 1)
    assert (run.calls.get().state, run.calls.get().result) == ("succeeded", "closed")


def test_a_run_whose_owner_was_deleted_while_it_waited_ends_when_its_call_is_denied() -> None:
    with desk("refund_order", "find_order") as here:
        here.model.says(calls("refund_order", number="1", amount="5"), calls("find_order", number="1"), text("Hm."))
        call = llm.run("support", "Refund order 1", user=here.clerk).pending_calls.get()
        User.objects.filter(pk=here.clerk.pk).delete()
        run = llm.deny(call, by=here.approver, digest=call.digest)
        asked = len(here.model.asked)

    assert (run.status, run.termination_reason, asked) == ("failed", "OwnerGone", 1)


def test_a_run_that_never_had_an_owner_goes_on_without_one() -> None:
    with desk("find_order", "send_message") as here:
        here.model.says(calls("send_message", to="Ada"), calls("find_order", number="1"), text("Done."))
        call = llm.run("support", "Write to Ada").pending_calls.get()
        assert llm.approve(call, by=here.approver, digest=call.digest).status == "completed"
