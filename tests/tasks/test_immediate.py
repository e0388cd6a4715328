"""Without a worker: the backend that new projects have executes a run in the process that starts it."""

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from llm_foundation import llm
from llm_foundation.models import Run
from tests.practice import calls, desk, text
from tests.tasks.workers import IMMEDIATE, handing_to

pytestmark = pytest.mark.django_db(transaction=True)


def test_run_has_ended_when_it_is_started() -> None:
    with desk("find_order") as here, handing_to(IMMEDIATE):
        here.model.says(calls("find_order", number="1138"), text("It is on its way."))
        started = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")

    run = Run.objects.get(pk=started.pk)
    assert (run.status, run.answer, run.error) == ("completed", "It is on its way.", "")


def test_inside_a_transaction_it_waits_for_the_commit() -> None:
    with desk() as here, handing_to(IMMEDIATE):
        here.model.says(text("Hello."))
        with transaction.atomic():
            run = llm.run("support", "Hello", user=here.clerk, mode="queue")
            assert here.model.asked == []
        assert Run.objects.get(pk=run.pk).status == "completed"


def test_released_call_runs_when_it_is_approved() -> None:
    with desk("refund_order") as here, handing_to(IMMEDIATE):
        here.model.says(calls("refund_order", number="1138", amount="19.90"), text("Refunded."))
        started = llm.run("support", "Refund order 1138", user=here.clerk, mode="queue")
        call = Run.objects.get(pk=started.pk).pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)

    assert Group.objects.get().name == "refund 1138 19.90"
    assert Run.objects.get(pk=started.pk).answer == "Refunded."
