"""Through the database, with ``django-tasks-db`` and its worker in a process of its own."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from llm_foundation import llm
from llm_foundation.models import Run
from llm_foundation.runs.tasks import can_defer, enqueue
from tests.practice import calls, desk, text
from tests.tasks.workers import DATABASE, handing_to, work_off

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def queue(transactional_db: None) -> Iterator[None]:
    """The queue's table is made where it is missing, and stays; nothing stays in it."""
    with handing_to(DATABASE):
        call_command("migrate", "django_tasks_database", verbosity=0)
        yield
        from django_tasks_db.models import DBTaskResult

        DBTaskResult.objects.all().delete()


def work() -> None:
    work_off(DATABASE, "db_worker", "--batch", "--no-startup-delay", "--no-reload")


def test_run_is_executed_by_the_worker() -> None:
    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1138"), text("It is on its way."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")
        assert (run.status, here.model.asked) == ("queued", [])
        work()

    run.refresh_from_db()
    assert (run.status, run.answer, run.error) == ("completed", "It is on its way.", "")


def test_message_and_its_outcome_say_nothing_of_the_run() -> None:
    from django_tasks_db.models import DBTaskResult

    with desk("find_order") as here:
        here.model.says(calls("find_order", number="1138"), text("It is on its way."))
        run = llm.run("support", "Where is order 1138?", user=here.clerk, mode="queue")
        work()

    message = DBTaskResult.objects.get()
    assert message.args_kwargs == {"args": [str(run.pk)], "kwargs": {}}
    assert (message.status, message.return_value, message.traceback) == ("SUCCESSFUL", None, "")


def test_released_write_is_executed_by_the_worker() -> None:
    with desk("refund_order") as here:
        here.model.says(calls("refund_order", number="1138", amount="19.90"), text("Refunded."))
        started = llm.run("support", "Refund order 1138", user=here.clerk, mode="queue")
        work()
        call = Run.objects.get(pk=started.pk).pending_calls.get()
        llm.approve(call, by=here.approver, digest=call.digest)
        work()

    assert Group.objects.get().name == "refund 1138 19.90"
    assert Run.objects.get(pk=started.pk).answer == "Refunded."


def test_lost_message_is_sent_again_by_recovery() -> None:
    from django_tasks_db.models import DBTaskResult

    with desk() as here:
        here.model.says(text("Hello."))
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        DBTaskResult.objects.all().delete()
        Run.objects.update(enqueued_at=datetime(2000, 1, 1, tzinfo=UTC))
        call_command("llm_recover", verbosity=0)
        work()

    assert Run.objects.get(pk=run.pk).status == "completed"


def test_message_for_later_is_kept_for_later() -> None:
    from django_tasks_db.models import DBTaskResult

    with desk() as here:
        run = llm.run("support", "Hello", user=here.clerk, mode="queue")
        DBTaskResult.objects.all().delete()
        assert can_defer()
        assert enqueue(run.pk, after=datetime(2100, 1, 1, tzinfo=UTC))
        work()
        assert here.model.asked == []
